"""Agents that fail before their first model request: void, reported once, and explained by the doctor."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.helpers.environments import run
from tests.helpers.project import Project

CONFIG = """\
subjects = ["mine:scripted"]
attempts = 1
[agents.mine]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
{gateway}
"""
GATEWAY = 'dialect = "openai-chat"\nbase_url_env = ["URL"]\n'
EVALS = "from demeanor import ALWAYS_PASSES, eval_test\n" + "".join(
    f"""
@eval_test(ALWAYS_PASSES, prompt="Write.", trials=2)
def writes_{number}(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""
    for number in range(4)
)


def configure(project: Project, script: str, gateway: str = GATEWAY) -> None:
    """A project with four evals and an agent."""
    project.write(demeanor_toml=CONFIG.format(script=script, gateway=gateway), evals__eval_a_py=EVALS)


def verdicts(project: Project) -> set[tuple[str, str]]:
    """The outcomes of the latest run, with the causes of void ones."""
    lines = (project.folder / "results/latest/ledger.jsonl").read_text().splitlines()
    found = [json.loads(line)["verdict"] for line in lines]
    return {(verdict["outcome"], verdict.get("cause", "")) for verdict in found}


def test_an_agent_that_crashes_at_start_up_is_void_and_reported_once(project: Project) -> None:
    """With its last output; eight failures would hide that there is one reason."""
    configure(project, "echo starting; echo ModuleNotFoundError: requests >&2; exit 3")
    ran = project.demeanor("run")
    assert (ran.returncode, verdicts(project)) == (3, {("void", "agent_start")}), ran.stdout
    assert "mine:scripted  8 trials of 4 evals void" in ran.stdout
    summary = (project.folder / "results/latest/summary.md").read_text()
    for text in (ran.stdout, summary):
        assert text.count("the agent made no model request: it ended with exit code 3") == 1, text
        assert text.count("ModuleNotFoundError: requests") == 1, text


@pytest.mark.parametrize(
    ("script", "gateway", "outcome"),
    [
        ("exit 3", "", "fail"),
        ("printf hi > out.txt", "", "pass"),
        ("printf hi > out.txt", GATEWAY, "pass"),
        ("exit 0", GATEWAY, "fail"),
    ],
    ids=["fails without a gateway", "works without a gateway", "needs no request", "ends without doing anything"],
)
def test_other_agents_without_a_request_are_judged(project: Project, script: str, gateway: str, outcome: str) -> None:
    """Those that do not use the gateway, and those that end successfully."""
    configure(project, script, gateway)
    subject = "mine:scripted" if gateway else "mine"
    project.demeanor("run", "--subject", subject)
    assert verdicts(project) == {(outcome, "")}


def test_requests_that_the_gateway_does_not_know_are_no_model_requests(project: Project) -> None:
    """A wrong base URL is a mistake of the configuration; the note shows the path."""
    program = (
        "import os, sys, urllib.request as u; "
        "sys.exit(0) if u.urlopen(u.Request(os.environ['URL'] + '/wrong', data=b'{}')) else None"
    )
    project.write(agent_py=program)
    configure(project, "")
    config = (project.folder / "demeanor.toml").read_text()
    (project.folder / "demeanor.toml").write_text(config.replace('["sh", "-c", "",', '["python3", "./agent.py",'))
    ran = project.demeanor("run")
    assert verdicts(project) == {("void", "agent_start")}, ran.stdout
    assert "the agent sent a request that the gateway does not know: POST /v1/wrong" in ran.stdout


def test_a_module_that_the_agent_lacks_is_named_with_the_remedy(project: Project) -> None:
    """The Python of the agent's environment is readable, so nothing is to be added to `reads`."""
    configure(project, "")
    run(sys.executable, "-m", "venv", "--without-pip", str(project.folder / ".venv"))
    config = (project.folder / "demeanor.toml").read_text()
    command = '[".venv/bin/python", "-m", "no_such_module",'
    (project.folder / "demeanor.toml").write_text(config.replace('["sh", "-c", "",', command))
    ran = project.demeanor("run")
    assert verdicts(project) == {("void", "agent_start")}, ran.stdout
    text = " ".join((project.folder / "results/latest/summary.md").read_text().split())
    python = f"{project.folder}/.venv/bin/python"
    assert text.count(f"{python} has no module 'no_such_module' → install it there: {python} -m pip install") == 1
    assert "add it to" not in text


def test_the_doctor_starts_agents_in_the_sandbox_and_suggests_reads(project: Project, tmp_path: Path) -> None:
    """A file that exists on this machine, but not in the sandbox."""
    hidden = Path(__file__)
    configure(project, f"cat {hidden} || exit 4")
    told = project.demeanor("doctor")
    assert told.returncode == 1
    assert "does not work in the sandbox" in told.stdout, told.stdout
    assert f"did not find {hidden}, which exists on this machine but not in the sandbox" in told.stdout
    assert told.stdout.count("add it to agents.mine.reads") == 1, told.stdout
    assert "starts in the sandbox" in told.stdout  # the native agent
    assert re.search(r"broken +subject mine:scripted +its agent does not work", told.stdout), told.stdout
    ran = project.demeanor("run")
    lines = [line.strip() for line in ran.stdout.splitlines()]
    assert sum(line.endswith(" add it to agents.mine.reads") and len(line) < 32 for line in lines) == 1, ran.stdout
    config = (project.folder / "demeanor.toml").read_text()
    (project.folder / "demeanor.toml").write_text(f'{config}reads = ["{hidden}"]\n')
    assert "does not work in the sandbox" not in project.demeanor("doctor").stdout
    assert project.temporary() == []
