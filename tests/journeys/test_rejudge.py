"""`demeanor rejudge`: judge stored trials again after a check, a snapshot or a policy was edited."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.import_samples import a_night
from tests.helpers.project import Project
from tests.helpers.versions import Versions

EVALS = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Raise the port in port.txt to 9090.", trials=3,
           files={"port.txt": "port = 8080\\n", "other.txt": "left alone\\n"})
def looks_first(rig, result):
    assert rig.calls.count() >= 1
    assert rig.workspace.git.commits == ()
"""
SCENARIO = """\
policy = "USUALLY_PASSES"
prompt = "Set the port."
trials = 1
name = "sets_the_port"
[[checks]]
check = "command_succeeds"
argv = ["grep", "-q", "9090", "port.txt"]
[[checks]]
check = "unchanged_except"
patterns = ["port.txt"]
[[checks]]
check = "file_equals"
path = "deep/kept.txt"
text = "kept"
"""
SCRIPT = """\
def play(turn):
    hasty = turn.chance(0.5)
    steps = [] if hasty else [lambda: turn.call("read", path="port.txt")]
    steps.append(lambda: turn.call("edit", path="port.txt", content="port = 9090\\n"))
    return steps[turn.done]() if turn.done < len(steps) else "The port is 9090."
"""
CONFIG = """\
subjects = ["native:hasty"]
sandbox = "none"
captures = "captures"
[models.hasty]
script = "hasty.py"
"""
FILE = "evals/eval_port.py"


