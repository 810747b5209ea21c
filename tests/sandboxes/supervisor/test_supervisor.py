"""A supervisor whose Demeanor has gone ends its program, however the connection was lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.sandboxes.supervisor.process_tree import HAS_SUBREAPERS, read_file
from tests.helpers.processes import alive

pytestmark = pytest.mark.skipif(not HAS_SUBREAPERS, reason="whole trees of processes can be ended on Linux only")

WATCH = """
import os, socket
from demeanor.sandboxes.supervisor.process_tree import ProcessTree, become_subreaper, sigchld_fd
from demeanor.sandboxes.supervisor.supervisor import watch
become_subreaper()
demeanor, control = socket.socketpair()
{before}
pid = os.posix_spawnp("sleep", ["sleep", "1000"], os.environ)
print(pid, flush=True)
demeanor.close()
try:
    watch(ProcessTree(pid), control, sigchld_fd(), {watcher})
except ZeroDivisionError:
    print("raised")
"""
FORK_SERVER = """
import os, socket
from demeanor.sandboxes.supervisor.forkserver import serve
demeanor, requests = socket.socketpair()
requests.send(b"an answer that is never read")
pid = os.posix_spawnp("sleep", ["sleep", "1000"], os.environ)
print(pid, flush=True)
demeanor.close()
serve(requests)
"""

REFUSED = """
import os, socket
from demeanor.sandboxes.supervisor import linux
from demeanor.sandboxes.supervisor.forkserver import serve
uid, gid = os.getuid(), os.getgid()
linux.unshare(linux.NEWUSER)
linux.map_users(uid, gid, as_root=True)
with open("/proc/sys/user/max_pid_namespaces", "w") as file:
    file.write("0")
demeanor, requests = socket.socketpair()
if os.fork() == 0:
    demeanor.close()
    serve(requests)
    os._exit(0)
requests.close()
for kind in (b"b", b"r", b"s"):
    ours, theirs = socket.socketpair()
    socket.send_fds(demeanor, [kind], [theirs.fileno()])
    theirs.close()
    ours.sendall(b"\\0\\0\\0\\1N")  # None: a plain supervisor exits
    print(ours.recv(100).decode().strip(), flush=True)
demeanor.close()
os.wait()
"""


def survivor(program: str) -> tuple[bool, list[str]]:
    """Whether the process that a program has started outlives it, and what it printed besides its pid."""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    pid, *rest = ended.stdout.split()
    return alive(int(pid)), rest


def test_a_closed_connection_ends_the_program() -> None:
    assert survivor(WATCH.format(before="", watcher=None)) == (False, [])


def test_a_connection_that_is_reset_ends_the_program() -> None:
    """A Demeanor that is killed may leave an answer unread: its supervisor then sees an error, not the end."""
    unread = 'control.send(b"mounted overlay")'
    assert survivor(WATCH.format(before=unread, watcher=None)) == (False, [])


def test_a_watcher_that_raises_ends_the_program() -> None:
    broken = "type('Broken', (), {'check': lambda self: 1 / 0})()"
    assert survivor(WATCH.format(before="", watcher=broken)) == (False, ["raised"])


def test_a_fork_server_whose_connection_is_reset_leaves_nothing() -> None:
    """Whatever is still its child then, for whichever reason, is killed."""
    assert survivor(FORK_SERVER) == (False, [])


def test_a_supervisor_that_gets_no_namespaces_says_why_and_the_fork_server_goes_on() -> None:
    """Here the kernel is told to refuse them. The last one is a plain supervisor, which needs none."""
    ended = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, timeout=120, check=True)
    refused = "fail creating namespaces: No space left on device"
    assert ended.stdout.splitlines() == [refused, refused, ""]


def test_a_fork_server_loads_no_kind_of_supervisor_before_it_is_needed() -> None:
    """Every module that it has makes its start and every fork slower."""
    program = "import sys, demeanor.sandboxes.supervisor.forkserver; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    own = {name.rpartition(".")[2] for name in loaded if name.startswith("demeanor.sandboxes.supervisor.")}
    assert own == {"forkserver", "supervisor", "process_tree", "messages", "cgroup", "run_folder"}
    assert "tarfile" not in loaded


def test_a_file_of_any_size_is_read_whole(tmp_path: Path) -> None:
    """The kernel gives long lists, such as those of children, in pieces."""
    for content in (b"", b"1 2 ", b"12345678 " * 5000):
        (tmp_path / "children").write_bytes(content)
        assert read_file(str(tmp_path / "children")) == content
