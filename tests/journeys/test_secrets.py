"""Secrets are never written to disk, and leaks of an agent are reported."""

from __future__ import annotations

import base64
import gzip
import html
import json
import sys
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.helpers.project import Project

SECRET = 'pa55/w0rd+"quoted"&ünicode-1234567'
VENDOR = "ghp_" + "aB3d" * 9
SHAPES = (
    SECRET,
    json.dumps(SECRET)[1:-1],
    quote(SECRET, safe=""),
    SECRET.encode().hex(),
    base64.b64encode(SECRET.encode()).decode().rstrip("=")[:-1],
    base64.b64encode(b"k" + SECRET.encode()).decode().rstrip("=")[2:-1],
    base64.b64encode(b"k:" + SECRET.encode()).decode().rstrip("=")[3:-1],
    VENDOR,
    "".join(f"%{byte:02x}" for byte in SECRET.encode()),
    "".join(f"\\u{ord(letter):04x}" for letter in SECRET),
    base64.b32encode(SECRET.encode()).decode().rstrip("=")[:-1],
    "".join(letter.upper() if letter.isascii() else letter for letter in SECRET),
    html.escape(SECRET),
    json.dumps(json.dumps(SECRET))[3:-3],
    repr(repr(SECRET + "'"))[2:-4],
    SECRET[:12] + "\n" + SECRET[12:],
    SECRET.encode("utf-16-le").decode("latin-1"),
)
AGENT = """\
import base64, html, json, os, sys, urllib.parse
s = os.environ["PASSED_VALUE"]
shapes = [s, json.dumps(s), json.dumps(s, ensure_ascii=False), urllib.parse.quote(s, safe=""), s.encode().hex()]
shapes += [base64.b64encode(before + s.encode()).decode() for before in (b"", b"k", b"k:")] + ["ghp_" + "aB3d" * 9]
shapes += ["".join(f"%{byte:02x}" for byte in s.encode()), "".join(f"\\\\u{ord(letter):04x}" for letter in s)]
shapes += [base64.b32encode(s.encode()).decode(), "".join(c.upper() if c.isascii() else c for c in s), html.escape(s)]
shapes += [json.dumps(json.dumps(s)), repr(repr(s + "'")), s[:12] + "\\n" + s[12:]]
for text in shapes:
    print("here:", text)
    print("there:", text, file=sys.stderr)
open("out.txt", "w").write("\\n".join(shapes))
open("out.bin", "wb").write(b"\\0\\1".join([text.encode() for text in shapes] + [s.encode("utf-16-le")]))
os.symlink(s.replace("/", "_"), "link")
"""
CONFIG = """\
subjects = ["leaky"]
attempts = 1
canary = "{canary}"
[agents.leaky]
adapter = "command"
command = ["{python}", "agent.py", "{{prompt}}"]
pass_env = ["PASSED_VALUE"]
"""
EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

FILES = {"agent.py": open("agent.txt").read(), "kept.txt": open("kept.txt").read()}

@eval_test(ALWAYS_PASSES, prompt="Talk.", files=FILES, trials=2, log=True)
def talks(rig, result):
    assert rig.workspace["out.txt"].text == "quiet", rig.workspace["out.txt"].text
