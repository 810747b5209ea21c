"""`demeanor compare`: two commits, built and tested side by side, or two stored runs."""

from __future__ import annotations

import json
import shutil
import signal

import pytest

from tests.helpers.processes import alive
from tests.helpers.project import Project
from tests.helpers.versions import PLAYED_IN_BUBBLEWRAP, Versions
from tests.journeys.test_survival import until


@pytest.fixture
def versions(project: Project) -> Versions:
    """A good main branch, and a branch with a broken agent."""
    made = Versions(project)
    made.git("switch", "--quiet", "-c", "worse")
    made.behave("f")
    made.commit()
    return made


def outcomes(text: str) -> dict[str, tuple]:
    found = json.loads(text)["comparison"]["evals"]
    return {one["eval"]: (one["outcome"], one["base"], one["new"]) for one in found}


def test_both_commits_are_built_and_tested_side_by_side(versions: Versions):
    """The working tree is not changed, no worktree is left, and the two runs can be compared again for free."""
    (versions.folder / "agent" / "plan").write_text("p")  # not committed, so not tried
    evals = versions.folder / "evals" / "eval_a.py"
    evals.write_text(evals.read_text().replace("def always", "def forever"))  # not committed, but tried
    done = versions.project.demeanor("compare", "--base", "main", "--trials", "6", "--json")
    assert done.returncode == 1, done.stderr
    assert outcomes(done.stdout) == {name: ("regressed", [6, 6], [0, 6]) for name in ("forever", "usually")}
    assert "with `make build`, on this machine, outside of any sandbox" in done.stderr
    notes = json.loads(done.stdout)["notes"]
    assert notes == [
        "both sides were tried with the evals of the working tree",
        "main does not have: forever",
        "only main has, so not tried: always",
        "HEAD does not have: forever",
        "only HEAD has, so not tried: always",
        "apart from evals, uncommitted changes were not tried: the commits themselves were run",
    ]
    assert versions.worktrees() == []
    assert (versions.folder / "agent" / "plan").read_text() == "p"
    again = versions.project.demeanor("compare", "main", "worse", COLUMNS="60")
    assert again.returncode == 1, again.stderr
    assert again.stdout.startswith("Regressed: 2 regressed of 2 cells")
    assert max(map(len, again.stdout.splitlines())) <= 60
    runs = json.loads(done.stdout)
    new, base = runs["new"]["runs"][0], runs["base"]["runs"][0]
    turned = versions.project.demeanor("compare", new, f"results/{base}", "--format", "markdown")
    assert (turned.returncode, turned.stdout.count("| improved |")) == (0, 2)


def test_what_looks_worse_is_looked_at_again(project: Project):
    """By twice as many fresh trials, in runs of their own, unless the mean fell in any case."""
    versions = Versions(project)
    versions.git("switch", "--quiet", "-c", "unlucky")
    versions.behave("fpfpfpp")  # `always` fails three of its first four trials, `usually` none
    versions.commit()
    done = project.demeanor("compare", "--base", "main", "--trials", "4", "--json")
    assert done.returncode == 3, done.stderr
    assert "looking again: fresh trials of 1 cell that looked worse" in done.stderr
    found = json.loads(done.stdout)
    always, usually = (
        next(cell for cell in found["comparison"]["evals"] if cell["eval"] == name) for name in ("always", "usually")
    )
    assert (always["base"], always["new"], always["again"]) == ([4, 4], [1, 4], [[8, 8], [8, 8]])
    assert (always["outcome"], usually["again"]) == ("underpowered", None)
    assert [len(found[side]["runs"]) for side in ("base", "new")] == [2, 2]
    assert versions.worktrees() == []


def test_a_failed_build_is_an_error_and_leaves_nothing(versions: Versions):
    """Before the first trial."""
    (versions.folder / "Makefile").write_text("build:\n\t@echo no such compiler; exit 3\n")
    versions.commit()
    done = versions.project.demeanor("compare", "--base", "main")
    assert (done.returncode, versions.worktrees()) == (2, [])
    assert "exit code 2 for HEAD" in done.stderr
    assert "no such compiler" in done.stderr
    assert not (versions.folder / "results").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["ctrl-c", "term", "hup"])