@pytest.fixture(scope="module")
def ran_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Four trials that passed, some of which read before they edited; the model script is deleted."""
    project = Project(tmp_path_factory.mktemp("once") / "project")
    project.write(evals__eval_port_py=EVALS, hasty_py=SCRIPT, demeanor_toml=CONFIG)
    project.write(evals__sets__scenario_toml=SCENARIO)
    project.write(evals__sets__template__port_txt="port = 80\n", evals__sets__template__deep__kept_txt="kept")
    done = project.demeanor("run", "--policy", "all", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    (project.folder / "hasty.py").unlink()
    return project


@pytest.fixture
def ran(ran_once: Project, tmp_path: Path) -> Project:
    """A copy of it that a test may edit: captures do not depend on a path."""
    return ran_once.copy_to(tmp_path / "project")


def run_folder(project: Project) -> Path:
    """The folder of the run."""
    return (project.folder / "results" / "latest").resolve()


def ledger(project: Project) -> list[dict[str, Any]]:
    """The ledger of the run."""
    return [json.loads(line) for line in (run_folder(project) / "ledger.jsonl").read_text().splitlines()]


def edit(project: Project, old: str, new: str, file: str = FILE) -> None:
    """Edit a file of the author."""
    path = project.folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def rejudged(project: Project, *words: str) -> dict[str, Any]:
    """The report as JSON."""
    done = project.demeanor("rejudge", *words, "--json")
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["exit_code"] == done.returncode
    return found


def changed(found: dict[str, Any]) -> set[tuple[str, int, str, str]]:
    """The trials whose verdict changed."""
    return {
        (one["eval"], one["number"], one["before"]["outcome"], one["after"]["outcome"])
        for one in found["trials"]
        if one["after"] and one["after"]["outcome"] != one["before"]["outcome"]
    }


def refusals(found: dict[str, Any]) -> set[tuple[str, str]]:
    """Why trials could not be judged again, by eval."""
    return {(one["eval"], one["refusal"]) for one in found["trials"] if one["after"] is None}


def test_unedited_evals_are_judged_as_before(ran: Project):
    """Commands, git and files: the workspace is restored, although everything was moved."""
    found = rejudged(ran, "--sandbox", "bubblewrap")
    assert len(found["trials"]) == 4
    assert changed(found) == set()
    assert refusals(found) == set()
    assert [one["after"] for one in found["trials"]] == [one["before"] for one in found["trials"]]
    assert ran.temporary() == []


def test_an_edited_check_changes_the_right_verdicts(ran: Project):
    """Those of the trials that did not read; the stored run stays unchanged."""
    stored = {path: path.read_bytes() for path in run_folder(ran).rglob("*") if path.is_file()}
    edit(ran, "rig.calls.count()", 'rig.calls.of_kind("read").count()')
    hasty = {one["number"] for one in ledger(ran) if one["eval"] == "looks_first" and "read_file" not in one["chain"]}
    assert 0 < len(hasty) < 3
    found = rejudged(ran)
    assert changed(found) == {("looks_first", number, "pass", "fail") for number in hasty}
    assert refusals(found) == set()
    shown = ran.demeanor("rejudge", COLUMNS="140")
    assert f"{len(hasty)} changed, {4 - len(hasty)} unchanged" in shown.stdout
    assert "looks_first: yes → no" in shown.stdout
    assert {path: path.read_bytes() for path in run_folder(ran).rglob("*") if path.is_file()} == stored


def test_an_edited_command_check_runs_in_the_workspace_as_it_was_left(ran: Project):
    """In the sandbox, as in a run."""
    edit(ran, '"9090", "port.txt"', '"9091", "port.txt"', "evals/sets/scenario.toml")
    found = rejudged(ran, "sets_the_port", "--sandbox", "bubblewrap")
    assert changed(found) == {("sets_the_port", 1, "pass", "fail")}
    assert {one["eval"] for one in found["trials"]} == {"sets_the_port"}
    assert found["exit_code"] == 1


def test_a_trial_of_an_edited_scenario_is_refused(ran: Project):
    """It tested something else; the other eval is judged. --as-it-was judges it anyway."""
    for name, old, new, file, part in (
        ("looks_first", "left alone", "left behind", FILE, "files"),
        ("looks_first", "trials=3,", "trials=3, params={'effort': 'high'},", FILE, "params"),
        ("sets_the_port", "port = 80", "port = 81", "evals/sets/template/port.txt", "files"),
        ("looks_first", "to 9090.", "to 9091.", FILE, "prompt"),
    ):
        edit(ran, old, new, file)
        found = rejudged(ran, name)
        ((refused, refusal),) = refusals(found)
        assert (refused, found["exit_code"]) == (name, 3)
        assert f"its scenario has been edited since ({part})" in refusal
        if part != "prompt":
            edit(ran, new, old, file)
    found = rejudged(ran)
    assert {name for name, _ in refusals(found)} == {"looks_first"}
    assert {one["eval"] for one in found["trials"] if one["after"]} == {"sets_the_port"}
    assert found["exit_code"] == 3
    edit(ran, "port = 80", "port = 81", "evals/sets/template/port.txt")
    again = rejudged(ran, "--as-it-was")
    assert len(again["trials"]) == 4
    assert changed(again) == refusals(again) == set()


def test_as_it_was_restores_the_starting_files_of_that_time(ran: Project):
    """A check sees what the agent saw, although the template has changed."""
    edit(ran, "left alone", "left behind")
    edit(ran, "rig.calls.count() >= 1", 'rig.workspace["other.txt"].text == "left alone\\n"')
    assert changed(rejudged(ran, "looks_first", "--as-it-was")) == set()


def test_a_changed_policy_changes_the_decision_and_no_verdict(ran: Project):
    """The same verdicts are accepted by the new policy."""
    edit(ran, "rig.calls.count()", 'rig.calls.of_kind("read").count()')
    usually = rejudged(ran, "looks_first")
    edit(ran, "USUALLY_PASSES, prompt", "USUALLY_FAILS, prompt")
    edit(ran, "import USUALLY_PASSES", "import USUALLY_FAILS")
    known = rejudged(ran, "looks_first")
    assert changed(known) == changed(usually)
    (cell,) = known["cells"]
    assert (cell["tally_before"]["policy"], cell["tally_after"]["policy"]) == ("USUALLY_PASSES", "USUALLY_FAILS")
    assert known["exit_code"] == 0
    assert "usually → usually fails" in ran.demeanor("rejudge", "looks_first", COLUMNS="140").stdout


def test_stored_verdicts_are_beside_the_run_and_not_in_the_history(ran: Project):
    """They are not a run of their own, but report and trace can read them."""
    before = ran.demeanor("report", "--eval", "looks_first", "--kind", "all", "--json").stdout
    assert json.loads(before)
    edit(ran, "rig.calls.count()", 'rig.calls.of_kind("read").count()')
    done = ran.demeanor("rejudge", "--keep")
    (folder,) = (run_folder(ran) / "rejudged").iterdir()
    assert f"kept in {folder.relative_to(ran.folder)}" in done.stdout
    note = json.loads((folder / "run.json").read_text())["run"]
    original = json.loads((run_folder(ran) / "run.json").read_text())["run"]
    assert note["rejudges"] == original["uid"] != note["uid"]
    assert note["demeanor"]
    assert ran.demeanor("store", "import", "results").stdout.count("attempts") == 1
    assert ran.demeanor("report", "--eval", "looks_first", "--kind", "all", "--json").stdout == before
    assert ran.demeanor("store", "import", str(folder)).returncode == 2
    triage = ran.demeanor("report", str(folder), "--failures")
    assert "looks_first · native:hasty" in triage.stdout, triage.stderr
    trace = ran.demeanor("trace", "looks_first", "--run", str(folder))
    assert "write_file" in trace.stdout, trace.stderr
    assert ran.demeanor("rejudge", str(folder)).returncode == 2


def test_captures_of_the_capture_store_are_used(ran: Project):
    """The run's folder does not need them."""
    (run_folder(ran) / "captures.jsonl.gz").unlink()
    shutil.rmtree(run_folder(ran) / "starts")
    found = rejudged(ran)
    assert changed(found) == refusals(found) == set()
    shutil.rmtree(ran.folder / "captures")
    gone = rejudged(ran)
    assert all("its capture" in refusal and "is not in" in refusal for _, refusal in refusals(gone))
    assert len(refusals(gone)) == 4


