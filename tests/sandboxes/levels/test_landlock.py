"""The level landlock: what an agent sees, its limits, how it ends, and what the record says about what stays open."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from demeanor.core.trees.tree import changes
from demeanor.core.values.errors import WorldError
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.core.values.sandbox_spec import Ceilings
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.seccomp import MACHINES, filter_for
from demeanor.sandboxes.levels.landlock import LandlockSandbox, LandlockSession
from demeanor.sandboxes.supervisor import landlock_abi
from tests.helpers.processes import alive, children, command_line, parent
from tests.sandboxes.conftest import SOON, SandboxHarness, wait_until

T = TypeVar("T")
LIMITS = Limits(wall=60.0, grace=SOON)
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
READS = () if PYTHON.startswith("/usr/") else (sys.prefix, sys.base_prefix)

needs_landlock = pytest.mark.skipif(landlock_abi.version() < landlock_abi.MIN_VERSION, reason="landlock is not here")
needs_namespaces = pytest.mark.skipif(
    shutil.which("bwrap") is None
    or subprocess.run(
        ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"], check=False, capture_output=True
    ).returncode,
    reason="namespaces can't be made here",
)


class LandlockHarness(SandboxHarness):
    """A harness in a folder that the attempt's user can enter."""

    def in_landlock(self, body: Callable[[LandlockSession], Awaitable[T]], **options: Any) -> T:
        """The result of `body`, called with a session of `landlock`."""
        return self.in_sandbox(LandlockSandbox(root=self.folders, **options), body)

    def ends(self, *argv: str, limits: Limits = LIMITS, reads: tuple[str, ...] = READS, **options: Any) -> ProcessEnd:
        """Run a program in a new session, with the mark."""
        return self.in_landlock(
            lambda session: run(session, *argv, mark=self.mark, limits=limits, reads=reads), **options
        )


async def run(
    session: LandlockSession, *argv: str, mark: str = "", limits: Limits = LIMITS, reads: tuple[str, ...] = READS
) -> ProcessEnd:
    """Run a program in a session."""
    launch = Launch(argv=argv, env={"MARK": mark} if mark else {}, reads=reads)
    return await session.run(launch, limits=limits, last_activity=lambda: 0.0)


@pytest.fixture
def harness() -> Iterator[LandlockHarness]:
    """A new harness."""
    with tempfile.TemporaryDirectory(prefix="landlock-") as folder:
        Path(folder).chmod(0o755)
        yield LandlockHarness(Path(folder))


@needs_landlock
def test_an_agent_works_in_its_own_folders_without_privileges(harness: LandlockHarness) -> None:
    """Workspace, HOME and temp folder can be written and collected; nothing outside of them can."""

    async def body(session: LandlockSession) -> None:
        session.write_home_files({".config/agent.json": b"{}"})
        script = (
            "echo new > file; rm README.md; mv docs manual; cat ~/.config/agent.json; echo x > ~/log;"
            " echo y > $TMPDIR/t; mv $TMPDIR/t ~/t;"
            " chmod +x file; ln -s /etc/shadow evil; truncate -s 3 manual/guide.txt;"
            " for f in / /usr /etc /dev /home /tmp /dev/shm ../..; do touch $f/x 2>/dev/null && echo wrote $f; done;"
            " echo z > /dev/null; grep -h -e CapEff -e NoNewPrivs /proc/self/status; id -u"
        )
        end = await run(session, "sh", "-c", script)
        assert end.exit_code == 0, end.stderr.text
        braces, _, rest = end.stdout.text.partition("CapEff:")
        *status, uid = rest.split()
        assert (braces, status[1:]) == ("{}", ["NoNewPrivs:", "1"])
        if os.getuid() == 0:
            assert (status[0], int(uid) >= 65_533) == ("0" * 16, True)
        tree = await session.snapshot()
        assert {(one.path, one.how) for one in changes(harness.template.tree, tree)} == {
            ("README.md", "deleted"), ("docs/guide.txt", "deleted"), ("manual/guide.txt", "added"),
            ("file", "added"), ("evil", "added"),
        }  # fmt: skip
        assert session.collect_files(("log", "t", "none")) == {"log": b"x\n", "t": b"y\n"}
        assert {name: session.facts[name] for name in ("network", "disk")} == {"network": "gateway", "disk": "copy"}

    harness.in_landlock(body)