@pytest.mark.parametrize("during", ["build", "trials"])
def test_a_stopped_compare_leaves_no_worktree(versions: Versions, number: signal.Signals, during: str):
    """During the build and during trials; processes of the build are gone too."""
    sign = versions.folder.parent / "started"
    if during == "build":
        (versions.folder / "Makefile").write_text(f"build:\n\techo $$$$ > {sign}; exec sleep 60\n")
    else:
        (versions.folder / "agent" / "agent.sh").write_text(f"#!/bin/sh\necho $$ > {sign}; exec sleep 60\n")
    versions.commit()
    process = versions.project.start("compare", "--base", "HEAD~1")
    until(lambda: process.poll() is not None or (sign.exists() and sign.read_text().strip() != ""))
    process.send_signal(number)
    assert (process.wait(), versions.worktrees()) == (130, [])
    assert not alive(sign.read_text().strip())


def test_a_killed_process_leaves_no_worktree(versions: Versions):
    """Although nothing of it can clean up."""
    sign = versions.folder.parent / "started"
    (versions.folder / "agent" / "agent.sh").write_text(f"#!/bin/sh\necho $$ > {sign}; exec sleep 60\n")
    versions.commit()
    process = versions.project.start("compare", "--base", "HEAD~1")
    until(lambda: process.poll() is not None or (sign.exists() and sign.read_text().strip() != ""))
    assert versions.worktrees() != []
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: versions.worktrees() == [] and list((versions.folder.parent / "tmp").glob("demeanor-*")) == [])


def test_worktrees_of_a_killed_process_are_removed_by_the_next(versions: Versions):
    """The worktree contains the id of its process."""
    left = versions.folder.parent / "tmp" / "demeanor-checkout-99999999-x" / "tree"
    versions.git("worktree", "add", "--detach", str(left), "main")
    done = versions.project.demeanor("compare", "--base", "main", "--trials", "1", "-k", "usually")
    assert (done.returncode, versions.worktrees()) == (3, []), done.stderr
    assert done.stdout.startswith("Can't tell: ")
    assert "the mean pass rate may have fallen by up to 100.0 points, and 5 are too many" in done.stdout


def test_errors(versions: Versions):
    """With a remedy."""
    for words, expected in (
        (("main",), "two sides are needed"),
        (("main", "worse"), "'main' is not a run, stretch of nights, subject, branch or commit in the history"),
        (("--base", "nowhere"), "'nowhere' is not a revision"),
        (("a", "b", "--base", "main"), "expected at most one other commit, got 2"),
    ):
        done = versions.project.demeanor("compare", *words)
        assert (done.returncode, expected in done.stderr) == (2, True), done.stderr


def test_tasks_need_harbor_and_no_sandbox(project: Project):
    """An unsupported sandbox level does not matter; a missing Harbor is an error before the build. Notes of both runs
    are shown once."""
    versions = Versions(project)
    versions.add_task()
    versions.commit()
    words = ("compare", "--base", "HEAD~1", "--trials", "1", "--sandbox", "docker", "--allow-identical")
    done = project.demeanor(*words, "--format", "markdown")
    assert (done.returncode, done.stdout.count(PLAYED_IN_BUBBLEWRAP)) == (3, 1), done.stdout + done.stderr
    shutil.rmtree(versions.folder / "results")
    versions.lose_harbor()
    refused = project.demeanor(*words)
    assert (refused.returncode, "demeanor harbor install" in refused.stderr) == (2, True), refused.stderr
    assert "building" not in refused.stderr
    assert not (versions.folder / "results").exists()
    assert (versions.worktrees(), project.temporary()) == ([], [])


def test_a_harbor_of_the_working_tree_runs_the_tasks_of_both_commits(project: Project):
    """Like the evals, it is a tool of the comparison and not compared itself."""
    versions = Versions(project)
    versions.add_task()
    tools = versions.folder.parent / "tools/harbor"
    shutil.copytree(tools, versions.folder / "bin/harbor")
    config = versions.folder / "demeanor.toml"
    config.write_text(config.read_text().replace(str(tools), "./bin/harbor"))
    versions.commit()
    done = project.demeanor("compare", "--base", "HEAD~1", "--trials", "1")
    assert done.returncode == 3, done.stderr