def test_missing_starting_files_are_created_again_if_they_are_the_same(ran: Project):
    """And only then."""
    shutil.rmtree(run_folder(ran) / "starts")
    shutil.rmtree(ran.folder / "captures")
    assert refusals(rejudged(ran)) == set()
    edit(ran, "left alone", "left behind")
    ((name, refusal),) = refusals(rejudged(ran, "--as-it-was"))
    assert name == "looks_first"
    assert "its starting files were too large to store" in refusal


def test_a_removed_eval_is_reported(ran: Project):
    """The other eval is still judged."""
    edit(ran, "def looks_first", "def looks_before")
    found = rejudged(ran)
    assert refusals(found) == {("looks_first", "no eval with this name is defined any more")}
    assert len(found["trials"]) == 4


def test_the_latest_runs_of_an_eval_are_judged(ran: Project):
    """Each run separately; an unknown name is an error with a suggestion."""
    ran.write(hasty_py=SCRIPT)
    ran.demeanor("run", f"{FILE}::looks_first", "--trials", "1", "--seed", "1")
    ran.demeanor("run", "evals/sets", "--trials", "1", "--seed", "1")
    assert len(rejudged(ran, "looks_first")["trials"]) == 1
    both = rejudged(ran, "looks_first", "--last", "2")
    assert (len(both["runs"]), len(both["trials"]), len(both["cells"])) == (2, 4, 2)
    (ran.folder / FILE).rename(ran.folder / "evals/eval_moved.py")
    assert "say where they are now with --evals PATH" in ran.demeanor("rejudge", "looks_first").stderr
    assert refusals(rejudged(ran, "looks_first", "--evals", "evals")) == set()
    unknown = ran.demeanor("rejudge", "looks_frist")
    assert unknown.returncode == 2
    assert "did you mean 'looks_first'?" in unknown.stderr


