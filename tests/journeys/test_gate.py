"""`demeanor gate`: whether a change may merge, compared with the nights before it."""

from __future__ import annotations

import json
import sqlite3
import xml.etree.ElementTree as ET

import pytest

from tests.helpers.harbor_tasks import greet
from tests.helpers.project import Project
from tests.helpers.versions import EVALS, PLAYED_IN_BUBBLEWRAP, Versions


@pytest.fixture(scope="module")
def shared_versions(tmp_path_factory: pytest.TempPathFactory) -> Versions:
    """A project with three good nights of seven trials."""
    made = Versions(Project(tmp_path_factory.mktemp("nights") / "project"))
    made.nights(3, trials=7)
    made.save()
    return made


@pytest.fixture
def versions(shared_versions: Versions) -> Versions:
    """That project, without what other tests did to it."""
    shared_versions.restore()
    return shared_versions


def rows(text: str) -> dict[str, dict]:
    """The rows of the report: eval → row."""
    return {row["eval"]: row for row in json.loads(text)["rows"]}


def test_a_good_change_may_merge_after_three_passes_each(versions: Versions):
    """The report has the baseline and the error rates of the rule in every format, and the decision is stored."""
    done = versions.project.demeanor("gate", "--policy", "all", "--junit", "junit.xml", COLUMNS="100")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "May merge: both cells are accepted\nA healthy change is blocked at most 1 time in 6: few trials tell yet."
    )
    assert "3/3     21/21 in 3 nights" in done.stdout
    assert "Error rates of the rules" not in done.stdout
    assert ET.parse(versions.folder / "junit.xml").getroot().get("failures") == "0"  # noqa: S314 - our own
    latest = versions.folder / "results" / "latest"
    summary = (latest / "summary.md").read_text()
    assert "May merge" in summary
    assert (summary.count("| `usually`"), "Accepted:" in summary) == (1, False)  # one answer, and each row once
    assert json.loads((latest / "gate.json").read_text())["schema"] == "demeanor-gate/1"
    with sqlite3.connect(versions.folder / "results" / "demeanor.db") as database:
        kept = database.execute("SELECT eval, answer, rule FROM decisions WHERE ruling = 'gate' ORDER BY 1").fetchall()
    database.close()
    assert kept == [("always", "accept", "every_trial"), ("usually", "accept", "optimal")]


def test_a_broken_eval_blocks_the_change_as_early_as_possible(versions: Versions):
    """One fail is enough for an always-passing eval; the other is compared with its nights."""
    versions.behave("f")
    done = versions.project.demeanor("gate", "--policy", "all", "--json")
    assert done.returncode == 1, done.stderr
    found = rows(done.stdout)
    assert found["always"]["decision"]["answer"] == "reject"
    assert found["usually"]["decision"]["answer"] == "reject"
    assert found["usually"]["failed"] == 6  # three of them confirm it
    assert found["usually"]["rates"]["healthy"]["rate"] == 0.98


def test_after_one_fail_more_trials_decide(versions: Versions):
    """As few as possible."""
    versions.behave("ppfp")  # the third trial is the last of its first round
    done = versions.project.demeanor("gate", "--json", "-k", "usually")
    assert done.returncode == 0, done.stderr
    (row,) = rows(done.stdout).values()
    assert (row["decision"]["answer"], row["failed"]) == ("accept", 1)
    assert 3 < row["passed"] + row["failed"] < 13


def test_a_thorough_gate_runs_more_trials(versions: Versions):
    """By the option or the configuration."""
    by_option = versions.project.demeanor("gate", "--json", "-k", "usually", "--thorough")
    with (versions.folder / "demeanor.toml").open("a") as config:
        config.write("\n[gate]\nthorough = true\n")
    configured = versions.project.demeanor("gate", "--json", "-k", "usually")
    for done in (by_option, configured):
        assert json.loads(done.stdout)["thorough"]
        assert rows(done.stdout)["usually"]["passed"] > 3


def test_two_of_three_are_enough_for_an_edited_eval(versions: Versions):
    """It has no nights to compare with; fewer are rejected."""
    versions.evals.write_text(EVALS.replace("Write out.txt, usually.", "Write out.txt, please."))
    versions.behave("pfp")
    done = versions.project.demeanor("gate", "--json", "-k", "usually")
    (row,) = rows(done.stdout).values()
    assert (done.returncode, row["passed"], row["failed"], row["decision"]["rule"]) == (0, 2, 1, "two_of_three")
    versions.behave("f")
    assert versions.project.demeanor("gate", "-k", "usually").returncode == 1