"""


def everything(folder: Path) -> bytes:
    """All names and contents of a folder, uncompressed."""
    found = []
    for path in sorted(folder.rglob("*")):
        found.append(str(path).encode())
        if path.is_symlink():
            found.append(str(path.readlink()).encode())
        elif path.is_file():
            content = path.read_bytes()
            found += [content, gzip.decompress(content) if path.suffix == ".gz" else b""]
    return b"\n".join(found)


def captures(project: Project) -> dict[str, Any]:
    """The captures of the only run, by trial."""
    (packed,) = (project.folder / "results").glob("2*/captures.jsonl.gz")
    documents = [json.loads(line) for line in gzip.decompress(packed.read_bytes()).splitlines()]
    return {document["trial"]: document for document in documents}


@pytest.fixture
def leaky(project: Project) -> Project:
    """An agent that prints its secret in every encoding, everywhere it can."""
    project.write(
        agent_txt=AGENT, kept_txt=f"{SECRET}\n", demeanor_toml=CONFIG.format(canary="fail", python=sys.executable)
    )
    project.write(evals__eval_talks_py=EVALS)
    return project


def test_no_secret_is_written_to_disk(leaky: Project) -> None:
    """Neither to the ledger, captures, logs, diffs and workspaces nor to reports, in any encoding. What replaces it
    keeps JSON and base64 valid, so that a capture can be read."""
    summary = leaky.folder / "summary-of-ci.md"
    ran = leaky.demeanor("run", "--junit", "results/junit.xml", PASSED_VALUE=SECRET, GITHUB_STEP_SUMMARY=str(summary))
    assert ran.returncode == 1, ran.stderr
    assert "‹redacted:PASSED_VALUE:" in ran.stdout
    kept = everything(leaky.folder / "results") + summary.read_bytes() + everything(leaky.folder / "evals")
    kept += ran.stdout.encode() + ran.stderr.encode()
    for shape in SHAPES:
        assert shape.encode() not in kept, shape
        assert shape.encode("latin-1", "replace") not in kept, shape
        assert base64.b64encode(shape.encode())[:-4] not in kept, f"{shape} in a capture"
    names = {path.name for path in (leaky.folder / "results").rglob("*")}
    assert {
        "trial-1.log",
        "workspace.diff",
        "out.bin",
        "kept.txt",
        "captures.jsonl.gz",
        "junit.xml",
        "demeanor.db",
    } <= names
    diff = next((leaky.folder / "results").rglob("workspace.diff")).read_text()
    assert diff.count("‹redacted:PASSED_VALUE:") >= 16
    assert diff.count("‹redacted:github-token:") >= 1
    for line in captures(leaky).values():
        content = base64.b64decode(line["after"]["entries"]["out.txt"]["content"], validate=True)
        assert b"redacted:PASSED_VALUE" in content
    trace = leaky.demeanor("trace", "talks")
    assert trace.returncode == 0, trace.stderr


COMMITS = """\
import os, subprocess
def git(*words):
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@localhost", *words], check=True)
open("notes.txt", "w").write("filler " * 2000 + os.environ["PASSED_VALUE"])
git("add", "notes.txt")
git("commit", "-q", "-m", "Add notes")
open("notes.txt", "w").write("filler " * 2000)
git("commit", "-q", "-a", "-m", "Remove the key")
if %s:
    git("gc", "-q")
"""
COMMITTED = """\
from demeanor import ALWAYS_PASSES, eval_test

AGENT = open("agent.txt").read()

def define(packed, passes):
    name = f"{'packed' if packed else 'loose'}-{'pass' if passes else 'fail'}"

    @eval_test(ALWAYS_PASSES, name=name, prompt="Commit.", files={"agent.py": AGENT % packed}, trials=1)
    def commits(rig, result):
        assert rig.workspace.git.is_clean and len(rig.workspace.git.commits) == 2
        assert passes

    return commits

EVALS = [define(packed, passes) for packed in (False, True) for passes in (False, True)]
"""


def unpacked_objects(entries: dict[str, dict[str, str]]) -> list[bytes]:
    """What can be read from the stored loose objects and packs: every zlib stream in them."""
    found = []
    for path, entry in entries.items():
        content = base64.b64decode(entry.get("content") or "")
        for at in range(len(content)) if ".git/objects" in path else ():
            if content[at] == 0x78:
                try:
                    found.append(zlib.decompressobj().decompress(content[at:]))
                except zlib.error:
                    continue
    return found


def test_a_committed_secret_is_not_stored(project: Project) -> None:
    """Git compresses what is committed. The check sees the commits, the store gets neither object nor pack."""
    config = CONFIG.format(canary="fail", python=sys.executable)
    project.write(agent_txt=COMMITS, demeanor_toml=config, evals__eval_commits_py=COMMITTED)
    ran = project.demeanor("run", PASSED_VALUE=SECRET)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    report = json.loads((project.folder / "results/latest/report.json").read_text())
    cells = {cell["tally"]["eval"]: cell for cell in report["cells"]}
    rejudged = json.loads(project.demeanor("rejudge", "--json", PASSED_VALUE=SECRET).stdout)["trials"]
    again = {trial["eval"]: trial["after"] for trial in rejudged}
    stored = {trial.partition("/")[0]: capture for trial, capture in captures(project).items()}
    names = {"loose-pass", "loose-fail", "packed-pass", "packed-fail"}
    assert cells.keys() == again.keys() == stored.keys() == names
    for name in names:
        storage, _, outcome = name.partition("-")
        assert cells[name]["records"][0]["verdict"]["outcome"] == outcome
        assert "is not kept: a git object in it contains a secret (PASSED_VALUE)" in json.dumps(cells[name])
        objects = unpacked_objects(stored[name]["after"]["entries"])
        assert not any(SECRET.encode() in content for content in objects)
        packed = storage == "packed"
        assert packed or any(b"Remove the key" in content for content in objects), "other objects are kept"
        assert again[name]["outcome"] == ("void" if packed else outcome), again
        assert ("were not kept" in json.dumps(again[name])) is packed, again


LEAKY = """\
subjects = ["leaky"]
attempts = 1
[agents.leaky]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
"""
QUIET = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Work.", trials=1)
def works(rig, result):
    assert True
"""


