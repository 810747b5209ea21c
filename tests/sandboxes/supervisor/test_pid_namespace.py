"""A pid namespace ends with its supervisor, at whatever moment that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.processes import working_in
from tests.sandboxes.conftest import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has namespaces")

START = """
import os, sys, time
from demeanor.sandboxes.supervisor import linux, pid_namespace
uid, gid = os.getuid(), os.getgid()
linux.unshare(linux.NEWUSER)
linux.map_users(uid, gid)
{before}
def spawn():
    open("spawned", "w").close()
    return os.posix_spawn("/bin/sh", ["sh", "-c", {script}], os.environ)
init = pid_namespace.NamespaceInit(spawn)
print(init.pid, init.program, flush=True)
"""
DAEMON = """'setsid sh -c "touch daemon; sleep 1000" & sleep 1000'"""
PAUSE = """
def paused(set_death_signal=linux.set_death_signal):
    open("paused", "w").close()
    while not os.path.exists("killed"): time.sleep(0.001)
    set_death_signal()
    open("checked", "w").close()
linux.set_death_signal = paused
"""


@contextmanager
def start(folder: Path, program: str) -> Iterator[subprocess.Popen[str]]:
    """A supervisor that works in a folder."""
    argv = [sys.executable, "-c", program]
    with subprocess.Popen(argv, cwd=folder, text=True, stdout=subprocess.PIPE) as supervisor:
        try:
            yield supervisor
        finally:
            supervisor.kill()


def test_everything_ends_with_the_supervisor(tmp_path: Path) -> None:
    """SIGKILL of the supervisor alone ends the program and a daemon in its own session."""
    with start(tmp_path, START.format(before="", script=DAEMON) + "time.sleep(1000)") as supervisor:
        wait_until((tmp_path / "daemon").exists)
        assert len(working_in(tmp_path)) >= 4
        supervisor.kill()
        wait_until(lambda: working_in(tmp_path) == [])


def test_a_supervisor_that_dies_before_the_death_signal_is_set_is_noticed(tmp_path: Path) -> None:
    """Nothing is started any more: the kernel sends no signal for a parent that is already dead."""
    with start(tmp_path, START.format(before=PAUSE, script=DAEMON)) as supervisor:
        wait_until((tmp_path / "paused").exists)
        supervisor.send_signal(signal.SIGKILL)
        supervisor.wait()
        (tmp_path / "killed").touch()
        wait_until((tmp_path / "checked").exists)
        wait_until(lambda: working_in(tmp_path) == [])
    assert not (tmp_path / "spawned").exists()


@pytest.mark.parametrize("script", ["'exit 7'", "'sleep 1000 & exit 7'"], ids=["alone", "with a child"])
def test_the_end_of_the_program_is_reported(tmp_path: Path, script: str) -> None:
    """Also while a child of it runs, which is killed with the init."""
    rest = """
import select
select.select([init.reports], [], [])
print(os.WEXITSTATUS(init.status()))
init.kill(0)
os.waitpid(init.pid, 0)
"""
    with start(tmp_path, START.format(before="", script=script) + rest) as supervisor:
        out, _ = supervisor.communicate(timeout=120)
    assert out.split()[2:] == ["7"]
    assert working_in(tmp_path) == []


def test_a_program_that_can_not_be_started_is_an_error(tmp_path: Path) -> None:
    """The reason is that of the system."""
    program = START.replace('"/bin/sh", [', '"/nowhere", [').format(before="", script="''")
    program = program.replace("init = ", "try: init = ").replace(
        "print(init", "except FileNotFoundError: sys.exit(5)\nprint(init"
    )
    with start(tmp_path, program) as supervisor:
        assert supervisor.wait(120) == 5
    assert os.listdir(tmp_path) == ["spawned"]
