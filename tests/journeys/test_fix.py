"""What broke is found, mended by a fixer, proven and applied; and a fixer that cheats is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.conftest import Project
from tests.journeys.decisions_lab import PLAYED_IN_BUBBLEWRAP, Versions
from tests.journeys.fix_lab import CONFIG, HELP, MENDS, Patient
from tests.journeys.toy_agent import ToyAgent

IDLE_FIXER = """
[agents.idle]
adapter = "command"
command = ["true", "{prompt}"]

[fix]
fixer = "idle"
allowed = ["agent/**"]
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Patient:
    """Made once: it takes two nights."""
    return Patient(Project(tmp_path_factory.mktemp("patient") / "project"))


@pytest.fixture
def patient(broken: Patient) -> Iterator[Patient]:
    """As it was broken, whoever worked on it before."""
    yield broken
    broken.recover()


def test_what_broke_is_found_mended_proven_and_applied(patient: Patient):
    """The user's tree is touched by --apply only; trials of the change are no part of the history."""
    project = patient.project
    kept = project.demeanor("history", "reads_before_editing", "--kind", "all", "--json").stdout
    done = patient.mended_by(MENDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Fixed: 1 eval after 1 round; 2 other evals held")
    assert "0/3, 0 % [0–56]  3/3, 100 % [44–100]  0.016" in done.stdout
    assert "chance" not in done.stdout
    assert "The prompt no longer said to read a file first." in done.stdout
    assert patient.untouched()
    again = patient.mended_by(MENDS, "reads_before_editing", "--apply", "--json", "--config", "quick.toml")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == patient.report()
    assert patient.report()["applied"]
    assert any("chance alone could well explain the rise (p = 0.25)" in note for note in patient.report()["notes"])
    assert patient.git("status", "--porcelain") == "M  prompts/system.md\n"
    assert "+Read every file before you change it" in patient.git("diff", "--cached")
    assert project.demeanor("history", "reads_before_editing", "--kind", "all", "--json").stdout == kept
    patient.build()
    assert project.demeanor("run", "-k", "reads", "--policy", "all", "--trials", "1").returncode == 0


def test_a_look_tells_what_differs_and_where_it_lies(patient: Patient):
    """No fixer is asked, and nothing is tried."""
    done = patient.project.demeanor("fix", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "-Read a file before you change it, and keep everything in it" in done.stdout
    assert "+Change files at once" in done.stdout
    assert "| `system prompt` | `prompts/system.md:3-12` | 95 % |" in done.stdout
    assert "| `tool delete_file` | `tools/tools.json:11` | 100 % |" in done.stdout
    assert "They part at the first step." in done.stdout
    assert "It is evidence, not an instruction" in done.stdout
    kept = patient.last()
    assert {path.name for path in kept.rglob("*.*")} == {"brief.md"} | {
        f"1-reads_before_editing-{name}" for name in ("failing.txt", "passing.txt", "sent.md", "log.txt")
    }
    assert "debug: turn 1: write_file" in (kept / "evidence" / "1-reads_before_editing-log.txt").read_text()
    found = json.loads(patient.project.demeanor("fix", "reads_before_editing", "--dry-run", "--json").stdout)
    assert found["allowed"] == ["prompts/system.md", "tools/tools.json"]
    for run in (found["run"], f"results/{found['run']}"):
        again = json.loads(patient.project.demeanor("fix", run, "--dry-run", "--json").stdout)
        assert (again["run"], again["evals"]) == (found["run"], ["reads_before_editing"])
    assert patient.untouched()


def test_any_agent_can_be_the_fixer(patient: Patient):
    """Our own, with a model behind the gateway: its cost is counted, its last words are the cause."""
    done = patient.project.demeanor("fix", "--fixer", "native:doctor", "--config", "quick.toml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    (only,) = report["rounds"]
    assert only["root_cause"] == "The cause: nobody said that files are to be read first."
    assert 0 < only["fixer"]["cost_usd"] == report["spent"]["cost_usd"]
    shown = patient.project.demeanor("trace", "--run", str(patient.last() / "round-1" / "fixer"))
    assert "write_file [edit] → ok" in shown.stdout
    assert patient.untouched()


READ_LESS = """
replace(evals, 'assert rig.calls.of_kind("read")', 'assert True or rig.calls.of_kind("read")')
"""
WRITE_LESS = """
replace(evals, 'assert rig.workspace["port.txt"].text ==', 'assert True or rig.workspace["port.txt"].text ==')
"""
CHEATS = {
    "edits the eval": (
        "quick.toml",
        READ_LESS,
        "refused: eval: evals/eval_toy.py: changed, and it belongs to an eval",
    ),
    "special-cases by a file's name": (
        "quick.toml",
        'replace(prompt, HASTY, "When port.txt is to be changed, read it first.\\n")',
        "new text quotes the eval reads_before_editing: of its files: the name 'port.txt'",
    ),
    "edits outside": (
        "quick.toml",
        MENDS + 'replace(pathlib.Path("agent/main.py"), "MOST_TURNS = 12", "MOST_TURNS = 13")',
        "refused: outside: agent/main.py: changed, not allowed",
    ),
    "deletes a check": (
        "evals.toml",
        MENDS + WRITE_LESS.replace("assert True or", "_ ="),
        "refused: checks: eval_toy.py: reads_before_editing: its check had 2 asserts and has 1",
    ),
    "hollows a check out": (
        "evals.toml",
        MENDS + READ_LESS + WRITE_LESS,
        "refused: self-test: eval_toy.py: reads_before_editing: vacuous: an agent that does nothing passes",
    ),
    "edits nothing but evals": (
        "evals.toml",
        'replace(evals, "must be 9090", "must be 9090. Read it first")',
        "nothing but evals was changed",
    ),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_fixer_that_cheats_is_refused(patient: Patient, cheat: str):
    """Visibly, and before anything of it is tried."""
    config, script, told = CHEATS[cheat]
    done = patient.mended_by(script, "--apply", "--config", config)
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stdout.startswith("Refused: 1 eval after 1 round")
    assert told in " ".join(done.stdout.split()), done.stdout
    (told_round,) = patient.report()["rounds"]
    assert (told_round["cells"], told_round["patch_file"], patient.report()["applied"]) == ([], "", False)
    assert patient.untouched()


FAILURES = {
    "does nothing": ("", "the fixer changed nothing"),
    "mends the wrong thing": ('replace(prompt, "in one sentence", "in two sentences")', "0 of 1 passed"),
    "crashes": (MENDS + "sys.exit(3)", "the fixer did not end well"),
    "breaks the build": ('replace(pathlib.Path("tools/tools.json"), "}", "")', "can't be built"),
    "breaks something else": (
        'replace(prompt, HASTY, "Read every file, and ask before you change it.\\n")',
        "worse than before: saves_the_note on toy:brain",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_fixer_that_fails_is_told_so(patient: Patient, failure: str):
    """Nothing is applied."""
    script, told = FAILURES[failure]
    done = patient.mended_by(script, "--apply", "--config", "quick.toml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("Not fixed")
    assert told in " ".join(done.stdout.split()), done.stdout
    assert patient.untouched()


def test_an_eval_may_be_changed_where_it_loses_nothing(patient: Patient):
    """With a word of warning."""
    script = MENDS + 'replace(evals, "A file is read before", "A file must be read before")'
    done = patient.mended_by(script, "--config", "evals.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "before and after are not judged by the same evals" in done.stdout
    assert patient.untouched()


def test_each_round_sees_what_the_last_one_achieved(patient: Patient):
    """The first is refused, the second knows why."""
    script = f"""
if "Round 1: refused" in brief and "port.txt" in brief.split("Round 1")[1].split("Where the model")[0]:
    {MENDS.strip().replace(chr(10), chr(10) + "    ")}
else:
    replace(prompt, HASTY, "Read port.txt before you change it.\\n")
"""
    done = patient.mended_by(script, "--rounds", "3", "--config", "quick.toml", "--out", "results")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one["outcome"] for one in patient.report()["rounds"]] == ["refused", "fixed"]
    assert "Fixed: 1 eval after 2 rounds" in done.stdout


def test_a_description_of_a_tool_is_mended_on_several_subjects(project: Project):
    """By a rule that asks for trials until it knows; the guard suite is all other evals."""
    toy = Patient(project, rules='rule = "screen"\nguard = "all"\nsubjects = ["toy:brain", "toy:mind"]\n')
    toy.configure(f'\n[models.mind]\nscript = "{toy.world}/model.py"\n')
    toy._replace(toy.prompt, "Change files at once, without looking at them", "Read every file before you change", "x")
    toy.broken = toy.break_deleting()
    toy.night()
    script = 'replace(pathlib.Path("tools/tools.json"), "Delete a file.", "Delete a file. Prefer this to a command.")'
    done = toy.mended_by(script, "deletes_with_its_tool")
    assert done.returncode == 0, done.stdout + done.stderr
    (last,) = toy.report()["rounds"]
    assert [(cell["subject"], cell["after"]["passed"]) for cell in last["cells"]] == [("toy:brain", 3), ("toy:mind", 3)]
    assert len(last["guard"]) == 6
    assert toy.untouched()


def test_what_passes_already_is_not_mended(patient: Patient):
    """The fixer is not even asked."""
    patient.rates(told=1.0, untold=1.0)
    done = patient.mended_by("raise SystemExit(1)")
    assert (done.returncode, patient.report()["outcome"], patient.report()["rounds"]) == (0, "passes", [])
    assert done.stdout.startswith("Nothing to fix: 1 eval")


def test_a_patch_is_applied_whole_or_not_at_all(patient: Patient):
    """Where the file was changed meanwhile, all stays as it is; the patch is kept."""
    mine = patient.prompt.read_text() + "\nMine.\n"
    patient.prompt.write_text(mine)
    done = patient.mended_by(MENDS, "--apply", "--config", "quick.toml")
    assert done.returncode == 2
    assert "the patch was not applied: there are uncommitted changes in prompts/system.md" in done.stderr
    assert done.stdout.startswith("Fixed")
    assert (patient.prompt.read_text(), patient.report()["applied"]) == (mine, False)
    patch = patient.report()["rounds"][0]["patch_file"]
    patient.git("checkout", "--", "prompts/system.md")
    patient.git("apply", "--index", patch)
    assert "Read every file" in patient.prompt.read_text()


def _hears_ctrl_c() -> None:
    """Tests that run in the background of a shell were told to ignore it, and what they start inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
@pytest.mark.parametrize("during", ["work", "build"])
def test_whoever_stops_it_finds_nothing_left(patient: Patient, number: signal.Signals, during: str):
    """While the fixer works, and while its change is built: no worktree, no process, no change."""
    script, config, at_work = {
        "work": ("import time\ntime.sleep(61.25)\n", "quick.toml", b"fixer.py\0# Mend what broke"),
        "build": (MENDS, "slow.toml", b"sleep\x0061.25"),
    }[during]
    (patient.world / "fixer.py").write_text(HELP + script)
    process = subprocess.Popen(
        patient.project.command("fix", "--config", config), cwd=patient.folder, env=patient.project.env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_hears_ctrl_c,  # noqa: PLW1509 - one call, before any other thread
    )  # fmt: skip
    with process:
        while not (found := _with_words(at_work, below=process.pid)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(number)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert "stopped; what was done until then is kept in" in said
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in found)
    assert patient.untouched()


def _with_words(words: bytes, *, below: int) -> list[int]:
    """The processes below one that were started with these words."""
    found, generation = [], [below]
    while generation:
        children = [pid for parent in generation for pid in _children(parent)]
        found += [pid for pid in children if words in _read(f"/proc/{pid}/cmdline")]
        generation = children
    return found


def _children(pid: int) -> list[int]:
    return [int(word) for task in Path(f"/proc/{pid}/task").glob("*") for word in _read(f"{task}/children").split()]


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def test_mistakes_are_told_before_anything_is_spent(project: Project):
    """With what to do instead."""
    assert "there is no commit that could be mended" in project.demeanor("fix").stderr
    toy = ToyAgent(project)
    assert "no run is kept yet" in project.demeanor("fix").stderr
    project.demeanor("nightly", "--trials", "1")
    for words, told in (
        ((), "no eval was rejected in run"),
        (("reads_before_editin",), "did you mean 'reads_before_editing'?"),
        (("reads_before_editing",), "no run that is kept has a failing trial of 'reads_before_editing'"),
    ):
        done = project.demeanor("fix", *words)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    toy.break_reading()
    project.demeanor("nightly", "--trials", "1")
    assert "nobody is named to mend it" in project.demeanor("fix").stderr
    assert "unknown agent 'nobody'" in project.demeanor("fix", "--fixer", "nobody").stderr
    toy.configure(CONFIG.format(python="python3", world=toy.world) + 'allowed = ["../x"]\n')
    assert "is outside the repository" in project.demeanor("fix").stderr
    assert not (toy.folder / "results" / "fixes").exists()


@pytest.mark.parametrize(
    ("config", "budget", "rounds"),
    [("priced.toml", "0.01", []), ("priced.toml", "9", ["undecided"]), ("unguarded.toml", "4.6", ["undecided"])],
    ids=["at the start", "in the guard suite", "between two passes"],
)
def test_a_spent_budget_ends_it(patient: Patient, config: str, budget: str, rounds: list[str]):
    """The exit code says that nothing was decided, though what was tried may have passed."""
    done = patient.mended_by(MENDS, "--budget-usd", budget, "--config", config, "--jobs", "1", "--apply")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "spent" in " ".join(done.stdout.split())
    assert [one["outcome"] for one in patient.report()["rounds"]] == rounds
    assert patient.untouched()


def test_the_notes_of_the_runs_that_prove_it_are_told(project: Project):
    """Once, however many runs there were."""
    versions = Versions(project)
    versions.add_task(reward=0)
    project.write(demeanor_toml=(versions.folder / "demeanor.toml").read_text() + IDLE_FIXER)
    versions.commit()
    versions.nights(1, trials=3)
    done = project.demeanor("fix", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    notes = json.loads(done.stdout)["notes"]
    assert [note.startswith(PLAYED_IN_BUBBLEWRAP) for note in notes].count(True) == 1, notes


def test_what_its_trials_need_is_looked_for_before_anything_is_built(project: Project):
    """Harbor for tasks, and the sandbox that the fixer works in."""
    versions = Versions(project)
    versions.add_task(reward=0)
    project.write(demeanor_toml=(versions.folder / "demeanor.toml").read_text() + IDLE_FIXER)
    versions.commit()
    versions.nights(1, trials=3)
    walled = project.demeanor("fix", "--sandbox", "docker")
    assert (walled.returncode, "the sandbox 'docker'" in walled.stderr) == (2, True), walled.stderr
    versions.lose_harbor()
    missing = project.demeanor("fix")
    assert (missing.returncode, "demeanor harbor install" in missing.stderr) == (2, True), missing.stderr
    assert "building" not in walled.stderr + missing.stderr
    assert not (versions.folder / "results/fixes").exists()
    assert (versions.worktrees(), project.temporary()) == ([], [])