LEAKS = {
    "env": "printed on stdout",
    "cat ~/.release-credentials >&2": "printed on stderr",
    "cp ~/.release-credentials notes.txt": "in the workspace in notes.txt",
    "printenv RELEASE_DEPLOY_TOKEN | base64 -w0 > x": "in the workspace in x",
    "printenv RELEASE_DEPLOY_TOKEN | git hash-object -w --stdin": "in the workspace in .git/objects/",
}


def test_a_leaked_canary_fails_the_trial(project: Project) -> None:
    """Although its check passes; the finding says what was leaked and where."""
    config = LEAKY.replace('"{script}", "{{prompt}}"', '"{prompt}"')
    head, definition = QUIET.split("\n\n", 1)
    works = [
        definition.replace('"Work."', repr(script)).replace("works", f"works_{number}")
        for number, script in enumerate(LEAKS)
    ]
    project.write(demeanor_toml=config, evals__eval_works_py="\n\n".join((head, *works)))
    ran = project.demeanor("run")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "leaked" in ran.stdout
    report = json.loads((project.folder / "results/latest/report.json").read_text())
    cells = {cell["tally"]["eval"]: cell["records"][0]["verdict"] for cell in report["cells"]}
    for number, where in enumerate(LEAKS.values()):
        assert cells[f"works_{number}"]["outcome"] == "fail"
        assert where in json.dumps(cells[f"works_{number}"])


def test_leaks_can_be_notes_and_the_canary_can_be_off(project: Project) -> None:
    """By configuration."""
    project.write(demeanor_toml='canary = "note"\n' + LEAKY.format(script="env"), evals__eval_works_py=QUIET)
    ran = project.demeanor("run")
    assert ran.returncode == 0, ran.stdout
    assert "was leaked: printed on stdout" in (project.folder / "results/latest/report.json").read_text()
    project.write(demeanor_toml='canary = "off"\n' + LEAKY.format(script="env"))
    ran = project.demeanor("run")
    assert ran.returncode == 0
    assert "RELEASE_DEPLOY_TOKEN" not in (project.folder / "results/latest/ledger.jsonl").read_text()


def test_a_secret_in_a_request_is_a_leak_and_can_be_replayed(project: Project) -> None:
    """The agent sends its environment to the model; the cassette matches a trial with another canary."""
    evals = QUIET.replace('prompt="Work."', 'prompt="Run the command `env`."')
    project.write(demeanor_toml='subjects = ["native:scripted"]\nattempts = 1\n', evals__eval_works_py=evals)
    ran = project.demeanor("run", "--record")
    report = (project.folder / "results/latest/report.json").read_text()
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "sent to the model in" in report
    cassette = everything(project.folder / "evals/cassettes").decode()
    assert "RELEASE_DEPLOY_TOKEN={{demeanor:canary}}" in cassette
    again = project.demeanor("run", "--replay")
    assert again.returncode == 1, again.stdout
    assert "sent to the model in" in (project.folder / "results/latest/report.json").read_text()
