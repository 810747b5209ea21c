"""A program that runs on this machine leaves no process behind, whatever ends it."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.sandboxes.supervisor.process_tree import HAS_SUBREAPERS
from tests.helpers.processes import alive
from tests.sandboxes.conftest import wait_until

pytestmark = pytest.mark.skipif(not HAS_SUBREAPERS, reason="whole trees of processes can be ended on Linux only")

PROGRAM = "from demeanor.sandboxes.supervisor.run_tree import main; main()"
DAEMON = 'setsid sh -c "echo \\$\\$ > new; mv new daemon; exec sleep 1000" & '


def start(folder: Path, *argv: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The process above a program, and the socket to it."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-c", PROGRAM, str(theirs.fileno()), *argv]
        return subprocess.Popen(command, cwd=folder, pass_fds=[theirs.fileno()]), ours


def daemon(folder: Path) -> int:
    """The pid of the daemon, when it runs."""
    wait_until((folder / "daemon").exists)
    return int((folder / "daemon").read_text())


def test_a_daemon_is_ended_when_demeanor_has_gone(tmp_path: Path) -> None:
    """As its end of the socket is closed when it is killed."""
    above, control = start(tmp_path, "sh", "-c", f"{DAEMON} sleep 1000")
    pid = daemon(tmp_path)
    control.close()
    above.wait(120)
    assert not alive(pid)


@pytest.mark.parametrize(("end", "code"), [("exit 7", 7), ("kill -9 $$", -9)])
def test_a_daemon_is_ended_with_its_program(tmp_path: Path, end: str, code: int) -> None:
    """The exit status is that of the program."""
    above, control = start(tmp_path, "sh", "-c", f"{DAEMON} while [ ! -e daemon ]; do sleep 0.01; done; {end}")
    with control:
        assert above.wait(120) == code
    assert not alive(daemon(tmp_path))


def test_a_program_that_can_not_be_started_is_reported(tmp_path: Path) -> None:
    """With the number of the error."""
    above, control = start(tmp_path, "no-such-program")
    with control:
        above.wait(120)
        assert control.recv(16) == b"2"