@pytest.mark.parametrize(("plan", "answer"), [("pfp", "accept"), ("ffp", "reject")])
def test_a_new_eval_is_checked_in_by_one_rule(versions: Versions, plan: str, answer: str):
    """A run, a night and the gate give the same answer by the same name; the gate says what it is worth."""
    versions.git("switch", "--quiet", "-c", "change")
    newborn = EVALS.rpartition("\n\n\n")[2].replace("usually", "newborn")
    versions.evals.write_text(f"{EVALS}\n\n{newborn}")
    for command in ("run", "nightly", "gate"):
        versions.behave(plan)
        versions.project.demeanor(command, "-k", "newborn", "--no-build")
        report = json.loads((versions.folder / "results/latest/report.json").read_text())
        (cell,) = report["cells"]
        assert (cell["decision"]["answer"], cell["decision"]["rule"]) == (answer, "two_of_three"), command
    summary = (versions.folder / "results/latest/summary.md").read_text()
    assert "1 cell with no nights to compare with had to pass two of three trials. That says little yet" in summary


def test_too_few_trials_leave_it_undecided(versions: Versions):
    """With its own exit code, and what is missing."""
    done = versions.project.demeanor("gate", "--policy", "all", "--max-trials", "4", COLUMNS="60")
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("Undecided: ")
    assert "Undecided" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 60
    assert "2 more are" in done.stdout


def test_added_and_edited_evals_are_always_tested(versions: Versions):
    """Whatever is selected. An edited eval has no baseline."""
    versions.git("switch", "--quiet", "-c", "change")
    only = versions.project.demeanor("gate", "--json")
    assert list(rows(only.stdout)) == ["always"]
    edited = EVALS.replace("Write out.txt, usually.", "Write out.txt, please.")
    newborn = EVALS.rpartition("\n\n\n")[2].replace("usually", "newborn")
    versions.evals.write_text(f"{edited}\n\n{newborn}")
    done = versions.project.demeanor("gate", "--json")
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    assert {name: row["edit"] for name, row in found.items()} == {"always": "", "usually": "edited", "newborn": "new"}
    assert (found["always"]["past"]["nights"], found["usually"]["past"], found["newborn"]["past"]) == (3, None, None)
    wrong = versions.project.demeanor("gate", "--base", "nowhere")
    assert (wrong.returncode, "no commit 'nowhere'" in wrong.stderr) == (2, True)


def test_a_new_eval_that_can_not_run_here_leaves_the_gate_undecided(versions: Versions):
    """It is named with what it needs. One for other subjects only is skipped, as always."""
    new = '@eval_test(USUALLY_PASSES, prompt="Write.", {})\ndef {}(rig, result):\n    assert result\n'
    more = new.format('requires_env=["NOT_A_VARIABLE"]', "needy") + new.format(
        'subjects=["native:scripted"]', "elsewhere"
    )
    versions.evals.write_text(f"{EVALS}\n\n{more}")
    done = versions.project.demeanor("gate", "--json", "--subject", "writer")
    answers = {name: row["decision"] for name, row in rows(done.stdout).items()}
    assert (done.returncode, answers["needy"]["answer"]) == (3, "undecided"), done.stderr
    assert (
        answers["needy"]["reason"] == "new by this change, and not run: needs the environment variable NOT_A_VARIABLE"
    )
    assert (answers["elsewhere"]["answer"], answers["always"]["answer"]) == ("skipped", "accept")


def test_only_selected_tasks_are_planned(project: Project):
    """An expression that matches none is refused before anything runs, as `run` does."""
    versions = Versions(project)
    for name in ("greet", "wave"):
        greet(versions.folder / "tasks" / name)
    versions.commit()
    words = ("evals", "tasks", "--subject", "oracle", "--env", "bubblewrap", "--dry-run", "--json")
    done = project.demeanor("gate", *words, "-k", "gree")
    assert done.returncode == 0, done.stderr
    assert [cell["eval"] for cell in json.loads(done.stdout)["cells"]] == ["greet"]
    for command in ("gate", "run"):
        refused = project.demeanor(command, "evals", "tasks", "--subject", "oracle", "-k", "greet-me")
        assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
        assert "no eval matches" in refused.stderr
    assert not (versions.folder / "results").exists()


def test_notes_of_the_run_are_shown(project: Project):
    """For example that tasks do not run on their own images, as `run` does."""
    versions = Versions(project)
    versions.add_task()
    for command in ("gate", "run"):
        done = project.demeanor(command, "--json", "--policy", "all", "--no-build")
        assert done.returncode == 0, done.stdout + done.stderr
        assert any(note.startswith(PLAYED_IN_BUBBLEWRAP) for note in json.loads(done.stdout)["notes"]), command


