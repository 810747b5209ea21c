"""A promise that is earned by nights, and lost by them."""

from __future__ import annotations

import difflib
import json

import pytest

from tests.helpers.project import Project
from tests.journeys.decision_helpers import EVALS, PLAYED_IN_BUBBLEWRAP, Versions

SCENARIO = """\
# A scenario with a comment.
policy   = "USUALLY_PASSES"  # incubating
prompt = "Write out.txt."

[[checks]]
check = "file_exists"
path = "out.txt"
"""


@pytest.fixture
def versions(project: Project) -> Versions:
    """A project with ten good nights, and an eval that is younger."""
    made = Versions(project)
    made.nights(1)
    project.write(evals__folder__scenario_toml=SCENARIO)
    made.commit()
    made.nights(9)
    return made


def changed_lines(before: str, after: str) -> list[str]:
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in found if line[0] in "+-" and line[:3] not in {"+++", "---"}]


def test_ten_nights_earn_a_promotion_and_nine_are_the_nearest_miss(versions: Versions):
    """With the evidence, and what is missing."""
    done = versions.project.demeanor("promote", COLUMNS="60")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 of 2 evals to promote to ALWAYS_PASSES")
    assert "promote  usually  ✓✓✓✓✓✓✓" in done.stdout
    assert "wait     folder" in done.stdout
    assert "Nearest misses" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 60
    found = json.loads(versions.project.demeanor("promote", "--json").stdout)
    assert [(one["eval"], one["answer"], one["distance"]) for one in found["candidates"]] == [
        ("usually", "promote", 0),
        ("folder", "wait", 1),
    ]
    sprt = json.loads(versions.project.demeanor("promote", "--rule", "sprt", "--json").stdout)
    assert {one["answer"] for one in sprt["candidates"]} == {"wait"}


def test_applying_changes_one_argument_verifies_and_records_it(versions: Versions):
    """And proposes a commit message with the evidence; a promise that was raised by hand is noticed."""
    before = versions.project.demeanor("validate")
    assert "without a recorded promotion" not in before.stdout
    done = versions.project.demeanor("promote", "--apply")
    assert done.returncode == 0, done.stderr
    assert changed_lines(EVALS, versions.evals.read_text()) == [
        '-@eval_test( USUALLY_PASSES,prompt = "Write out.txt, usually." )  # odd, but its author\'s',
        '+@eval_test( ALWAYS_PASSES,prompt = "Write out.txt, usually." )  # odd, but its author\'s',
    ]
    for told in ("Promote eval usually to ALWAYS_PASSES", "writer: 7 of 7 passed", "tried here: 3 of 3 passed"):
        assert told in done.stdout
    checked = versions.project.demeanor("validate", "--json")
    assert (checked.returncode, json.loads(checked.stdout)["promoted_by_hand"]) == (0, ["always"])
    strict = versions.project.demeanor("validate", "--strict", "--json")
    assert (strict.returncode, "always" in json.loads(strict.stdout)["faulty"]) == (1, True)
    versions.nights(1)
    folder = versions.project.demeanor("promote", "folder", "--apply")
    assert folder.returncode == 0, folder.stderr
    text = (versions.folder / "evals" / "folder" / "scenario.toml").read_text()
    assert text == SCENARIO.replace("USUALLY", "ALWAYS")


def test_what_does_not_hold_here_stays_as_it_was(versions: Versions):
    """Whatever its nights say; and who asks for more than is earned is told what is missing."""
    versions.behave("f")
    done = versions.project.demeanor("promote", "--apply")
    assert (done.returncode, versions.evals.read_text()) == (1, EVALS)
    assert "left as it was" in done.stdout
    early = versions.project.demeanor("promote", "folder", "--apply")
    assert early.returncode == 2
    assert "is not ripe by the rule 'classic'" in early.stderr


def test_an_eval_that_was_edited_after_its_nights_has_not_earned_it(versions: Versions):
    """Its nights are of another eval."""
    versions.evals.write_text(EVALS.replace("out.txt, usually", "out.txt, really"))
    done = versions.project.demeanor("promote", "usually")
    assert done.stdout.startswith("none of 1 eval to promote")
    assert "it was edited after its last night" in done.stdout


def test_a_fail_at_night_costs_the_promise(versions: Versions):
    """By the same door, and recorded."""
    calm = versions.project.demeanor("demote")
    assert calm.stdout.startswith("none of 1 eval to demote")
    versions.behave("f")
    versions.nights(1)
    done = versions.project.demeanor("demote", "--apply")
    assert done.returncode == 0, done.stderr
    assert changed_lines(EVALS, versions.evals.read_text()) == [
        '-@eval_test( ALWAYS_PASSES,prompt = "Write out.txt, always." )  # odd, but its author\'s',
        '+@eval_test( USUALLY_PASSES,prompt = "Write out.txt, always." )  # odd, but its author\'s',
    ]
    assert "Demote eval always to USUALLY_PASSES" in done.stdout


def test_the_notes_of_the_run_that_verifies_are_told_and_kept(project: Project):
    """A task that was not played on its image when it was verified is promoted knowingly."""
    versions = Versions(project)
    versions.add_task()
    versions.nights(10)
    done = project.demeanor("promote", "--apply")
    assert (done.returncode, "changed" in done.stdout) == (0, True), done.stdout + done.stderr
    report = json.loads((versions.folder / "results/latest/report.json").read_text())
    assert any(note.startswith(PLAYED_IN_BUBBLEWRAP) for note in report["notes"])
    assert PLAYED_IN_BUBBLEWRAP in done.stderr


def test_a_task_is_not_verified_without_harbor(project: Project):
    """It is left as it was, and nothing is kept."""
    versions = Versions(project)
    versions.add_task()
    versions.nights(10)
    runs = sorted((versions.folder / "results").iterdir())
    versions.lose_harbor()
    done = project.demeanor("promote", "--apply")
    assert (done.returncode, "demeanor harbor install" in done.stderr) == (2, True), done.stderr
    assert (sorted((versions.folder / "results").iterdir()), versions.git("status", "--porcelain")) == (runs, "")
