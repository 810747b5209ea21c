"""The build command of the configuration: `run`, `gate` and `nightly` build the working tree before they test it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.helpers.processes import alive
from tests.helpers.project import Project
from tests.helpers.versions import MAKEFILE, Versions

COMMANDS = (("run", "--trials", "1"), ("gate",), ("nightly", "--trials", "1"))


class Builds:
    """A project whose Makefile counts its builds, outside of the project."""

    def __init__(self, project: Project) -> None:
        self.versions = Versions(project)
        self.project = project
        self.folder = project.folder
        self.list = self.folder.parent / "builds"
        self.makefile(MAKEFILE)
        self.versions.commit()
        subprocess.run(["rm", "-r", "bin"], cwd=self.folder, check=True)

    def makefile(self, text: str) -> None:
        """Set the rule of the build."""
        (self.folder / "Makefile").write_text(text.replace("build:\n", f"build:\n\t@echo x >> {self.list}\n"))

    def behave(self, plan: str) -> None:
        """Change the sources of the agent without building it."""
        (self.folder / "agent" / "plan").write_text(plan)

    @property
    def count(self) -> int:
        """How often the project was built."""
        return self.list.read_text().count("x") if self.list.exists() else 0

    @property
    def runs(self) -> list[Path]:
        """The folders of the runs, oldest first."""
        return sorted(path for path in self.folder.glob("results/2*"))

    def run(self, *words: str, **env: str) -> int:
        """Run one eval once; returns the exit code."""
        return self.project.demeanor("run", "--trials", "1", "-k", "always", *words, **env).returncode


@pytest.fixture
def builds(project: Project) -> Builds:
    """A project that was never built."""
    return Builds(project)


@pytest.mark.parametrize("words", COMMANDS, ids=[words[0] for words in COMMANDS])
def test_this_commit_is_built_and_tested_by_one_command(builds: Builds, words: tuple[str, ...]):
    """Once per run, whatever the number of trials, and not again while nothing changes; the output is in the run."""
    first = builds.project.demeanor(*words)
    assert (first.returncode, builds.count) == (0, 1), first.stdout + first.stderr
    assert "building the working tree with `make build`, on this machine, outside of any sandbox" in first.stderr
    again = builds.project.demeanor(*words)
    assert (again.returncode, builds.count) == (0, 1), again.stderr
    assert "not built again: the working tree is unchanged since `make build`" in again.stderr
    builds.behave("f")
    worse = builds.project.demeanor(*words)
    assert (worse.returncode, builds.count) == (1, 2), worse.stdout + worse.stderr
    logs = [(run / "build.log").read_text() for run in builds.runs]
    assert len(logs) == 3
    assert ["not built again for this run" in log for log in logs] == [False, True, False]
    assert all(log.startswith("$ make build") and "cp agent/agent.sh bin/agent" in log for log in logs)


def test_files_that_only_the_build_creates_may_be_named_in_the_configuration(builds: Builds):
    """In `reads`, also when a commit is compared; a file that is missing after the build is an error."""
    config = builds.folder / "demeanor.toml"
    config.write_text(config.read_text() + 'reads = ["bin/plan"]\n')
    builds.versions.commit()
    done = builds.project.demeanor("compare", "--base", "HEAD~1", "--trials", "1", "-k", "always", "--allow-identical")
    assert done.returncode == 3, done.stderr
    assert builds.run() == 0
    config.write_text(config.read_text().replace("bin/plan", "bin/plum"))
    kept = builds.runs
    wrong = builds.project.demeanor("run")
    assert wrong.returncode == 2
    assert "agents.writer.reads[0]: " in wrong.stderr
    assert "bin/plum does not exist" in wrong.stderr
    config.write_text(config.read_text().replace("bin/plum", "../plum"))
    assert builds.project.demeanor("run", "--dry-run").returncode == 2
    assert builds.runs == kept


def test_json_output_stays_json(builds: Builds):
    """The messages go to standard error, the output of the build to the run folder."""
    done = builds.project.demeanor("run", "--trials", "1", "--json")
    assert json.loads(done.stdout)["results"]


def test_everything_that_may_change_the_agent_is_built(builds: Builds):
    """Commits, uncommitted and untracked files, a deleted program, and one that was built from other sources."""
    assert (builds.run(), builds.count) == (0, 1)
    (builds.folder / "agent" / "new.txt").write_text("x")
    assert (builds.run(), builds.count) == (0, 2)
    builds.versions.commit()
    assert (builds.run(), builds.count) == (0, 3)
    subprocess.run(["rm", "-r", "bin"], cwd=builds.folder, check=True)
    assert (builds.run(), builds.count) == (0, 4)
    assert (builds.run(), builds.count) == (0, 4)
    builds.versions.behave("f")  # built by hand, as the fifth
    builds.behave("p")
    assert (builds.run(), builds.count) == (0, 6)
    config = builds.folder / "demeanor.toml"
    config.write_text(config.read_text().replace('["make", "build"]', '["make", "-s", "build"]'))
    assert (builds.run(), builds.count) == (0, 7)


def test_a_build_that_writes_files_that_git_does_not_ignore(builds: Builds):
    """They can't be told from edits during the build, so it is built again once; then everything is the same."""
    (builds.folder / ".gitignore").write_text("results/\n__pycache__/\n")
    builds.versions.commit()
    assert [builds.run() or builds.count for _ in range(3)] == [1, 2, 2]


def test_without_git_every_run_builds(builds: Builds):
    """There is nothing to compare."""
    subprocess.run(["rm", "-r", ".git"], cwd=builds.folder, check=True)
    assert [builds.run() or builds.count for _ in range(2)] == [1, 2]


