"""What a workspace contains at the end: empty folders, and files that are too large to store."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import Project

CONFIG = """\
subjects = ["writer"]
sandbox = "{level}"
jobs = 1
attempts = 1
[agents.writer]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
"""
SCRIPT = (
    "mkdir build; rm kept/x.txt; printf hi > used/x.txt; "
    "(head -c 9000000 /dev/zero; echo PASSWORD) > big.log; echo done"
)
EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test


def start(folder):
    for name in ("kept", "used", "old"):
        (folder / name).mkdir()
    (folder / "kept/x.txt").write_text("x")


@eval_test(ALWAYS_PASSES, prompt="Write.", setup=start, trials=1)
def folders(rig, result):
    workspace = rig.workspace
    assert workspace.is_folder("build") and "build" in workspace and workspace.is_folder("kept")
    assert not workspace["build"].exists and workspace.list() == ["big.log", "used/x.txt"]
    changed = [(one.path, one.how) for one in workspace.changes]
    assert changed == [("big.log", "added"), ("build", "added"), ("kept/x.txt", "deleted"), ("used/x.txt", "added")]


@eval_test(ALWAYS_PASSES, prompt="Write.", setup=start, trials=1)
def command(rig, result):
    assert rig.workspace.run("sh", "-c", "! grep -q PASSWORD big.log").exit_code == 0


@eval_test(ALWAYS_PASSES, prompt="Write.", setup=start, trials=1)
def content(rig, result):
    assert "PASSWORD" not in rig.workspace["big.log"].text
"""
ODD = """\
from demeanor import ALWAYS_PASSES, eval_test


@eval_test(ALWAYS_PASSES, prompt="Write.", trials=1)
def command(rig, result):
    assert rig.workspace.run("sh", "-c", "! ls | grep -q 377").exit_code == 0
"""


@pytest.mark.parametrize("level", ["none", "bubblewrap"])
def test_empty_folders_and_large_files(project: Project, level: str) -> None:
    """Commands get the real content; reading it otherwise fails the check. Judged again, the command is unknown."""
    project.write(demeanor_toml=CONFIG.format(level=level, script=SCRIPT), evals__eval_a_py=EVALS)
    ran = project.demeanor("run", "--json")
    assert ran.returncode == 1, ran.stderr
    lines = (project.folder / "results/latest/ledger.jsonl").read_text().splitlines()
    found = {record["eval"]: record["verdict"] for record in map(json.loads, lines)}
    assert found["folders"]["outcome"] == "pass", found["folders"]
    assert found["command"]["outcome"] == "fail", found["command"]
    assert found["content"]["outcome"] == "fail"
    assert (
        "can't read the content of 'big.log': its 9000009 bytes were not kept"
        in found["content"]["findings"][0]["reason"]
    )
    assert project.temporary() == []
    again = project.demeanor("rejudge", "--json")
    lost = "can't know what 'sh -c ! grep -q PASSWORD big.log' does: 'big.log': its 9000009 bytes were not kept"
    assert lost in again.stdout, again.stderr


def test_a_command_is_not_run_on_an_incomplete_copy(project: Project) -> None:
    """A file whose name can't be kept is missing in the copy, where a command would answer another question. The agent
    made it so, and fails: otherwise every agent could turn its failures into voids."""
    script = r"printf x > $(printf 'odd\\377'); echo done"
    project.write(demeanor_toml=CONFIG.format(level="none", script=script), evals__eval_a_py=ODD)
    ran = project.demeanor("run", "--json")
    assert ran.returncode == 1, ran.stderr
    (record,) = map(json.loads, (project.folder / "results/latest/ledger.jsonl").read_text().splitlines())
    verdict = record["verdict"]
    assert verdict["outcome"] == "fail"
    (finding,) = verdict["findings"]
    assert "can't tell what 'sh -c ! ls | grep -q 377' does, because of what the agent left: odd" in finding["reason"]
    assert "is not valid UTF-8" in finding["reason"]