def test_an_unsupported_sandbox_is_an_error_before_the_build(project: Project):
    """For evals that are not tasks."""
    versions = Versions(project)
    versions.add_task()  # and no container engine answers
    project.write(demeanor_toml=(versions.folder / "demeanor.toml").read_text().replace('"tasks"', '"evals"'))
    for words in (("compare", "--base", "HEAD~1"), ("bisect", "usually", "--good", "HEAD~1")):
        done = project.demeanor(*words, "--sandbox", "docker", "--subject", "writer")
        assert (done.returncode, "the sandbox 'docker'" in done.stderr) == (2, True), done.stderr
        assert "building" not in done.stderr
    assert not (versions.folder / "results").exists()
    assert (versions.worktrees(), project.temporary()) == ([], [])


READERS = """\
subjects = ["env", "argument", "reads"]
[agents.env]
adapter = "command"
command = ["sh", "-c", 'cat "$PROMPT" > out.txt', "{prompt}"]
env = { PROMPT = "{project}/prompts/system.md" }
[agents.argument]
adapter = "command"
command = ["sh", "-c", 'cat "$1" > out.txt', "{prompt}", "./prompts/more.md"]
[agents.reads]
adapter = "command"
command = ["sh", "-c", 'cat "${1#--data=}" > out.txt', "{prompt}", "--data={project}/data/x.txt"]
reads = ["data"]
"""
READS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Read.")
def reads(rig, result):
    assert rig.workspace["out.txt"].text == "usual"
