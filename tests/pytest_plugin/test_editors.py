"""Test explorers of editors: evals are found without running them, and run one at a time.

`explorer.py` asks pytest for what the Python extension of VS Code asks for in its own plugin: the tree of nodes with
names, paths, lines and ids on collection, and the outcome of each id in a run.
"""

from __future__ import annotations

import json

from tests.helpers.project import Project

EXPLORER = """\
import json, os, pathlib
import pytest

FOUND, OUTCOMES = [], {}

def pytest_collection_finish(session):
    for item in session.items:
        FOUND.append({
            "name": item.name,
            "file": str(item.path),
            "parent": [type(item.parent).__mro__[1].__name__, str(item.parent.path)],
            "line": item.location[1] + 1,
            "id": f"{item.path}::{item.nodeid.split('::', 1)[1]}",
        })

def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        OUTCOMES[report.nodeid] = [report.outcome, report.longreprtext]

def pytest_sessionfinish(session):
    pathlib.Path("explorer.json").write_text(json.dumps({"found": FOUND, "outcomes": OUTCOMES}))
"""
CONFIG = """\
subjects = ["liar"]
trials = 1
[agents.liar]
adapter = "python"
function = "agents.py:liar"
"""
EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test


@eval_test(ALWAYS_PASSES, prompt="Write.")
def writes(rig, result):
    assert result == "done"
    assert rig.workspace.exists("out.txt")


@eval_test(ALWAYS_PASSES, prompt="Answer.")
def answers(rig, result):
    assert result == "done"
"""
SCENARIO = """\
policy = "ALWAYS_PASSES"
prompt = "Write."
[[checks]]
check = "file_exists"
path = "out.txt"
"""


def explore(project: Project, *options: str) -> dict:
    project.pytest("-p", "explorer", f"--rootdir={project.folder}", *options)
    return json.loads((project.folder / "explorer.json").read_text())


def test_explorer_finds_evals_without_running_them_and_runs_one(project: Project) -> None:
    """Each item has a file as parent, a line, and an id that selects it; its failure names the line of the check."""
    project.write(demeanor_toml=CONFIG, agents_py='def liar(session):\n    session.say("done")\n', explorer_py=EXPLORER)
    (project.folder / "evals/scenario").mkdir(parents=True)
    (project.folder / "evals/eval_more.py").write_text(EVALS)
    (project.folder / "evals/scenario/scenario.toml").write_text(SCENARIO)

    collected = explore(project, "--collect-only", ".")
    assert (collected["outcomes"], (project.folder / "results").exists()) == ({}, False)
    found = {one["name"]: one for one in collected["found"]}
    lines = {name: (one["file"].removeprefix(f"{project.folder}/evals/"), one["line"]) for name, one in found.items()}
    assert lines == {
        "writes[liar]": ("eval_more.py", 4),
        "answers[liar]": ("eval_more.py", 10),
        "scenario[liar]": ("scenario/scenario.toml", 1),
    }
    assert all(one["parent"] == ["File", one["file"]] for one in found.values())

    ran = explore(project, found["writes[liar]"]["id"])
    assert list(ran["outcomes"]) == ["evals/eval_more.py::writes[liar]"]
    outcome, text = ran["outcomes"]["evals/eval_more.py::writes[liar]"]
    assert outcome == "failed"
    assert 'at eval_more.py:7: assert rig.workspace.exists("out.txt")' in text
