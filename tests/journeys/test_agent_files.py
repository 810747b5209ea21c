"""An edited agent is another one: its program and the files of the project that it reads are in its fingerprint."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import Project

AGENT = '#!/bin/sh\ncat "{prompts}/system.txt" > out.txt 2>/dev/null\nprintf hi > out.txt\n'
CONFIG = """\
subjects = ["own"]
sandbox = "{sandbox}"
[agents.own]
adapter = "command"
command = ["./agent.sh", "{{prompt}}"]
reads = ["prompts"]
[agents.elsewhere]
adapter = "command"
command = ["{elsewhere}", "{{prompt}}"]
"""
EVALS = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Write out.txt.")
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""


@pytest.fixture(params=["none", "bubblewrap"])
def agent(project: Project, request: pytest.FixtureRequest) -> Project:
    """A command of the project, which reads a folder of it, and one that is installed somewhere."""
    elsewhere = project.folder.parent / "elsewhere" / "agent"
    elsewhere.parent.mkdir()
    (project.folder / "prompts").mkdir()
    (project.folder / "prompts" / "system.txt").write_text("Be brief.")
    for file in (project.folder / "agent.sh", elsewhere):
        file.write_text(AGENT.format(prompts=project.folder / "prompts"))
        file.chmod(0o755)
    project.write(evals__eval_a_py=EVALS, demeanor_toml=CONFIG.format(sandbox=request.param, elsewhere=elsewhere))
    return project


def fingerprint(project: Project, *words: str) -> str:
    done = project.demeanor("nightly", "--trials", "1", "--json", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    return str(cell["records"][0]["fingerprint"])


def test_an_edit_of_the_program_or_of_what_it_reads_changes_the_fingerprint(agent: Project) -> None:
    """Also a lock file of the project; an edit of an eval, of a document or nothing at all does not."""
    prints = [fingerprint(agent)]
    (agent.folder / "evals" / "eval_a.py").write_text(EVALS.replace("Write out", "Please write out"))
    prints.append(fingerprint(agent))
    assert prints[0] == prints[1]
    for path, text in (("agent.sh", "# edited\n"), ("prompts/system.txt", "Ask first."), ("uv.lock", "version = 1\n")):
        with (agent.folder / path).open("a") as file:
            file.write(text)
        prints.append(fingerprint(agent))
    assert len({*prints}) == 4
    assert len({one.partition(".")[0] for one in prints}) == 1, "only the files differ"
    shown = agent.demeanor("report", "--eval", "writes", COLUMNS="160").stdout
    assert shown.count("files of the agent ") >= 3
    assert "is unknown" not in shown


def test_a_program_that_can_not_be_known_is_said_to_be_unknown(agent: Project) -> None:
    """A script that is installed somewhere, without a command that prints its version: never unchanged."""
    assert fingerprint(agent, "--subject", "elsewhere").endswith(".?")
    for words in (("report",), ("report", "--eval", "writes"), ("run", "--subject", "elsewhere", "--trials", "1")):
        shown = " ".join(agent.demeanor(*words, COLUMNS="160").stdout.split())
        assert "whether elsewhere has changed is unknown" in shown, words
    config = agent.folder / "demeanor.toml"
    config.write_text(config.read_text() + 'version_command = ["echo", "1.2"]\n')
    assert "." not in fingerprint(agent, "--subject", "elsewhere")


def test_what_a_shell_or_an_interpreter_starts_is_unknown(agent: Project) -> None:
    """But for code that the configuration has, which names no script."""
    config = agent.folder / "demeanor.toml"
    commands = {
        "inline": ["sh", "-c", "printf hi > out.txt", "{prompt}"],
        "script": ["sh", "-c", "printf hi > out.txt; command -v agent", "{prompt}"],
        "module": ["python3", "-m", "this", "{prompt}"],
    }
    tables = [f'[agents.{name}]\nadapter = "command"\ncommand = {words}\n' for name, words in commands.items()]
    config.write_text(config.read_text() + "".join(tables))
    words = [word for name in commands for word in ("--subject", name)]
    path = f"{agent.folder.parent / 'elsewhere'}:{agent.env['PATH']}"
    done = agent.demeanor("run", *words, "--trials", "1", "--json", PATH=path)
    records = [record for cell in json.loads(done.stdout)["cells"] for record in cell["records"]]
    unknown = {record["subject"]: record["fingerprint"].endswith(".?") for record in records}
    assert unknown == {"inline": False, "script": True, "module": True}