@needs_landlock
def test_the_listener_is_the_only_port_and_each_session_has_its_own(harness: LandlockHarness) -> None:
    """Connections there are served; the listener of another session can't be reached; programs can't listen."""
    code = (
        "import socket, sys\n"
        "for port in sys.argv[1:]:\n"
        "    try: print(socket.create_connection(('127.0.0.1', int(port))).recv(9).decode())\n"
        "    except OSError as error: print(error.errno)\n"
        "try: socket.create_server(('127.0.0.1', 0))\n"
        "except OSError as error: print(error.errno)\n"
        "try: socket.socket().listen()\n"
        "except OSError as error: print(error.errno)\n"
    )

    async def main() -> None:
        sandbox = LandlockSandbox(root=harness.folders)
        async with sandbox.open_session(harness.template) as one, sandbox.open_session(harness.template) as two:
            mine, other = one.listener, two.listener
            assert mine is not None
            assert other is not None
            mine.setblocking(False)
            ports = [str(one.getsockname()[1]) for one in (mine, other)]
            task = asyncio.create_task(run(one, PYTHON, "-I", "-c", code, *ports))
            peer, _ = await asyncio.get_running_loop().sock_accept(mine)
            await asyncio.get_running_loop().sock_sendall(peer, b"welcome")
            peer.close()
            assert (await task).stdout.text.split() == ["welcome", "13", "13", "1"]
        await sandbox.stop()

    asyncio.run(main())