SNAPSHOT = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="What does a.txt say?", files={"a.txt": "x"}, trials=1,
           snapshot="snapshots/{subject}.md")
def prompt_is_known(rig, result):
    pass
"""


def test_an_edited_snapshot_is_compared_with_the_stored_request(project: Project):
    """Without running the agent again."""
    project.write(evals__eval_prompt_py=SNAPSHOT)
    assert project.demeanor("run", "--update-snapshots").returncode == 0
    assert changed(rejudged(project)) == set()
    edit(project, "Read a file before", "Never read a file before", "evals/snapshots/native-scripted.md")
    found = rejudged(project)
    assert changed(found) == {("prompt_is_known", 1, "pass", "fail")}
    assert "Never read a file before" in json.dumps(found)


BROKEN = """\
subjects = ["fine"]
attempts = 1
[agents.fine]
adapter = "command"
command = ["sh", "-c", "cat kept.txt", "{prompt}"]
pass_env = ["PASSED_VALUE"]
"""
SECRET = "a-rather-long-secret-0123456789"
QUIET = f"""\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Work.", files={{"kept.txt": "{SECRET}"}}, trials=1)
def works(rig, result):
    assert True

def no_files(workspace):
    raise OSError("no files today")

@eval_test(ALWAYS_PASSES, prompt="Work.", setup=no_files, trials=1)
def has_no_files(rig, result):
    assert True
"""


def test_void_trials_stay_void_and_files_with_secrets_are_not_stored(project: Project):
    """Neither is judged, and both are reported."""
    project.write(evals__eval_works_py=QUIET, demeanor_toml=BROKEN)
    project.demeanor("run", PASSED_VALUE=SECRET)
    assert not (run_folder(project) / "starts").exists()
    found = rejudged(project)
    assert found["notes"] == ["1 trial failed before there was anything to judge: still void"]
    ((_, refusal),) = refusals(found)
    assert "the starting files contain a secret" in refusal


def test_imported_trials_have_no_captures(project: Project):
    """They are listed with that reason."""
    night = a_night(project.folder / "night")
    assert project.demeanor("store", "import", str(night)).returncode == 0
    name = project.demeanor("store", "import", str(night)).stdout.split()[0]
    found = rejudged(project, name)
    assert found["exit_code"] == 3
    assert {refusal for _, refusal in refusals(found)} == {
        "its run was imported from vitest, and imported runs have no captures"
    }


READER = """\
subjects = ["mine"]
[agents.mine]
adapter = "command"
command = ["sh", "-c", "cat log.jsonl", "{{prompt}}"]
output = "jsonl"
[agents.mine.events]
tool = "{tool}"
arguments = "with"
"""
READS = """\
from demeanor import ALWAYS_PASSES, eval_test

LOG = '{"did": "read_file", "with": {"path": "a"}}'

@eval_test(ALWAYS_PASSES, prompt="Read.", files={"log.jsonl": LOG}, trials=1)
def reads(rig, result):
    assert rig.calls.named("read_file").count() == 1
"""


def test_a_corrected_reader_reads_stored_logs(project: Project):
    """The agent's own log is read again by the adapter as it is configured now."""
    project.write(evals__eval_reads_py=READS, demeanor_toml=READER.format(tool="name"))
    assert project.demeanor("run").returncode != 0
    project.write(demeanor_toml=READER.format(tool="did"))
    (flip,) = changed(rejudged(project))
    assert flip[3] == "pass"


def test_tasks_are_judged_again_without_harbor_and_without_a_sandbox(project: Project):
    """The reward is stored, and no program runs."""
    versions = Versions(project)
    versions.add_task()
    assert project.demeanor("run", "--policy", "all", "--trials", "1").returncode == 0
    versions.lose_harbor()
    done = project.demeanor("rejudge", "latest", "--sandbox", "docker")
    assert done.returncode == 0, done.stdout + done.stderr
