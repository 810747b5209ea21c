"""The build command of the configuration: `run`, `gate` and `nightly` build the working tree before they test it.

When it is built: tests/runner/test_build.py.
"""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.helpers.builds import Builds
from tests.helpers.processes import alive
from tests.helpers.project import Project
from tests.helpers.versions import MAKEFILE
from tests.journeys.test_survival import until

COMMANDS = (("run", "--trials", "1"), ("gate",), ("nightly", "--trials", "1"))


@pytest.fixture
def builds(project: Project) -> Builds:
    """A project that was never built."""
    return Builds(project)


def test_this_commit_is_built_and_tested_by_one_command(builds: Builds):
    """Once per run, whatever the number of trials, and not again while nothing changes. Messages go to standard error,
    so that JSON stays JSON; the output of the build is in the run."""
    assert builds.run() == 0
    config = builds.folder / "demeanor.toml"
    command = config.read_text()
    config.write_text(command.replace('["make", "build"]', '["sh", "-c", "make build && true"]'))
    shown = "with `sh -c 'make build && true'`, on this machine, outside of any sandbox"
    for number, words in enumerate(COMMANDS):
        builds.behave("f" * (number + 1))
        worse = builds.project.demeanor(*words, "--json")
        assert (worse.returncode, builds.count) == (1, number + 2), worse.stdout + worse.stderr
        assert f"building the working tree {shown}" in worse.stderr
        assert json.loads(worse.stdout)
        again = builds.project.demeanor(*words, "-k", "always")
        assert (again.returncode, builds.count) == (1, number + 2), again.stderr
        assert "not built again: the working tree is unchanged since `sh -c" in again.stderr
    logs = [(run / "build.log").read_text() for run in builds.runs]
    assert ["not built again for this run" in log for log in logs] == [False, *[False, True] * 3]
    assert all(log.startswith(("$ make build", "$ sh -c")) and "cp agent/agent.sh bin/agent" in log for log in logs)


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


def test_a_failed_build_is_an_error_and_leaves_no_run(builds: Builds):
    """The output is shown without secrets."""
    builds.makefile("build:\n\t@echo no such compiler $$OPENAI_API_KEY; exit 3\n")
    for number, words in enumerate(COMMANDS, 1):
        done = builds.project.demeanor(*words, OPENAI_API_KEY="sk-proj-a8fX3kQ92mZpL0vR")
        assert (done.returncode, builds.count) == (2, number)
        assert "build = 'make build': exit code 2 for the working tree" in done.stderr
        assert "no such compiler" in done.stderr
        assert "sk-proj" not in done.stderr
        assert "--no-build" in done.stderr
    config = builds.folder / "demeanor.toml"
    config.write_text(config.read_text().replace('"make"', '"no-such-make"'))
    done = builds.project.demeanor("run")
    assert (done.returncode, "can't start it: No such file" in done.stderr) == (2, True), done.stderr
    assert not (builds.folder / "results").exists()
    assert builds.project.temporary() == []


def test_nothing_is_built_without_trials_or_with_no_build(builds: Builds):
    """A dry run prints the plan; --no-build tests what is there; an agent that is not there can't be started."""
    for words in COMMANDS:
        assert builds.project.demeanor(*words, "--dry-run").returncode == 0
        assert builds.project.demeanor(*words, "--no-build", "-k", "always").returncode == 2
    assert builds.count == 0
    subprocess.run(["make", "--silent", "build"], cwd=builds.folder, check=True)
    builds.behave("f")
    for words in COMMANDS:
        assert builds.project.demeanor(*words, "--no-build", "-k", "always").returncode == 0
    assert builds.count == 1
    assert not list(builds.folder.glob("results/2*/build.log"))


def test_a_resumed_run_is_built_too(builds: Builds):
    """Unless --no-build says otherwise, whatever the first part of the run said."""
    old = builds.folder / "bin/agent"
    old.parent.mkdir()
    old.write_text("#!/no/such/interpreter\n")
    old.chmod(0o755)
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["ctrl-c", "term", "hup"])
def test_a_stopped_build_leaves_no_process_and_no_run(builds: Builds, number: signal.Signals):
    """As if the command had not been started; not even a daemon in its own session, when Demeanor returns."""
    sign = builds.folder.parent / "started"
    daemon = f'setsid sh -c "echo \\$$\\$$ > {sign}.new; mv {sign}.new {sign}; exec sleep 1000" &'
    builds.makefile(f"build:\n\t{daemon} sleep 1000\n")
    process = builds.project.start("run")
    until(lambda: process.poll() is not None or sign.exists())
    process.send_signal(number)
    assert (process.wait(), builds.runs, builds.project.temporary()) == (130, [], [])
    assert not alive(sign.read_text().strip())


def test_runs_at_the_same_time_build_once(builds: Builds):
    """The second one waits for the first, and finds the tree built."""
    both = [builds.project.start("run", "--trials", "1", "-k", "always") for _ in range(2)]
    assert ([process.wait() for process in both], builds.count) == ([0, 0], 1)
