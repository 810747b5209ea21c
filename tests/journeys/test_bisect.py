"""`demeanor bisect`: an agent's prompt lost a sentence, or its program broke, in one of many commits."""

from __future__ import annotations

import json
import shutil
import signal
from typing import Any

from tests.helpers.project import Project
from tests.helpers.toy_agent import ToyAgent
from tests.helpers.versions import PLAYED_IN_BUBBLEWRAP, Versions
from tests.journeys.test_survival import until

EVAL = "reads_before_editing"
FLAKY_AGENT = """\
#!/bin/sh
# Writes out.txt in as many of ten trials as the plan says, by the seed of the trial.
if [ "$(($2 % 10))" -lt "$(cat "$(dirname "$0")/plan")" ]; then printf hi > out.txt; fi
"""


def bisect(project: Project, *words: str, name: str = EVAL) -> tuple[int, dict[str, Any], str]:
    """Exit code, report and standard error."""
    done = project.demeanor("bisect", name, "--sandbox", "none", "--json", *words)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def history(versions: Versions, number: int, *, breaks_at: int, plan: str = "f") -> list[str]:
    """Return `number` commits, the oldest first, of an agent that is a shell script. The one at `breaks_at` changes its
    plan, the others something harmless."""
    commits = [versions.git("rev-parse", "HEAD").strip()]
    for index in range(1, number):
        if index == breaks_at:
            versions.behave(plan)
        (versions.folder / "remark.txt").write_text(str(index))
        versions.commit(f"Change {index}")
        commits.append(versions.git("rev-parse", "HEAD").strip())
    return commits


def suspects(report: dict[str, Any]) -> list[str]:
    return [one["commit"]["hash"] for one in report["suspects"]]


def tried(report: dict[str, Any]) -> dict[str, list[int]]:
    """Commit → trials that passed and failed."""
    commits = report["commits"]
    return {one["commit"]["hash"]: [one["passed"], one["failed"]] for one in commits if one["passed"] or one["failed"]}