def test_a_removed_eval_leaves_the_gate_undecided_until_it_is_accepted(versions: Versions):
    """A change can't turn green by deleting what it would fail; the report counts and names what is gone."""
    source = versions.folder / "evals" / "eval_a.py"
    kept, _, _ = source.read_text().partition("@eval_test( USUALLY")
    source.write_text(kept)
    done = versions.project.demeanor("gate", COLUMNS="120")
    assert done.returncode == 3, done.stdout
    assert done.stdout.startswith("Undecided: the only cell is accepted, but 1 eval was removed")
    assert "usually: was in evals/eval_a.py; to accept: --accept-removed usually" in done.stdout
    assert "1 eval collected; the base commit" in done.stdout
    assert "had 2; removed: usually" in done.stdout
    stored = json.loads((versions.folder / "results/latest/gate.json").read_text())
    assert stored["removed"] == {"usually": "evals/eval_a.py"}
    accepted = versions.project.demeanor("gate", "--accept-removed", "usually")
    assert (accepted.returncode, accepted.stdout.splitlines()[0]) == (0, "May merge: the only cell is accepted")
    runs = len(list((versions.folder / "results").glob("*/run.json")))
    for words in ((), ("--dry-run",)):
        misspelt = versions.project.demeanor("gate", "--accept-removed", "usualy", *words)
        assert (misspelt.returncode, misspelt.stdout) == (2, "")
        assert "--accept-removed: unknown removed eval or cell 'usualy'\n  → did you mean 'usually'?" in misspelt.stderr
    assert len(list((versions.folder / "results").glob("*/run.json"))) == runs
    more = ("--accept-removed", "usually", "--accept-removed", "gone_last_week")  # left over from an earlier change
    found = json.loads(versions.project.demeanor("gate", "--json", *more).stdout)
    assert found["notes"] == ["--accept-removed gone_last_week: nothing of this name was removed"]
    ran = versions.project.demeanor("run", "--policy", "all", "--trials", "1", COLUMNS="120")
    assert "1 eval collected; the last night had 2; removed: usually" in ran.stdout


def test_a_gate_says_if_it_cannot_tell_which_evals_were_removed(project: Project):
    """The base commit created evals in a loop, and there is no night that names them."""
    made = Versions(project)
    loop = "\nALL = [eval_test(USUALLY_PASSES, prompt='x', name=f'n{n}')(usually.check) for n in (1, 2)]\n"
    made.evals.write_text(EVALS + loop)
    made.commit()
    made.evals.write_text(EVALS)
    found = json.loads(project.demeanor("gate", "--json").stdout)
    assert found["notes"] == [
        "removed evals may be missing here: the names of the evals of evals/eval_a.py are known only when it runs"
    ]


def test_a_gate_of_nothing_says_so(project: Project):
    """In its first line; the exit code is configurable and, by default, undecided in CI."""
    made = Versions(project)
    project.write(
        evals__eval_a_py=EVALS.replace("USUALLY_PASSES", "USUALLY_FAILS").replace("ALWAYS_PASSES", "USUALLY_FAILS")
    )
    made.commit()
    for empty, ci, code in ((None, "", 0), (None, "1", 3), ("pass", "1", 0), ("undecided", "", 3)):
        config = (made.folder / "demeanor.toml").read_text().partition("[gate]")[0]
        project.write(demeanor_toml=config + (f'[gate]\nempty = "{empty}"\n' if empty else ""))
        done = project.demeanor("gate", CI=ci)
        assert done.stdout.startswith("Nothing was gated: no selected eval can block a merge")
        assert "every eval that ran holds" not in done.stdout
        assert "Error rates" not in done.stdout
        assert done.returncode == code
        if ci:  # a person runs everything
            assert project.demeanor("run", CI=ci).returncode == 3


def test_a_gate_says_which_cells_it_can_not_reject(project: Project):
    """After nights without a pass, further failures prove nothing: accepting them must not look like a success."""
    versions = Versions(project)
    versions.behave("f")
    versions.commit()
    first = project.demeanor("nightly", "-k", "usually", "--trials", "3")
    assert first.returncode == 1, first.stderr
    assert project.demeanor("gate", "-k", "usually").returncode == 1, "one bad night does not make failing normal"
    versions.nights(2, "-k", "usually", trials=3)
    done = project.demeanor("gate", "-k", "usually", COLUMNS="200")
    assert done.returncode == 0, done.stderr
    note = "can't be rejected by this gate, since too few trials passed at night: usually · writer (0 of 9)"
    assert note in done.stdout
    assert "rejected by this gate" in (versions.folder / "results/latest/summary.md").read_text()
    thorough = project.demeanor("gate", "-k", "usually", "--thorough", COLUMNS="200")
    assert (thorough.returncode, "can't be rejected" in thorough.stdout) == (1, False)
