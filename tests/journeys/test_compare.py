"""Is one version worse than another? Two commits, each built, tried side by side; and what the history knows."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.helpers.project import Project
from tests.journeys.decision_helpers import PLAYED_IN_BUBBLEWRAP, Versions


@pytest.fixture
def versions(project: Project) -> Versions:
    """A good main, and a branch whose agent never does what it should."""
    made = Versions(project)
    made.git("switch", "--quiet", "-c", "worse")
    made.behave("f")
    made.commit()
    return made


def outcomes(text: str) -> dict[str, tuple]:
    found = json.loads(text)["comparison"]["evals"]
    return {one["eval"]: (one["outcome"], one["base"], one["new"]) for one in found}


def test_both_commits_are_built_and_tried_side_by_side(versions: Versions):
    """The working tree is not touched, and nothing is left; the two runs can be compared again for nothing."""
    (versions.folder / "agent" / "plan").write_text("p")  # not committed, so not tried
    done = versions.project.demeanor("compare", "--base", "main", "--trials", "6", "--json")
    assert done.returncode == 1, done.stderr
    assert outcomes(done.stdout) == {name: ("regressed", [6, 6], [0, 6]) for name in ("always", "usually")}
    assert "with `make build`, on this machine as your own code, outside of any sandbox" in done.stderr
    assert "uncommitted changes" in done.stdout
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


def test_a_build_that_fails_tells_so_and_leaves_nothing(versions: Versions):
    """Before anything is tried."""
    (versions.folder / "Makefile").write_text("build:\n\t@echo no such compiler; exit 3\n")
    versions.commit()
    done = versions.project.demeanor("compare", "--base", "main")
    assert (done.returncode, versions.worktrees()) == (2, [])
    assert "exit code 2 for HEAD" in done.stderr
    assert "no such compiler" in done.stderr
    assert not (versions.folder / "results").exists()


def _hears_ctrl_c() -> None:
    """Tests that run in the background of a shell were told to ignore it, and what they start inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
@pytest.mark.parametrize("during", ["build", "trials"])
def test_whoever_stops_it_finds_no_worktree_left(versions: Versions, number: signal.Signals, during: str):
    """While it builds and while it tries; what the build started is gone too."""
    sign = versions.folder.parent / "started"
    if during == "build":
        (versions.folder / "Makefile").write_text(f"build:\n\techo $$$$ > {sign}; exec sleep 60\n")
    else:
        (versions.folder / "agent" / "agent.sh").write_text(f"#!/bin/sh\necho $$ > {sign}; exec sleep 60\n")
    versions.commit()
    process = subprocess.Popen(
        versions.project.command("compare", "--base", "HEAD~1"), cwd=versions.folder, env=versions.project.env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=_hears_ctrl_c,  # noqa: PLW1509 - one call, before any other thread
    )  # fmt: skip
    with process:
        while not (sign.exists() and sign.read_text().strip()) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        process.communicate(timeout=300)
    assert (process.returncode, versions.worktrees()) == (130, [])
    status = Path(f"/proc/{sign.read_text().strip()}/status")
    assert not status.exists() or "\nState:\tZ" in status.read_text()


def test_what_a_killed_one_left_is_removed_by_the_next(versions: Versions):
    """Its worktree tells whose it was."""
    left = versions.folder.parent / "tmp" / "demeanor-checkout-99999999-x" / "tree"
    versions.git("worktree", "add", "--detach", str(left), "main")
    done = versions.project.demeanor("compare", "--base", "main", "--trials", "1", "-k", "usually")
    assert (done.returncode, versions.worktrees()) == (0, []), done.stderr
    assert "1 underpowered" in done.stdout


def test_mistakes_are_told(versions: Versions):
    """With what to do instead."""
    for words, told in (
        (("main",), "two sides are needed"),
        (("main", "worse"), "'main' is no run, subject, branch or commit that the history knows"),
        (("--base", "nowhere"), "'nowhere' is no revision"),
        (("a", "b", "--base", "main"), "one commit is compared with it, not 2"),
    ):
        done = versions.project.demeanor("compare", *words)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_the_notes_of_both_runs_are_told_once(project: Project):
    """As those of any run are."""
    versions = Versions(project)
    versions.add_task()
    versions.commit()
    done = project.demeanor("compare", "--base", "HEAD~1", "--trials", "1", "--format", "markdown")
    assert (done.returncode, done.stdout.count(PLAYED_IN_BUBBLEWRAP)) == (0, 1), done.stdout + done.stderr


def test_tasks_need_harbor_and_no_sandbox_of_ours(project: Project):
    """A level that does not work here is no obstacle; a Harbor that is missing is told before anything is built."""
    versions = Versions(project)
    versions.add_task()
    versions.commit()
    words = ("compare", "--base", "HEAD~1", "--trials", "1", "--sandbox", "docker")
    done = project.demeanor(*words)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(versions.folder / "results")
    versions.lose_harbor()
    refused = project.demeanor(*words)
    assert (refused.returncode, "demeanor harbor install" in refused.stderr) == (2, True), refused.stderr
    assert "building" not in refused.stderr
    assert not (versions.folder / "results").exists()
    assert (versions.worktrees(), project.temporary()) == ([], [])


def test_a_harbor_of_the_working_tree_runs_the_tasks_of_both_commits(project: Project):
    """It is a tool of the comparison, as the evals are, and not a part of what is compared."""
    versions = Versions(project)
    versions.add_task()
    tools = versions.folder.parent / "tools/harbor"
    shutil.copytree(tools, versions.folder / "bin/harbor")
    config = versions.folder / "demeanor.toml"
    config.write_text(config.read_text().replace(str(tools), "./bin/harbor"))
    versions.commit()
    done = project.demeanor("compare", "--base", "HEAD~1", "--trials", "1")
    assert done.returncode == 0, done.stderr


def test_a_sandbox_that_does_not_work_here_is_told_before_anything_is_built(project: Project):
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