def test_the_commit_is_found_and_a_second_bisect_is_free(project: Project):
    """It uses the stored trials of the first."""
    toy = ToyAgent(project)
    commits = toy.history(9, breaks_at=6)
    code, report, stderr = bisect(project, "--good", commits[0])
    assert (code, report["outcome"], suspects(report)) == (0, "found", [commits[6]]), stderr
    assert report["confidence"] >= 0.95
    assert (report["before"]["passed"], report["after"]["passed"]) == (report["before"]["judged"], 0)
    assert tried(report)[commits[0]] == [3, 0]
    assert report["built"] < len(commits)
    assert stderr.count("building") == report["built"]  # each commit once, however often it is visited
    assert toy.worktrees() == []
    done = project.demeanor("bisect", EVAL, "--good", commits[0], "--bad", "main", "--sandbox", "docker")  # not used
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Found: {commits[6][:12]} changed {EVAL} (")
    assert f"spent   0 trials, {report['trials']} reused; 0 builds" in done.stdout
    assert "commit  " + commits[6][:12] + " Shorter prompt" in done.stdout
    trace = next(line for line in done.stdout.splitlines() if "demeanor trace" in line).split()[2:]
    shown = project.demeanor(*trace)
    assert (shown.returncode, "read_file" in shown.stdout) == (0, True), shown.stderr
    config = toy.folder / "demeanor.toml"
    config.write_text('faults = ["429@99"]\n' + config.read_text())  # another question; asked again it is the same one
    for reused in (0, 1):
        code, report, stderr = bisect(project, "--good", commits[0], "--max-trials", "1")
        assert (code, report["trials"], report["reused"]) == (3, 1, reused), stderr


def test_flaky_behaviour_can_be_bisected(project: Project):
    """The agent passes nine of ten trials before the change, and two of ten after it."""
    versions = Versions(project)
    (versions.folder / "agent/agent.sh").write_text(FLAKY_AGENT)
    config = versions.folder / "demeanor.toml"
    config.write_text(config.read_text().replace('"{prompt}"', '"{prompt}", "{seed}"'))
    versions.behave("9")
    versions.commit()
    commits = history(versions, 7, breaks_at=3, plan="2")
    versions.commit("\x1b[31mred\x1b[0m")
    words = ("--good", commits[0], "--seed", "2", "--trials", "3", "--jobs", "3")
    code, report, stderr = bisect(project, *words, name="usually")
    assert (code, suspects(report)) == (0, [commits[3]]), stderr
    assert "\x1b" not in stderr
    made = tried(report)
    assert sum(map(sum, made.values())) == report["trials"]
    assert any(passed and failed for passed, failed in made.values())  # some commits passed and failed
    seeds = [json.loads(run.read_text())["run"]["seed"] for run in project.folder.glob("results/*/run.json")]
    assert len(set(seeds)) == len(made)  # so that the trials of two commits do not depend on each other


def test_a_commit_that_does_not_build_is_skipped(project: Project):
    """As with `git bisect skip`: it can't be distinguished from the next one."""
    versions = Versions(project)
    commits = history(versions, 3, breaks_at=99)
    makefile = versions.folder / "Makefile"
    works = makefile.read_text()
    makefile.write_text("build:\n\techo no such compiler >&2; exit 1\n")
    versions.commit("Broken build")
    makefile.write_text(works)
    broken, culprit, last = history(versions, 3, breaks_at=1)
    code, report, stderr = bisect(project, "--good", commits[0], name="usually")
    assert (code, suspects(report)) == (0, [broken, culprit]), stderr
    found = {one["commit"]["hash"]: one for one in report["commits"]}
    assert "exit code 2" in found[broken]["skipped"]
    assert found[last]["failed"] >= 3
    assert versions.worktrees() == []
    code, _, stderr = bisect(project, "--good", broken, name="usually")
    assert (code, "no such compiler" in stderr, versions.worktrees()) == (2, True, [])


def test_void_trials_are_not_evidence(project: Project):
    """The model of a commit can't be reached."""
    toy = ToyAgent(project)
    config, model = toy.folder / "demeanor.toml", toy.world / "model.py"
    config.write_text("attempts = 1\n" + config.read_text())
    model.write_text(
        model.read_text()
        + "\n\nplain = play\n\n\ndef play(turn):\n"
        + "    assert not instructed(turn, 'unspeakable')\n    return plain(turn)\n"
    )
    commits = toy.history(3, breaks_at=99)
    text = toy.prompt.read_text()
    toy.prompt.write_text(text + "\nSay the unspeakable.\n")
    lost = toy.commit("Not to be answered")
    toy.prompt.write_text(text)
    culprit = toy.break_reading()
    code, report, stderr = bisect(project, "--good", commits[0], "--trials", "3")
    assert (code, suspects(report)) == (0, [lost, culprit]), stderr
    found = {one["commit"]["hash"]: one for one in report["commits"]}
    assert (found[lost]["passed"], found[lost]["failed"], report["voided"] > 0) == (0, 0, True)
    assert "void" in found[lost]["skipped"]


def test_equal_ends_are_reported(project: Project):
    """With possible causes and their own exit code."""
    versions = Versions(project)
    versions.behave("f")
    versions.commit()
    commits = history(versions, 4, breaks_at=99)
    done = project.demeanor("bisect", "usually", "--good", commits[0], "--trials", "10")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("Good and bad do not differ (")
    assert "the good end fails too: choose an older commit for --good" in done.stdout


def test_a_bisect_that_reached_its_limit_can_be_continued(project: Project):
    """The current version of the eval is used for every commit; an edited eval starts again."""
    versions = Versions(project)
    commits = history(versions, 9, breaks_at=6)
    words = ("--good", commits[0])
    code, first, stderr = bisect(project, *words, "--max-trials", "7", name="usually")
    assert (code, first["outcome"], first["trials"]) == (3, "undecided", 7), stderr
    assert "stopped after 7 trials" in first["notes"][-1]
    code, second, stderr = bisect(project, *words, name="usually")
    assert (code, suspects(second), second["reused"]) == (0, [commits[6]], 7), stderr
    versions.evals.write_text(versions.evals.read_text().replace('== "hi"', '== "h" + "i"'))
    code, third, stderr = bisect(project, *words, "--max-trials", "3", name="usually")
    assert (code, third["reused"]) == (3, 0), stderr


def test_trials_of_other_runs_count_unless_the_subject_was_another(project: Project):
    """Here the agent was not rebuilt: the trials at the last commit used the agent of the first one."""
    toy = ToyAgent(project)
    commits = toy.history(4, breaks_at=2)
    words = ("run", "-k", "reads", "--policy", "all", "--trials", "3", "--sandbox", "none")
    assert project.demeanor(*words).returncode == 1
    code, report, stderr = bisect(project, "--good", commits[0], "--max-trials", "3")
    assert (code, report["reused"], tried(report)) == (3, 3, {commits[0]: [3, 0], commits[3]: [0, 3]}), stderr
    toy.git("checkout", "--quiet", commits[0])
    toy.build()
    toy.git("checkout", "--quiet", "main")
    assert project.demeanor(*words, "--no-build").returncode == 0
    code, report, stderr = bisect(project, "--good", commits[0], "--trials", "3")
    assert (code, suspects(report)) == (0, [commits[2]]), stderr
    assert tried(report)[commits[3]][0] == 0
    assert any("3 earlier trials ignored: the subject has changed since then" in note for note in report["notes"])


def test_ctrl_c_leaves_no_worktree_and_loses_no_trial(project: Project):
    """While an agent runs."""
    versions = Versions(project)
    sign = project.folder.parent / "started"
    program = versions.folder / "agent/agent.sh"
    waits = f"if [ -d {sign} ]; then touch {sign}/now; exec sleep 60; fi\n"
    program.write_text(program.read_text().replace("plan=", f"{waits}plan=", 1))
    versions.commit()
    commits = history(versions, 9, breaks_at=6)
    code, first, stderr = bisect(project, "--good", commits[0], "--max-trials", "6", name="usually")
    assert (code, first["trials"]) == (3, 6), stderr
    sign.mkdir()
    process = project.start("bisect", "usually", "--json", "--good", commits[0])
    until(lambda: process.poll() is not None or (sign / "now").exists())
    process.send_signal(signal.SIGINT)
    assert (process.wait(), versions.worktrees()) == (130, [])
    report = json.loads(project.printed("stdout"))
    assert (report["reused"], report["trials"], report["outcome"]) == (6, 0, "undecided")
    (sign / "now").unlink()
    sign.rmdir()
    code, last, stderr = bisect(project, "--good", commits[0], name="usually")
    assert (code, suspects(last), last["reused"]) == (0, [commits[6]], 6), stderr


def test_errors(project: Project):
    """Before the first build."""
    toy = ToyAgent(project)
    commits = toy.history(3, breaks_at=1)
    for words, message in (
        (("--good", "nowhere"), "'nowhere' is not a revision"),
        (("--good", "HEAD"), "both are"),
        (("--good", "HEAD", "--bad", commits[0]), "the bad one is older than the good one"),
        (("--good", commits[0], "--subject", "tay:brain"), "did you mean 'toy'?"),
        (("--good", commits[0], "--confidence", "2"), "expected a rate between 0 and 1"),
    ):
        done = project.demeanor("bisect", EVAL, *words)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    done = project.demeanor("bisect", "reads_before_edit", "--good", commits[0])
    assert (done.returncode, "did you mean 'reads_before_editing'?" in done.stderr) == (2, True)
    assert not (project.folder / "results").exists()


def test_trials_of_tasks_are_reused_and_need_harbor_and_no_sandbox(project: Project):
    """The notes of its runs are shown, as for any run. An unsupported sandbox level does not matter; a missing Harbor
    is an error before the build."""
    versions = Versions(project)
    versions.add_task()
    versions.commit()
    words = ("bisect", "greet", "--good", "HEAD~1", "--sandbox", "docker", "--trials", "10", "--json")
    done = project.demeanor(*words)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert [note.startswith(PLAYED_IN_BUBBLEWRAP) for note in report["notes"]].count(True) == 1, report["notes"]
    again = json.loads(project.demeanor(*words).stdout)
    assert (again["reused"], again["trials"]) == (report["trials"], 0)
    shutil.rmtree(versions.folder / "results")
    versions.lose_harbor()
    refused = project.demeanor(*words)
    assert (refused.returncode, "demeanor harbor install" in refused.stderr) == (2, True), refused.stderr
    assert "building" not in refused.stderr
    assert not (versions.folder / "results").exists()
    assert (versions.worktrees(), project.temporary()) == ([], [])