@needs_landlock
def test_networks_differ(harness: LandlockHarness) -> None:
    """`none` has no socket at all, `host` has datagrams and any port; unix sockets are had by none of them."""
    code = (
        "import socket, sys\n"
        "def works(act):\n"
        "    try: act()\n"
        "    except OSError: return '-'\n"
        "    return '+'\n"
        "tcp = lambda: socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "udp = lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "unix, pair = lambda: socket.socket(socket.AF_UNIX), lambda: socket.socketpair()\n"
        "print(*(works(act) for act in (tcp, udp, unix, pair, socket.socket)))\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = (PYTHON, "-I", "-c", code, str(server.getsockname()[1]))
        assert harness.ends(*words, network="host").stdout.text == "+ + - + +\n"
        assert harness.ends(*words, network="none").stdout.text == "- - - + -\n"
        assert harness.ends(*words, network="gateway").stdout.text == "- - - + +\n"
    assert harness.in_landlock(_listener, network="none") is None


async def _listener(session: LandlockSession) -> socket.socket | None:
    return session.listener


@needs_landlock
def test_environment_is_the_allow_list_and_nothing_else(
    harness: LandlockHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host's variables stay with the host, and PATH holds only what can be read."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    end = harness.ends("env", "-0", path="/opt/secret/bin:/usr/bin:/opt/hidden/bin:/bin")
    found = dict(item.split("=", 1) for item in end.stdout.text.split("\0")[:-1])
    assert found.pop("MARK") == harness.mark
    assert found["PATH"] == "/usr/bin:/bin"
    assert set(found) == {
        "PATH", "LANG", "TERM", "USER", "HOME", "TMPDIR", "TMUX_TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
        "XDG_DATA_HOME", "XDG_STATE_HOME",
    }  # fmt: skip


@needs_landlock
def test_an_installation_can_only_be_read_and_its_neighbours_not_at_all(harness: LandlockHarness) -> None:
    """If the attempt's user can't enter it, there is an error before anything is started."""
    tools = harness.folder / "tools"
    tools.mkdir()
    (tools / "agent").write_text("#!/bin/sh\necho agent runs\n")
    (tools / "agent").chmod(0o755)
    (harness.folder / "diary").write_text("secret")
    script = f"{tools}/agent; cat {harness.folder}/diary || echo hidden; touch {tools}/x || echo read-only"
    end = harness.ends("sh", "-c", script, reads=(str(tools),))
    assert end.stdout.text == "agent runs\nhidden\nread-only\n"
    if os.getuid() == 0:
        closed = harness.folder / "closed"
        closed.mkdir(mode=0o700)
        (closed / "agent").write_text("#!/bin/sh\n")
        with pytest.raises(WorldError, match="Demeanor runs as root and agents as another user") as failure:
            harness.ends(str(closed / "agent"), reads=(str(closed / "agent"),))
        assert failure.value.cause is VoidCause.MISSING


@needs_landlock
def test_processes_files_and_memory_end_where_they_should(harness: LandlockHarness) -> None:
    """Each limit that the facts tell of is met."""
    ceilings = Ceilings(disk=10 * 2**20, processes=40, memory=200 * 2**20)
    forks = (
        "import os, time\nn = 0\ntry:\n  while n < 500:\n    if os.fork() == 0: time.sleep(99)\n    n += 1\n"
        "except OSError: print(n)"
    )
    eats = "x = []\nwhile True: x.append(bytearray(b'x') * 2**20)"

    async def body(session: LandlockSession) -> None:
        end = await run(session, PYTHON, "-I", "-c", forks)
        assert 10 <= int(end.stdout.text) <= 60
        assert end.leftovers == int(end.stdout.text)
        end = await run(session, PYTHON, "-I", "-c", eats)
        assert (end.ended_by, end.signal) == ("memory", signal.SIGKILL)
        assert 200 * 2**20 < end.peak_bytes < 2**30
        end = await run(session, "sh", "-c", "head -c 20000000 /dev/zero > big; stat -c %s big")
        assert int(end.stdout.text) == 10 * 2**20

    harness.in_landlock(body, ceilings=ceilings)


@needs_landlock
def test_time_in_which_an_agent_waits_for_its_user_does_not_count(harness: LandlockHarness) -> None:
    """Its time limit is later by that much."""
    end = harness.ends("sh", "-c", "sleep 0.3; echo done", limits=Limits(wall=0.1, paused=lambda: 60.0))
    assert (end.ended_by, end.stdout.text) == ("exit", "done\n")


@needs_landlock
def test_an_agent_that_heeds_term_ends_itself_and_one_that_does_not_is_ended(harness: LandlockHarness) -> None:
    """TERM first; after the grace all is killed."""
    quiet, script = (
        Limits(wall=SOON, idle=0.1, grace=SOON),
        "trap 'echo bye; exit 7' TERM; while :; do sleep 99 & wait; done",
    )
    launch = Launch(argv=("sh", "-c", script), env={"MARK": harness.mark}, reads=READS)
    end = harness.in_landlock(
        lambda session: session.run(launch, limits=quiet, last_activity=harness.active_until_asleep)
    )
    assert (end.exit_code, end.ended_by, end.stdout.text) == (7, "idle", "bye\n")
    deaf = "trap '' TERM; setsid sh -c 'sleep 99' & sleep 99"
    end = harness.ends("sh", "-c", deaf, limits=Limits(wall=0.5, grace=0.1))
    assert (end.signal, end.ended_by) == (signal.SIGKILL, "wall")


@needs_landlock
@needs_namespaces
@pytest.mark.parametrize("number", [0, 1], ids=["init", "supervisor"])
def test_killing_its_init_or_supervisor_ends_everything_and_voids(harness: LandlockHarness, number: int) -> None:
    """The kernel kills everything in the pid namespace, and nothing is known about the program's end."""

    async def body(session: LandlockSession) -> None:
        task = asyncio.create_task(run(session, "sleep", "99", mark=harness.mark))
        (pid,) = await asyncio.to_thread(wait_until, harness.processes)
        above = [parent(pid), parent(parent(pid))]  # the init, if there is one, and the supervisor
        os.kill(above[number], signal.SIGKILL)
        with pytest.raises(WorldError, match=r"(supervisor|init of the pid namespace) was killed") as failure:
            await task
        assert failure.value.cause is VoidCause.SANDBOX
        assert not alive(pid)

    harness.in_landlock(body)


DRIVER = """
import json, sys
from pathlib import Path
from tests.sandboxes.levels.test_landlock import LandlockHarness, run
harness = LandlockHarness(Path(sys.argv[1]))
harness.mark = sys.argv[2]
async def body(session):
    end = await run(session, "sh", "-c", sys.argv[3], mark=harness.mark)
    return end.stdout.text, end.leftovers, dict(session.facts)
print(json.dumps(harness.in_landlock(body)))
"""
DRIVER_ENV = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path]), "PATH": os.environ["PATH"]}


