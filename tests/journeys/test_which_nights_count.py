"""Nights that count for promotions and as baseline, on the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.project import Project
from tests.helpers.versions import EVALS, Versions

LOOP = """\
from demeanor import USUALLY_PASSES, eval_test


def check(rig, result):
    assert rig.workspace["out.txt"].text == "hi"


WORDS = ["one", "two"]
ALL = [eval_test(USUALLY_PASSES, prompt=f"Write {word}.", name=f"writes {word}")(check) for word in WORDS]

for word in WORDS:
    @eval_test(USUALLY_PASSES, prompt=f"Write {word} again.", name=f"again {word}")
    def again(rig, result):
        assert rig.workspace["out.txt"].text == "hi"
    ALL.append(again)

HOW = USUALLY_PASSES


@eval_test(HOW, prompt="Write it.")
def computed(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""


@pytest.fixture
def versions(project: Project) -> Versions:
    return Versions(project)


def gate_row(versions: Versions, *words: str) -> dict[str, Any]:
    """The row of `usually`."""
    done = versions.project.demeanor("gate", "--json", "--no-build", "-k", "usually", *words)
    (row,) = json.loads(done.stdout)["rows"]
    return dict(row)


def candidates(versions: Versions, *words: str) -> dict[str, dict[str, Any]]:
    done = versions.project.demeanor("promote", "--rule", "classic", "--json", *words)
    assert done.returncode == 0, done.stderr
    return {one["eval"]: one for one in json.loads(done.stdout)["candidates"]}


def test_branches_and_changes_do_not_count_and_repetitions_are_added_up(versions: Versions):
    """For a promotion and as baseline; the report says which runs were left out, and which branch it shows."""
    versions.nights(2)
    versions.night(day=versions.days)  # a second run on the same day
    versions.git("switch", "--quiet", "-c", "feature")
    versions.nights(1)
    versions.git("switch", "--quiet", "main")
    with (versions.folder / "Makefile").open("a") as file:
        file.write("# changed\n")
    versions.nights(1)
    versions.git("checkout", "--quiet", "Makefile")
    (versions.folder / "evals" / "eval_new.py").write_text(
        EVALS.replace("def always", "def a").replace("def us", "def u")
    )
    versions.nights(1)
    (versions.folder / "evals" / "eval_new.py").unlink()
    found = json.loads(versions.project.demeanor("promote", "--rule", "classic", "--json").stdout)
    assert found["nights"] == 2
    assert found["notes"] == [
        "3 nightly runs not counted: 1 on branch feature, 2 with uncommitted changes; nights are clean runs on main"
    ]
    assert found["candidates"][0]["counts"] == {"writer": [3, 3]}
    past = gate_row(versions)["past"]
    assert (past["nights"], past["passed"]) == (2, 3)
    shown = versions.project.demeanor("report", "--branch", "feature")
    assert " on feature" in shown.stdout.splitlines()[2], shown.stderr
    assert "there are no nights before this run" in shown.stdout
    unknown = versions.project.demeanor("report", "--branch", "featrue")
    assert (unknown.returncode, "did you mean 'feature'?" in unknown.stderr) == (2, True)


def test_a_repetition_does_not_hide_a_red_night(versions: Versions):
    """Not even with the repair: the day has both runs, for a promotion and as baseline."""
    versions.nights(10)
    assert candidates(versions)["usually"]["answer"] == "promote"
    versions.behave("f")
    versions.commit()
    versions.night()
    versions.behave("p")
    versions.commit()
    versions.night(day=versions.days)
    found = candidates(versions)["usually"]
    assert (found["answer"], found["counts"]) == ("wait", {"writer": [7, 8]})
    assert any("failed on writer" in one for one in found["missing"])
    assert gate_row(versions)["past"]["failed"] == 1


def test_a_night_that_will_not_count_says_so_when_it_ends(versions: Versions):
    """On another branch, with changes, with too few trials, or where git can't read the repository; which the doctor
    tells as well. Otherwise it says nothing."""

    def told(*words: str) -> str:
        done = versions.project.demeanor("nightly", "--no-build", "-k", "usually", *words, COLUMNS="300")
        return "\n".join(line for line in done.stdout.splitlines() if "night" in line or "git can't" in line)

    config = versions.folder / "demeanor.toml"
    assert "no night" not in told("--trials", "1")
    assert "not count" not in told("--trials", "1")
    config.write_text(config.read_text().replace("min_trials = 1\n", "trials = 3\n"))
    assert "it ran with uncommitted changes; nights are clean runs on main" in told()
    versions.commit()
    assert "no night for 1 cell with too few judged trials (min_trials): usually/writer" in told("--trials", "1")
    versions.git("switch", "--quiet", "-c", "feature")
    assert "does not count as a night: it ran on branch feature" in told()
    (versions.folder / ".git" / "HEAD").write_text("nonsense")
    text = told()
    assert "git can't read the repository, so the run has no commit and no branch: " in text
    assert "it ran without a commit" in text
    doctor = versions.project.demeanor("doctor")
    assert (doctor.returncode, "git can't read it" in doctor.stdout) == (1, True)


def test_a_night_with_too_few_judged_trials_does_not_count(versions: Versions):
    """By default two thirds of the configured trials; here, two of three."""
    config = versions.folder / "demeanor.toml"
    config.write_text(config.read_text().replace("min_trials = 1\n", ""))
    versions.commit()
    versions.nights(1)
    versions.nights(1, trials=2)
    usually = candidates(versions)["usually"]
    assert (usually["counts"], usually["trials"]) == ({"writer": [2, 2]}, 2)
    assert gate_row(versions)["past"]["nights"] == 1


def test_a_change_of_the_subject_is_marked_and_starts_nothing_again(versions: Versions):
    """Ten nights on main, whatever was merged in between. A comparison says so."""
    config = versions.folder / "demeanor.toml"
    versions.nights(6)
    config.write_text(config.read_text().replace("env = {", 'env = { MODE = "new",'))
    versions.commit()
    versions.nights(4)
    found = candidates(versions)["usually"]
    assert (found["answer"], found["distance"]) == ("promote", 0)
    assert [change["part"] for change in found["changes"]] == ["subject"]
    past = gate_row(versions)["past"]
    assert (past["nights"], past["left_out"], len(past["fingerprints"])) == (10, 0, 2)
    shown = versions.project.demeanor("gate", "--no-build", "-k", "usually", COLUMNS="120")
    assert "10/10 in 10 nights across ◆" in shown.stdout
    history = versions.project.demeanor("report", "--eval", "usually", COLUMNS="120")
    assert "10 of 10 in 10 runs, across ◆" in history.stdout
    versions.git("switch", "--quiet", "-c", "feature")
    config.write_text(config.read_text().replace('"new"', '"newer"'))
    versions.commit()
    versions.nights(1)
    words = ("compare", "main", "feature", "--last", "20", "--scenario", "always")
    compared = json.loads(versions.project.demeanor(*words, "--json").stdout)
    assert [one["base"] for one in compared["comparison"]["evals"]] == [[10, 10]]
    shown = versions.project.demeanor(*words, "--format", "markdown").stdout
    assert "combines 2 versions of the subject" in shown


def test_the_evidence_of_a_promotion_names_commits_branch_and_trials(versions: Versions):
    """The error rates are those of the trials that were made: one a night, not three."""
    versions.nights(5)
    versions.commit("Another")
    versions.nights(5)
    first, last = (commit[:12] for commit in reversed(versions.git("rev-list", "--all").split()))
    done = versions.project.demeanor("promote", "--rule", "classic", COLUMNS="200")
    assert f"7 trials, at least 1 per night and subject, 2 commits, {first} to {last} on main" in done.stdout
    assert "For 1 trial a night, 1 subject" in done.stdout
    one = candidates(versions)["usually"]
    assert one["branches"] == ["main"]
    assert one["error_rates"]["setting"].startswith("1 trial a night, 1 subject")
    chances = {row["rate"]: row["chance"] for row in one["error_rates"]["rows"]}
    assert 0.6 < chances[0.8] < 0.9  # three trials a night: 0.1


def test_a_promotion_by_hand_is_rejected_once_there_are_nights(versions: Versions):
    """By `validate` and by the gate, with the remedy; not without a history, and not for older evals."""
    by_hand = EVALS.replace("USUALLY_PASSES,prompt", "ALWAYS_PASSES,prompt")
    versions.evals.write_text(by_hand)
    assert versions.project.demeanor("validate").returncode == 0
    versions.evals.write_text(EVALS)
    versions.nights(1)
    assert versions.project.demeanor("validate").returncode == 0
    versions.evals.write_text(by_hand)
    checked = versions.project.demeanor("validate")
    assert checked.returncode == 1, checked.stdout
    assert "FAULT: usually: ALWAYS_PASSES without a recorded promotion: it was USUALLY_PASSES in " in checked.stdout
    assert "demeanor promote usually --apply" in checked.stdout
    done = versions.project.demeanor("gate", "--no-build", "--json")
    found = {row["eval"]: row for row in json.loads(done.stdout)["rows"]}
    assert done.returncode == 1
    assert (found["usually"]["decision"]["rule"], found["usually"]["passed"]) == ("manual_promotion", 0)
    assert "demeanor promote usually --apply" in found["usually"]["decision"]["reason"]
    assert found["always"]["decision"]["answer"] == "accept"
    versions.commit("By hand")
    versions.nights(1)
    assert versions.project.demeanor("validate").returncode == 1, "a night as ALWAYS_PASSES changes nothing"
    config = versions.folder / "demeanor.toml"
    config.write_text(config.read_text().replace("[nightly]", '[gate]\nmanual_promotion = "warn"\n\n[nightly]'))
    warned = versions.project.demeanor("validate")
    assert (warned.returncode, "warning: usually: ALWAYS_PASSES without" in warned.stdout) == (0, True)
    assert versions.project.demeanor("gate", "--no-build").returncode == 0


def test_several_names_are_promoted_together_or_not_at_all(versions: Versions):
    """One that is not ready, that can't be edited or that fails its verification leaves all files as they are."""
    second = EVALS.rpartition("\n\n\n")[2].replace("def usually", "def sometimes").replace("usually.", "sometimes.")
    versions.evals.write_text(f"{EVALS}\n\n{second}")
    versions.commit()
    versions.nights(10)
    before = versions.evals.read_text()
    results = sorted((versions.folder / "results").iterdir())
    early = versions.project.demeanor("promote", "--rule", "classic", "--apply", "usually", "always")
    assert (early.returncode, "its policy is not USUALLY_PASSES" in early.stderr) == (2, True)
    assert (versions.evals.read_text(), sorted((versions.folder / "results").iterdir())) == (before, results)
    versions.behave("fp")  # only the first trial fails, whichever eval it is of
    failed = versions.project.demeanor("promote", "--rule", "classic", "--apply", "usually", "sometimes")
    assert failed.returncode == 1, failed.stderr
    assert versions.evals.read_text() == before
    why, other = failed.stdout.splitlines()[-2:]
    assert why.startswith("2 evals not changed, because the verification failed: ")
    bad = why.rpartition(" ")[2]
    assert (
        other
        == f"  → to change the others: demeanor promote --apply {'usually' if bad == 'sometimes' else 'sometimes'}"
    )
    assert "without a recorded promotion" not in versions.project.demeanor("validate").stdout
    versions.behave("p")
    done = versions.project.demeanor("promote", "--rule", "classic", "--apply", "usually", "sometimes")
    assert done.returncode == 0, done.stderr
    assert versions.evals.read_text() == before.replace("USUALLY_PASSES,prompt", "ALWAYS_PASSES,prompt")
    assert versions.project.demeanor("validate").returncode == 0
    elsewhere = str(versions.folder.parent / "elsewhere.db")  # CI has the nights, but not the decisions
    imported = versions.project.demeanor("store", "import", "results", DEMEANOR_STORE=elsewhere)
    assert imported.returncode == 0, imported.stderr
    assert versions.project.demeanor("validate", DEMEANOR_STORE=elsewhere).returncode == 0
    (versions.folder / "promotions.json").unlink()
    assert versions.project.demeanor("validate", DEMEANOR_STORE=elsewhere).returncode == 1


def test_evals_of_a_loop_are_promoted_together(versions: Versions):
    """They share one argument. An eval whose policy is computed is not offered."""
    versions.evals.write_text(LOOP)
    versions.commit()
    versions.nights(10)
    found = candidates(versions)
    assert {name: one["answer"] for name, one in found.items()} == {
        "writes one": "promote",
        "writes two": "promote",
        "again one": "promote",
        "again two": "promote",
        "computed": "wait",
    }
    assert "the policy is computed" in found["computed"]["missing"][0]
    done = versions.project.demeanor("promote", "--rule", "classic", "--apply", "writes one", "again two")
    assert done.returncode == 0, done.stdout + done.stderr
    text = versions.evals.read_text()
    assert text == LOOP.replace("[eval_test(USUALLY", "[eval_test(ALWAYS").replace(
        "@eval_test(USUALLY", "@eval_test(ALWAYS"
    ).replace("import USUALLY_PASSES", "import ALWAYS_PASSES, USUALLY_PASSES")
    assert versions.project.demeanor("validate").returncode == 0, "all four are recorded"


def test_an_eval_of_a_loop_waits_for_the_others(versions: Versions):
    """One bad eval holds back those that share its argument."""
    versions.evals.write_text(LOOP.partition("for word in WORDS:\n")[0])
    versions.commit()
    versions.nights(9)
    versions.nights(1, "-k", "one")
    found = candidates(versions)
    assert (found["writes one"]["answer"], found["writes two"]["answer"]) == ("wait", "wait")
    assert found["writes one"]["missing"] == ["it shares its policy argument with evals that are not ready: writes two"]


def test_removed_evals_are_found_with_a_night_that_counts(versions: Versions):
    """A nightly run on a branch, or with uncommitted changes, does not say which evals the project has."""
    versions.nights(1)
    only_there = versions.folder / "evals" / "eval_there.py"
    only_there.write_text(EVALS.replace("def always", "def there").replace("def us", "def also_us"))
    versions.git("switch", "--quiet", "-c", "feature")
    versions.commit()
    versions.nights(1)
    versions.git("switch", "--quiet", "main")
    ran = versions.project.demeanor("run", "--no-build", "--policy", "all", "--trials", "1", COLUMNS="120")
    assert "2 evals collected; the last night had 2\n" in ran.stdout
    loop = "\nALL = [eval_test(USUALLY_PASSES, prompt='x', name=f'n{n}')(usually.check) for n in (1, 2)]\n"
    versions.evals.write_text(EVALS + loop)
    versions.commit()  # the base commit, which can't tell the names of its evals
    versions.evals.write_text(EVALS)
    gated = versions.project.demeanor("gate", "--no-build", COLUMNS="120")
    assert "2 evals collected; the last night had 2\n" in gated.stdout