"""


def test_relative_files_of_an_agent_are_those_of_each_commit(project: Project):
    """Variables, prompt files and `reads`, each used by one agent; in a sandbox that shows nothing else."""
    versions = Versions(project)
    files = dict.fromkeys(("prompts__system_md", "prompts__more_md", "data__x_txt"), "usual")
    project.write(demeanor_toml=READERS, evals__eval_a_py=READS, **files)
    versions.commit()
    project.write(**dict.fromkeys(files, "other"))
    versions.commit()
    done = project.demeanor("compare", "--base", "HEAD~1", "--trials", "4", "--json")
    cells = json.loads(done.stdout)["comparison"]["evals"]
    assert {cell["subject"]: (cell["outcome"], cell["base"], cell["new"]) for cell in cells} == dict.fromkeys(
        ("env", "argument", "reads"), ("regressed", [4, 4], [0, 4])
    ), done.stderr


def test_the_same_subject_on_both_sides_is_an_error(project: Project):
    """Nothing is run and no table is shown, unless the user wants to see how much the results vary."""
    versions = Versions(project)
    config = (versions.folder / "demeanor.toml").read_text()
    versions.git("tag", "first")
    (versions.folder / "README").write_text("changed")
    versions.commit()
    elsewhere = versions.folder.parent / "elsewhere"
    shutil.copytree(versions.folder / "bin", elsewhere)
    project.write(demeanor_toml=config.replace("./bin/agent", str(elsewhere / "agent")))
    for words, told in (
        (("compare", "--base", "HEAD"), "HEAD and HEAD are the same commit"),
        (("compare", "--base", "first"), "writer is the same on both sides: no path that the agent is started with"),
        (("bisect", "usually", "--good", "first"), "writer is the same in every commit"),
    ):
        done = project.demeanor(*words)
        assert (done.returncode, done.stdout) == (2, ""), done.stdout
        assert told in done.stderr, done.stderr
    assert (versions.worktrees(), (versions.folder / "results").exists()) == ([], False)
    allowed = project.demeanor("compare", "--base", "first", "--allow-identical", "--trials", "1", "--json")
    assert allowed.returncode == 3, allowed.stderr
    found = json.loads(allowed.stdout)
    runs = found["base"]["runs"][0], found["new"]["runs"][0]
    again = project.demeanor("compare", *runs)
    assert again.returncode == 2
    assert "are the same: writer with fingerprint" in again.stderr


def test_results_are_not_compared_with_themselves(versions: Versions):
    """By whatever name: a difference could not be found. The agent is one of the project, so it may change."""
    ran = versions.project.demeanor("run", "--trials", "1", "--policy", "all")
    (run,) = (path.name for path in (versions.folder / "results").glob("2*"))
    for names in ((run, run), ("writer", "writer"), (run, "latest")):
        done = versions.project.demeanor("compare", *names)
        assert (done.returncode, done.stdout) == (2, ""), ran.stdout + done.stdout
        assert f"are the same trials, of 1 run: {run}" in done.stderr


def test_a_subject_that_uses_no_file_of_a_commit_is_left_out(versions: Versions):
    """The others are compared."""
    config = versions.folder / "demeanor.toml"
    other = '[agents.other]\nadapter = "command"\ncommand = ["true", "{prompt}"]\n'
    config.write_text(config.read_text().replace('["writer"]', '["writer", "other"]') + other)
    done = versions.project.demeanor("compare", "--base", "main", "--trials", "6", "--json")
    assert outcomes(done.stdout)["always"] == ("regressed", [6, 6], [0, 6]), done.stderr
    assert {one["subject"] for one in json.loads(done.stdout)["comparison"]["evals"]} == {"writer"}
    assert "other is not compared: it uses no file of a commit" in done.stdout


def test_two_subjects_of_one_run_are_compared(project: Project):
    """The newest run that has both; two names of the same settings are an error."""
    versions = Versions(project)
    agent = '[agents.{}]\nadapter = "command"\ncommand = ["sh", "-c", "{}", "{{prompt}}"]\n'
    settings = {"mine-a": "printf hi > out.txt", "mine-b": "true", "copy-a": "printf hi > out.txt"}
    agents = "".join(agent.format(name, script) for name, script in settings.items())
    project.write(demeanor_toml='sandbox = "none"\n' + agents)
    everyone = [word for name in settings for word in ("--subject", name)]
    ran = json.loads(project.demeanor("run", "--json", "--trials", "6", "--policy", "all", *everyone).stdout)
    done = project.demeanor("compare", "mine-a", "mine-b", "--json")
    assert done.returncode == 1, done.stderr
    assert outcomes(done.stdout) == {name: ("regressed", [6, 6], [0, 6]) for name in ("always", "usually")}
    report = json.loads(done.stdout)
    assert report["base"]["runs"] == report["new"]["runs"] == [ran["run"]["id"]]
    copies = project.demeanor("compare", "mine-a", "copy-a")
    assert copies.returncode == 2
    assert "[agents.mine-a] and [agents.copy-a] have the same settings" in copies.stderr
    assert versions.worktrees() == []


def test_a_run_of_both_sides_counts_for_one_of_them(project: Project):
    """A commit is compared with the other runs of its branch, and a run of two names is refused."""
    made = Versions(project)
    made.behave("f")
    made.commit("worse")
    first = made.night()
    made.behave("p")
    made.commit("better")
    made.nights(3)
    found = json.loads(project.demeanor("compare", "HEAD~1", "main", "--json").stdout)
    assert {one["eval"]: (one["base"], one["new"]) for one in found["comparison"]["evals"]} == dict.fromkeys(
        ("always", "usually"), ([0, 1], [3, 3])
    )
    assert f"1 run of both sides counted only for the base: {first}" in found["notes"]
    assert first not in found["new"]["runs"]


def test_known_failures_are_not_part_of_the_pass_rate(project: Project):
    """They are shown separately, and each format shows the policy."""
    made = Versions(project)
    known_bad = made.evals.read_text().replace("ALWAYS_PASSES", "USUALLY_FAILS").replace("def always", "def never")
    made.evals.write_text(known_bad.replace('"out.txt"].text == "hi"', '"nowhere.txt"]', 1))
    made.commit("evals")
    made.nights(1)
    made.behave("f")
    made.commit("worse")
    made.nights(1)
    words = ("compare", "HEAD~1", "HEAD")
    found = json.loads(project.demeanor(*words, "--json").stdout)["comparison"]
    assert [found["suite"][key] for key in ("base", "new", "evals")] == [1.0, 0.0, 1]
    assert [found["known_bad"][key] for key in ("base", "new", "evals")] == [0.0, 0.0, 1]
    assert {one["eval"]: one["policy"] for one in found["evals"]} == {
        "never": "USUALLY_FAILS", "usually": "USUALLY_PASSES",
    }  # fmt: skip
    shown = project.demeanor(*words, COLUMNS="120").stdout
    assert "pass rate 100 % → 0 %" in shown
    assert "known bad 0 % → 0 %, +0.0 points [-79.3 to +79.3], mean over 1 eval USUALLY_FAILS, not part of the" in shown
    assert "| `never` | usually fails |" in project.demeanor(*words, "--format", "markdown").stdout
