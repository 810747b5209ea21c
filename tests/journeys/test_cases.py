"""A table of cases: one eval per row, judged with the row's values, and one figure for all of them."""

from __future__ import annotations

import json

from tests.helpers.project import Project

AGENT = """\
def writer(session):
    word = session.prompt.split()[-1].rstrip(".")
    (session.workspace / "out.txt").write_text(word.upper() if word != "no" else "")
    session.say("done")
"""
CONFIG = """\
subjects = ["writer"]
trials = 2
[agents.writer]
adapter = "python"
function = "agents.py:writer"
"""
EVALS = """\
from demeanor import USUALLY_PASSES, csv, eval_test

def good(stage, word):
    (stage.workspace / "out.txt").write_text(word.upper())

@eval_test(USUALLY_PASSES, prompt="Shout {word}.", cases=csv("words.csv"), passes_on=good)
def shouts(rig, result, word):
    assert rig.workspace["out.txt"].text == word.upper()
"""


def test_a_table_of_cases(project: Project) -> None:
    """Each case is listed, validated, run and reported by itself, and with the others."""
    project.write(
        agents_py=AGENT, demeanor_toml=CONFIG, evals__eval_shouts_py=EVALS, evals__words_csv="word\nyes\nno\nmaybe\n"
    )
    listed = json.loads(project.demeanor("validate", "--list", "--json").stdout)
    assert [one["name"] for one in listed] == ["shouts[yes]", "shouts[no]", "shouts[maybe]"]
    validated = project.demeanor("validate")
    assert validated.returncode == 0, validated.stdout + validated.stderr
    ran = project.demeanor("run", "--policy", "all")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "shouts: 67 % [0–100] over 3 cases, interval clustered by case" in ran.stdout
    (path,) = (project.folder / "results").glob("2*/report.json")
    report = json.loads(path.read_text())
    assert [(one["name"], one["cases"], one["judged"]) for one in report["case_groups"]] == [("shouts", 3, 3)]
    assert [cell["cases_of"] for cell in report["cells"]] == ["shouts"] * 3
    one = project.demeanor("run", "evals/eval_shouts.py::shouts[yes]", "--policy", "all")
    assert one.returncode == 0, one.stdout + one.stderr
    assert "over 1 case, interval" in one.stdout