@pytest.mark.parametrize("words", COMMANDS, ids=[words[0] for words in COMMANDS])
def test_a_failed_build_is_an_error_and_leaves_no_run(builds: Builds, words: tuple[str, ...]):
    """The output is shown without secrets, and the tree counts as not built, even if it is restored."""
    assert builds.run() == 0
    good = (builds.folder / "Makefile").read_text()
    builds.makefile("build:\n\t@echo no such compiler $$OPENAI_API_KEY; exit 3\n")
    kept = builds.runs
    done = builds.project.demeanor(*words, OPENAI_API_KEY="sk-proj-a8fX3kQ92mZpL0vR")
    assert done.returncode == 2
    assert "build = 'make build': exit code 2 for the working tree" in done.stderr
    assert "no such compiler" in done.stderr
    assert "sk-proj" not in done.stderr
    assert "--no-build" in done.stderr
    assert builds.runs == kept
    (builds.folder / "Makefile").write_text(good)
    assert (builds.run(), builds.count) == (0, 3)


def test_the_build_command_is_shown_as_a_shell_takes_it(builds: Builds):
    """Its words are quoted, so several commands in one list are seen as such."""
    config = builds.folder / "demeanor.toml"
    text = config.read_text()
    assert 'build = ["make", "build"]' in text
    config.write_text(text.replace('["make", "build"]', '["sh", "-c", "make build && true"]'))
    done = builds.project.demeanor("run", "--trials", "1", "-k", "always")
    assert "with `sh -c 'make build && true'`, on this machine" in done.stderr, done.stderr
    config.write_text(text.replace('["make", "build"]', '["make clean", "make build"]'))
    done = builds.project.demeanor("run", "--trials", "1", "-k", "always")
    assert done.returncode == 2
    assert "'make clean' 'make build'" in done.stderr, done.stderr
    assert 'it is one program with its arguments; to run several: ["sh", "-c", "… && …"]' in done.stderr


def test_the_first_run_of_a_project_that_does_not_build_leaves_nothing(builds: Builds):
    """Not even a results folder; a command that can't be started is named."""
    config = builds.folder / "demeanor.toml"
    config.write_text(config.read_text().replace('"make"', '"no-such-make"'))
    done = builds.project.demeanor("run")
    assert (done.returncode, "can't start it: No such file" in done.stderr) == (2, True), done.stderr
    assert not (builds.folder / "results").exists()
    assert builds.project.temporary() == []


@pytest.mark.parametrize("words", COMMANDS, ids=[words[0] for words in COMMANDS])
def test_nothing_is_built_without_trials_or_with_no_build(builds: Builds, words: tuple[str, ...]):
    """A dry run prints the plan; --no-build tests what is there; an agent that is not there can't be started."""
    assert builds.project.demeanor(*words, "--dry-run").returncode == 0
    assert builds.count == 0
    assert builds.project.demeanor(*words, "--no-build").returncode == 3
    subprocess.run(["make", "--silent", "build"], cwd=builds.folder, check=True)
    builds.behave("f")
    assert (builds.project.demeanor(*words, "--no-build").returncode, builds.count) == (0, 1)
    assert not list(builds.folder.glob("results/2*/build.log"))


def test_a_resumed_run_is_built_too(builds: Builds):
    """Unless --no-build says otherwise, whatever the first part of the run said."""
    assert builds.run("--no-build") == 3
    assert builds.run("--resume", "latest", "--no-build") == 3
    assert builds.count == 0
    done = builds.project.demeanor("run", "--resume", "latest")
    assert (done.returncode, builds.count, len(builds.runs)) == (0, 1, 1), done.stderr
    more = builds.project.demeanor("run", "--resume", "latest", "--trials", "2")
    assert (more.returncode, builds.count) == (0, 1), more.stderr
    assert (builds.runs[0] / "build.log").read_text().count("$ make build") == 2


def test_files_that_the_build_changes_do_not_make_the_run_dirty(builds: Builds):
    """The run tested the commit."""
    builds.makefile(MAKEFILE + "\techo 2 > version\n")
    (builds.folder / "version").write_text("1\n")
    builds.versions.commit()
    assert builds.run() == 0
    assert json.loads((builds.runs[0] / "run.json").read_text())["run"]["dirty"] is False


def _hears_ctrl_c() -> None:
    """Restore the default: background jobs of a shell ignore SIGINT, and subprocesses inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["ctrl-c", "term", "hup"])
def test_a_stopped_build_leaves_no_process_and_no_run(builds: Builds, number: signal.Signals):
    """As if the command had not been started; not even a daemon in its own session, when Demeanor returns."""
    sign = builds.folder.parent / "started"
    daemon = f'setsid sh -c "echo \\$$\\$$ > {sign}.new; mv {sign}.new {sign}; exec sleep 1000" &'
    builds.makefile(f"build:\n\t{daemon} sleep 1000\n")
    with subprocess.Popen(
        builds.project.command("run"), cwd=builds.folder, env=builds.project.env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=_hears_ctrl_c,  # noqa: PLW1509 - one call, before any other thread
    ) as process:  # fmt: skip
        while not (sign.exists() and sign.read_text().strip()) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        process.communicate(timeout=300)
    assert (process.returncode, builds.runs, builds.project.temporary()) == (130, [], [])
    assert not alive(sign.read_text().strip())


def test_runs_at_the_same_time_build_once(builds: Builds):
    """The second one waits for the first, and finds the tree built."""
    words = builds.project.command("run", "--trials", "1", "-k", "always")
    both = [
        subprocess.Popen(
            words, cwd=builds.folder, env=builds.project.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for process in both:
        process.communicate(timeout=300)
    assert ([process.returncode for process in both], builds.count) == ([0, 0], 1)