@needs_landlock
@needs_namespaces
def test_killing_all_of_demeanor_at_once_ends_everything(harness: LandlockHarness) -> None:
    """Nothing of Demeanor is left that could kill a daemon: the kernel does, with the namespace of its processes."""
    place, script = harness.folder / "driven", "setsid sh -c 'sleep 1000' & sleep 1000"
    with subprocess.Popen([sys.executable, "-c", DRIVER, str(place), harness.mark, script], env=DRIVER_ENV) as driver:
        wait_until(lambda: len([pid for pid in harness.processes() if "sleep" in command_line(pid)]) >= 2)
        servers = children(driver.pid)
        supervisors = [pid for server in servers for pid in children(server)]
        assert (len(servers), len(supervisors) >= 1) == (1, True)
        for number in (signal.SIGSTOP, signal.SIGKILL):  # none of them can act on the death of another
            for pid in (driver.pid, *servers, *supervisors):
                os.kill(pid, number)
    wait_until(lambda: harness.processes() == [])


@needs_landlock
@needs_namespaces
def test_an_agent_sees_its_own_processes_only(harness: LandlockHarness) -> None:
    """Their numbers in /proc are those that it can signal, and nothing of the host is among them."""

    async def body(session: LandlockSession) -> None:
        script = (
            "sleep 99 & until grep -qs sleep /proc/$!/comm; do :; done; grep -l sleep /proc/[0-9]*/comm | grep -c .;"
            " kill $! && echo killed; wait; ls -d /proc/[0-9]* | wc -l"
        )
        end = await run(session, "sh", "-c", script)
        ones, killed, seen = end.stdout.text.split()
        assert (ones, killed) == ("1", "killed")
        assert int(seen) <= 4  # the init, sh, ls and wc
        assert session.facts["open.processes"] == "its own, and the init of their namespace"
        assert (session.facts["ends"], session.facts["limit.processes"]) == ("pid namespace", "hard 1024")

    harness.in_landlock(body)


@needs_landlock
@needs_namespaces
def test_without_namespaces_processes_are_found_and_killed_one_by_one(harness: LandlockHarness) -> None:
    """The level works where no namespace can be made, and the record says what that means."""
    place, script = harness.folder / "driven", "setsid sh -c 'sleep 1000' & ls -d /proc/[0-9]* | wc -l"
    user = ["--unshare-user", "--uid", "1000", "--gid", "1000", "--disable-userns", "--die-with-parent"]
    argv = ["bwrap", "--dev-bind", "/", "/", *user, sys.executable, "-c", DRIVER, str(place), harness.mark, script]
    ended = subprocess.run(argv, env=DRIVER_ENV, stdout=subprocess.PIPE, text=True, check=True)
    seen, leftovers, facts = json.loads(ended.stdout)
    assert (int(seen) > 5, leftovers >= 1) == (True, True)
    assert (facts["ends"], facts["limit.processes"]) == ("process tree", "soft 1024")
    assert facts["open.processes"].startswith("seen")
    assert harness.processes() == []


