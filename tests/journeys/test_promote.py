"""`demeanor promote`: a policy is raised after good nights and lowered after bad ones."""

from __future__ import annotations

import difflib
import json

import pytest

from tests.helpers.project import Project
from tests.helpers.versions import EVALS, PLAYED_IN_BUBBLEWRAP, Versions

SCENARIO = """\
# A scenario with a comment.
policy   = "USUALLY_PASSES"  # incubating
prompt = "Write out.txt."

[[checks]]
check = "file_exists"
path = "out.txt"
"""


@pytest.fixture(scope="module")
def shared_versions(tmp_path_factory: pytest.TempPathFactory) -> Versions:
    """A project with ten good nights, and an eval with fewer."""
    made = Versions(Project(tmp_path_factory.mktemp("nights") / "project"))
    made.nights(1)
    made.project.write(evals__folder__scenario_toml=SCENARIO)
    made.commit()
    made.nights(9)
    made.save()
    return made


@pytest.fixture
def versions(shared_versions: Versions) -> Versions:
    """That project, without what other tests did to it."""
    shared_versions.restore()
    return shared_versions


def changed_lines(before: str, after: str) -> list[str]:
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in found if line[0] in "+-" and line[:3] not in {"+++", "---"}]


def test_ten_good_nights_are_enough_and_nine_are_not(versions: Versions):
    """The report has the evidence and what is missing."""
    done = versions.project.demeanor("promote", "--rule", "classic", COLUMNS="60")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 of 2 evals to promote to ALWAYS_PASSES")
    assert "promote  usually  ✓✓✓✓✓✓✓" in done.stdout
    assert "wait     folder" in done.stdout
    assert "Nearest misses" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 60
    found = json.loads(versions.project.demeanor("promote", "--rule", "classic", "--json").stdout)
    assert [(one["eval"], one["answer"], one["distance"]) for one in found["candidates"]] == [
        ("usually", "promote", 0),
        ("folder", "wait", 1),
    ]
    sprt = json.loads(versions.project.demeanor("promote", "--rule", "sprt", "--json").stdout)
    assert {one["answer"] for one in sprt["candidates"]} == {"wait"}


def test_applying_changes_one_argument_verifies_and_records_it(versions: Versions):
    """It proposes a commit message with the evidence, and notices a policy that was raised by hand."""
    before = versions.project.demeanor("validate")
    assert "without a recorded promotion" not in before.stdout
    done = versions.project.demeanor("promote", "--rule", "classic", "--apply")
    assert done.returncode == 0, done.stderr
    assert changed_lines(EVALS, versions.evals.read_text()) == [
        '-@eval_test( USUALLY_PASSES,prompt = "Write out.txt, usually." )  # odd, but its author\'s',
        '+@eval_test( ALWAYS_PASSES,prompt = "Write out.txt, usually." )  # odd, but its author\'s',
    ]
    for text in ("Promote eval usually to ALWAYS_PASSES", "writer: 7 of 7 passed", "verified here: 3 of 3 passed"):
        assert text in done.stdout
    checked = versions.project.demeanor("validate", "--json")
    assert (checked.returncode, json.loads(checked.stdout)["promoted_by_hand"]) == (0, ["always"])
    strict = versions.project.demeanor("validate", "--strict", "--json")
    assert (strict.returncode, "always" in json.loads(strict.stdout)["faulty"]) == (1, True)
    assert list(json.loads((versions.folder / "promotions.json").read_text())) == ["usually"]
    versions.commit("Promote usually")
    versions.nights(1)
    folder = versions.project.demeanor("promote", "--rule", "classic", "folder", "--apply")
    assert folder.returncode == 0, folder.stderr
    text = (versions.folder / "evals" / "folder" / "scenario.toml").read_text()
    assert text == SCENARIO.replace("USUALLY", "ALWAYS")


def test_a_promotion_that_fails_verification_is_not_applied(versions: Versions):
    """Whatever the nights say. A request without enough evidence says what is missing."""
    versions.behave("f")
    done = versions.project.demeanor("promote", "--rule", "classic", "--apply")
    assert (done.returncode, versions.evals.read_text()) == (1, EVALS)
    assert "1 eval not changed, because the verification failed: usually" in done.stdout
    early = versions.project.demeanor("promote", "--rule", "classic", "folder", "--apply")
    assert early.returncode == 2
    assert "is not ready by the rule 'classic'" in early.stderr


def test_an_edited_eval_starts_again(versions: Versions):
    """Its nights belong to the old version."""
    versions.evals.write_text(EVALS.replace("out.txt, usually", "out.txt, really"))
    done = versions.project.demeanor("promote", "--rule", "classic", "usually")
    assert done.stdout.startswith("No eval of 1 to promote")
    assert "it was edited after its last night" in done.stdout


def test_a_nightly_fail_demotes(versions: Versions):
    """With the same command, and recorded."""
    calm = versions.project.demeanor("promote", "--rule", "classic", "--demote")
    assert calm.stdout.startswith("No eval of 1 to demote")
    versions.behave("f")
    versions.commit("Broken")
    versions.nights(1)
    done = versions.project.demeanor("promote", "--rule", "classic", "--demote", "--apply")
    assert done.returncode == 0, done.stderr
    assert changed_lines(EVALS, versions.evals.read_text()) == [
        '-@eval_test( ALWAYS_PASSES,prompt = "Write out.txt, always." )  # odd, but its author\'s',
        '+@eval_test( USUALLY_PASSES,prompt = "Write out.txt, always." )  # odd, but its author\'s',
    ]
    assert "Demote eval always to USUALLY_PASSES" in done.stdout


def test_demote_refuses_the_options_of_a_verification(project: Project):
    """A demotion runs no trials, so `--trials` would be ignored silently."""
    done = project.demeanor("promote", "--rule", "classic", "--demote", "--apply", "--trials", "5")
    assert done.returncode == 2
    assert "--trials" in done.stderr


def test_notes_of_the_verification_are_shown_and_stored(project: Project):
    """For example that a task did not run on its own image."""
    versions = Versions(project)
    versions.add_task()
    versions.nights(10)
    done = project.demeanor("promote", "--rule", "classic", "--apply")
    assert (done.returncode, "changed" in done.stdout) == (0, True), done.stdout + done.stderr
    report = json.loads((versions.folder / "results/latest/report.json").read_text())
    assert any(note.startswith(PLAYED_IN_BUBBLEWRAP) for note in report["notes"])
    assert PLAYED_IN_BUBBLEWRAP in done.stderr


def test_a_task_is_not_verified_without_harbor(project: Project):
    """It is not changed, and nothing is stored."""
    versions = Versions(project)
    versions.add_task()
    versions.nights(10)
    runs = sorted((versions.folder / "results").iterdir())
    versions.lose_harbor()
    done = project.demeanor("promote", "--rule", "classic", "--apply")
    assert (done.returncode, "demeanor harbor install" in done.stderr) == (2, True), done.stderr
    assert (sorted((versions.folder / "results").iterdir()), versions.git("status", "--porcelain")) == (runs, "")