@needs_landlock
def test_a_program_that_can_not_be_started_is_reported(harness: LandlockHarness) -> None:
    """Missing, not executable, too long, not to be given; and afterwards the session still works."""

    async def body(session: LandlockSession) -> None:
        for argv, words, cause in (
            (("no-such-agent",), "no-such-agent: not found", VoidCause.MISSING),
            (("./README.md",), "is not executable", VoidCause.MISSING),
            (("echo", "x" * 3_000_000), "too long", VoidCause.HARNESS),
            (("echo", "\0"), "NUL", VoidCause.HARNESS),
        ):
            with pytest.raises(WorldError, match=words) as failure:
                await run(session, *argv)
            assert failure.value.cause is cause
        assert (await run(session, "sh", "-c", "exit 3")).exit_code == 3

    harness.in_landlock(body)


@needs_landlock
def test_command_runs_on_a_snapshot_without_network(harness: LandlockHarness) -> None:
    """It may change its copy and leaves nothing."""
    sandbox = LandlockSandbox(root=harness.folders)
    sandbox.verify()
    script = "cat docs/guide.txt; rm -r docs; echo x > new; ls; exit 4"
    result = sandbox.command(harness.template.tree, ("sh", "-c", script), timeout=60)
    assert (result.exit_code, result.stdout.split("\n")[:3]) == (4, ["step by step", "README.md", "new"])
    assert sandbox.command(harness.template.tree, ("sh", "-c", "kill -9 $$"), timeout=60).exit_code == -9
    asyncio.run(sandbox.stop())
    assert list(harness.folders.iterdir()) == []


@needs_landlock
def test_what_stays_open_is_in_the_facts(harness: LandlockHarness) -> None:
    """Nothing is passed over in silence."""
    facts = LandlockSandbox(ceilings=Ceilings(memory=7)).facts
    assert facts["sandbox"] == "landlock"
    assert facts["open.address"] == "any, at the port of the gateway"
    assert facts["open.processes"].startswith("seen")
    assert facts["limit.memory"] in (
        "hard 7 (control group)",
        "soft 7 (polling), hard 67108864 of each process (RLIMIT_DATA)",
    )
    assert (facts["limit.disk"], facts["limit.files"]) == ("unsupported", "unsupported")


@needs_landlock
def test_nothing_is_inherited(harness: LandlockHarness) -> None:
    """Neither the way to Demeanor nor the rules themselves: three streams, and the list that is being read."""
    end = harness.ends("ls", "-l", "/proc/self/fd")
    assert [line.split()[8] for line in end.stdout.text.splitlines()[1:]] == ["0", "1", "2", "3"]
    assert "/proc/" in end.stdout.text.splitlines()[-1]
    assert "socket" not in end.stdout.text


@needs_landlock
def test_nothing_is_left_open(harness: LandlockHarness) -> None:
    """No descriptor leaks, whether attempts end well or badly."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    harness.ends("echo", "hi")
    harness.ends("sleep", "99", limits=Limits(wall=0.0, grace=0.0))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(
    ("version", "words"), [(0, "is missing or disabled"), (3, "has version 3"), (4, None), (9, None)]
)
def test_level_that_can_not_be_had_says_why(version: int, words: str | None) -> None:
    """An old kernel has no such level."""
    problem = landlock_abi.unsupported_reason(version)
    assert (problem is None) if words is None else (words in (problem or ""))


@pytest.mark.parametrize("machine", MACHINES)
def test_filters_are_within_what_the_kernel_takes_and_differ(machine: str) -> None:
    """One for each network."""
    filters = [filter_for(machine, reach) or b"" for reach in ("private", "gateway", "none", "host")]
    assert len(set(filters)) == 4
    assert all(len(one) % 8 == 0 and len(one) // 8 < 4096 for one in filters)
