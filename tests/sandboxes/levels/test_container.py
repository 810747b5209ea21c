"""In a container: what an agent finds, what it may use, and that it ends. A real engine is needed for all of this."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, TypeVar

import pytest

from demeanor.core.trees.tree import Tree, changes
from demeanor.core.values.errors import WorldError
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.core.values.sandbox_spec import Ceilings
from demeanor.sandboxes.host.bwrap_args import PORT
from demeanor.sandboxes.host.container_cli import EngineName
from demeanor.sandboxes.levels.container import ContainerSandbox, ContainerSession
from tests.sandboxes.conftest import SOON, SandboxHarness
from tests.sandboxes.levels.test_bubblewrap import SLEEPS, STAYS

T = TypeVar("T")
LIMITS = Limits(wall=60.0, grace=SOON)
PYTHON = (sys.prefix, sys.base_prefix, sys.executable)
ENGINES: tuple[EngineName, ...] = ("podman", "docker")


@cache
def engines() -> dict[EngineName, str]:
    """Why an engine can't be had here, by its name; empty where it can."""
    found = {}
    for name in ENGINES:
        sandbox = ContainerSandbox(name)
        try:
            sandbox.verify()
            found[name] = ""
        except WorldError as error:
            found[name] = error.detail
        finally:
            asyncio.run(sandbox.stop())
    return found


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> EngineName:
    """An engine that runs containers here."""
    name: EngineName = request.param
    if why := engines()[name]:
        pytest.skip(f"NO CONTAINERS WERE TRIED WITH {name}: {why}")
    return name


class ContainerHarness:
    """A harness whose sandbox is an engine."""

    def __init__(self, harness: SandboxHarness, engine: EngineName) -> None:
        self.harness = harness
        self.engine: EngineName = engine
        self.folder = ""

    def in_none(self, body: Callable[[ContainerSession], Awaitable[T]], **options: Any) -> T:
        """What `body` gives, called with a session; afterwards no process, no folder and no container is left."""
        sandbox = ContainerSandbox(self.engine, root=self.harness.folders, **options)
        self.folder = sandbox.folder.name
        try:
            return self.harness.in_sandbox(sandbox, body)
        finally:
            assert self.containers() == ""

    def containers(self) -> str:
        """Those of this harness, whether they run or not."""
        words = [self.engine, "ps", "--all", "--filter", "label=demeanor", "--format", "{{.Names}}"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        return " ".join(one for one in shown if one.startswith(self.folder))

    async def run(self, session: ContainerSession, *argv: str, limits: Limits = LIMITS, **more: Any) -> ProcessEnd:
        """Run a program in a session, with the harness's mark."""
        launch = Launch(argv=argv, env={"MARK": self.harness.mark}, **more)
        return await session.run(launch, limits=limits, last_activity=time.monotonic)

    def shell(self, script: str, *, reads: tuple[str, ...] = (), **options: Any) -> ProcessEnd:
        """How a shell script ends in a container."""
        return self.in_none(lambda session: self.run(session, "sh", "-c", script, reads=reads), **options)


@pytest.fixture
def containers(harness: SandboxHarness, engine: EngineName) -> ContainerHarness:
    """A fresh harness with an engine."""
    return ContainerHarness(harness, engine)


def test_an_agent_has_no_privileges_and_finds_an_allow_list(containers: ContainerHarness) -> None:
    """No capability, never root, no environment of ours; what it may write is its own."""
    script = (
        "id -u; grep -h CapEff /proc/self/status; grep NoNewPrivs /proc/self/status; grep Seccomp: /proc/self/status;"
        "for f in / /usr /etc /dev /run /run/demeanor . ~ /tmp /dev/shm; do touch $f/x 2>/dev/null && echo $f; done;"
        "echo y > /dev/null && echo null; hostname; ls /home /root /var /opt 2>/dev/null | grep -v pyenv; env | sort"
    )
    out = containers.shell(script, path="/opt/hidden/bin:/usr/bin:/bin").stdout.text.split("\n")
    uid, caps, privileges, filtered, *rest = out
    assert (uid == "0", caps.split()[1], privileges.split()[1], filtered.split()[1]) == (False, "0" * 16, "1", "2")
    if os.getuid() == 0:
        assert int(uid) >= 65_533
    assert rest[:4] == [".", "/sandbox/home", "/tmp", "/dev/shm"]
    assert rest[4] == "null"
    names = {line.partition("=")[0] for line in rest if "=" in line}
    assert names == {
        "PATH", "LANG", "TERM", "USER", "HOME", "PWD", "TMPDIR", "TMUX_TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
        "XDG_DATA_HOME", "XDG_STATE_HOME", "MARK",
    }  # fmt: skip
    assert "PATH=/usr/bin:/bin" in rest


def test_programs_share_a_disk_and_an_installation_can_only_be_read(containers: ContainerHarness) -> None:
    """One after the other; what the adapter laid in HOME is there; leavings and changes are what they are."""
    tools = containers.harness.folder / "closed/tools"
    tools.mkdir(parents=True)
    (tools / "agent").write_text("#!/bin/sh\necho agent runs\n")
    (tools / "agent").chmod(0o755)
    tools.chmod(0o777)
    tools.parent.chmod(0o700)
    reads = (str(tools),)

    async def body(session: ContainerSession) -> Tree:
        session.write_home_files({".config/agent.json": b"{}"})
        end = await containers.run(
            session, "sh", "-c", "echo one > ~/log; cat ~/.config/agent.json > seen; rm README.md", reads=reads
        )
        assert end.exit_code == 0, end.stderr.text
        script = f"cat ~/log seen; {tools}/agent; touch {tools}/x || echo read-only; ln -s /etc/passwd ~/evil; exit 3"
        end = await containers.run(session, "sh", "-c", script, reads=reads)
        assert (end.exit_code, end.stdout.text) == (3, "one\n{}agent runs\nread-only\n")
        assert session.collect_files(("log", "evil", "none")) == {"log": b"one\n"}
        with pytest.raises(WorldError, match="must read the same"):
            await containers.run(session, "true", reads=("/var/log",))
        return await session.snapshot()

    tree = containers.in_none(body)
    assert {(one.path, one.how) for one in changes(containers.harness.template.tree, tree)} == {
        ("README.md", "deleted"),
        ("seen", "added"),
    }


def test_the_door_is_reached_from_within_and_from_nowhere_else(containers: ContainerHarness) -> None:
    """The socket was made inside: what connects in there is served out here, and out here nothing listens."""
    code = f"import socket; s = socket.create_connection(('127.0.0.1', {PORT})); print(s.recv(9).decode())"

    async def body(session: ContainerSession) -> None:
        launch = Launch(argv=(sys.executable, "-I", "-c", code), reads=PYTHON)
        assert session.address == ("127.0.0.1", PORT)
        await session.prepare((launch,))
        listener = session.listener
        assert listener is not None
        listener.setblocking(False)
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(session.run(launch, limits=LIMITS, last_activity=time.monotonic))
        peer, _ = await loop.sock_accept(listener)
        await loop.sock_sendall(peer, b"welcome")
        peer.close()
        assert (await task).stdout.text == "welcome\n"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", PORT), timeout=SOON)

    containers.in_none(body)
    interfaces = f"{sys.executable} -I -c 'import socket; print(*(name for _, name in socket.if_nameindex()))'"
    assert containers.shell(interfaces, reads=PYTHON, network="none").stdout.text == "lo\n"
    own = [name for _, name in socket.if_nameindex()]
    end = containers.shell(f"{interfaces}; cat /etc/resolv.conf | wc -l", reads=PYTHON, network="host")
    assert sorted(end.stdout.text.split()[:-1]) == sorted(own)


def test_disk_processes_and_memory_end_where_they_should(containers: ContainerHarness) -> None:
    """Each limit is met. What is too much together, though each part may be, the kernel ends, and the rest goes too."""
    ceilings = Ceilings(disk=32 * 2**20, processes=40, memory=100 * 2**20)
    forks = (
        "import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(99)\n    n += 1\n"
        "except OSError: print(n)"
    )
    eats = "x = bytearray(b'x') * (80 * 2**20)"

    async def body(session: ContainerSession) -> None:
        fill = "for f in ~/x x /tmp/x; do head -c 20000000 /dev/zero >> $f || echo full $f; done; "
        fill += "head -c 20000000 /dev/zero >> /tmp/x || echo full; rm ~/x x /tmp/x"
        end = await containers.run(session, "sh", "-c", fill, reads=PYTHON)
        assert end.stdout.text.split() == ["full", "x", "full"]
        end = await containers.run(session, sys.executable, "-I", "-c", forks, reads=PYTHON)
        assert 30 <= int(end.stdout.text) < 40
        assert end.leftovers == int(end.stdout.text)
        fill = "for f in x /tmp/x /dev/shm/x; do head -c 30000000 /dev/zero > $f || exit; done"
        script = f'{fill}; {sys.executable} -I -c "{eats}"; sleep 99'
        end = await containers.run(session, "sh", "-c", script, reads=PYTHON)
        assert (end.ended_by, end.signal) == ("memory", signal.SIGKILL)
        await containers.run(session, "rm", "x", "/tmp/x", "/dev/shm/x", reads=PYTHON)
        assert (await containers.run(session, "echo", "fine", reads=PYTHON)).stdout.text == "fine\n"

    containers.in_none(body, ceilings=ceilings)
    assert not os.path.exists("oom")  # noqa: PTH110 - which podman leaves where it was started


def test_limits_are_described_as_strict_as_they_are(containers: ContainerHarness) -> None:
    """As the kernel says in there; with an engine of root it holds them all."""
    sandbox = ContainerSandbox(containers.engine, root=containers.harness.folders)
    sandbox.verify()
    asyncio.run(sandbox.stop())
    if os.getuid() == 0:
        assert sandbox.facts["limit.processes"] == "hard 1024"
        assert ", hard 6442450944 with the disk" in sandbox.facts["limit.memory"]


@pytest.mark.parametrize("end", ["", SLEEPS], ids=["ends by itself", "is ended"])
def test_daemons_die_with_their_agent(containers: ContainerHarness, end: str) -> None:
    """Deaf ones, and those that fork themselves anew all the time; the container is gone before the snapshot."""

    async def ended(session: ContainerSession) -> ProcessEnd:
        launch = Launch(
            argv=(sys.executable, "-I", "-c", STAYS + end), env={"MARK": containers.harness.mark}, reads=PYTHON
        )
        limits = Limits(wall=SOON, idle=0.1 if end else None, grace=0.2)
        done = await session.run(launch, limits=limits, last_activity=containers.harness.active_until_asleep)
        assert containers.harness.processes() == []
        assert containers.containers() != ""
        assert {"deaf", "reborn"} <= (await session.snapshot()).entries.keys()
        assert containers.containers() == ""
        return done

    done = containers.in_none(ended)
    assert done.stdout.text == "ready\n"
    assert done.ended_by == ("idle" if end else "exit")
    assert done.leftovers >= (0 if end else 1)


def test_the_first_program_can_not_be_ended_nor_looked_into_from_within(containers: ContainerHarness) -> None:
    """No program can take its place, and what it has open stays its own."""
    script = (
        "kill -9 1; kill -STOP 1; sleep 0.1; ls /proc/1/fd 2>/dev/null; cat /proc/1/environ 2>/dev/null; "
        f"{sys.executable} -I -c \"import socket; socket.socket(socket.AF_UNIX).connect('/run/demeanor/socket')\" "
        "2>&1 | tail -1; echo still"
    )
    end = containers.shell(script, reads=PYTHON)
    assert end.stdout.text == "ConnectionRefusedError: [Errno 111] Connection refused\nstill\n"


def test_a_container_whose_caller_was_cancelled_is_removed(containers: ContainerHarness) -> None:
    """Cancelled while the engine starts it."""

    async def body(session: ContainerSession) -> None:
        task = asyncio.create_task(session.prepare((Launch(argv=("true",)),)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert containers.containers() != ""

    containers.in_none(body)


def test_a_workspace_that_became_a_link_is_not_followed(containers: ContainerHarness) -> None:
    """What it points to on this machine is not part of the snapshot."""

    async def body(session: ContainerSession) -> Tree:
        await containers.run(
            session, "sh", "-c", "cd /sandbox; mv workspace old; ln -s /etc workspace; rm -r home; ln -s /etc home"
        )
        assert session.collect_files(("passwd",)) == {}
        return await session.snapshot()

    tree = containers.in_none(body)
    assert tree.entries == {}
    assert "can't be read" in tree.gaps[0]


def test_commands_of_checks_have_a_container_each(containers: ContainerHarness) -> None:
    """On a snapshot, without a network."""
    sandbox = ContainerSandbox(containers.engine, root=containers.harness.folders)
    try:
        result = sandbox.command(
            containers.harness.template.tree, ("sh", "-c", "cat docs/guide.txt; pwd; exit 4"), timeout=60
        )
        assert (result.exit_code, result.stdout) == (4, "step by step\n/sandbox/workspace\n")
        assert sandbox.command(Tree(), ("sh", "-c", "kill -9 $$"), timeout=60).exit_code == -9
        with pytest.raises(WorldError, match="not-there: not found"):
            sandbox.command(Tree(), ("not-there",), timeout=60)
    finally:
        asyncio.run(sandbox.stop())


def test_cpu_time_of_the_whole_process_tree_is_reported(containers: ContainerHarness) -> None:
    """Also of who had to be ended."""
    burn = "import os, time\nif os.fork() == 0:\n  while True: pass\nwhile time.process_time() < 0.3: pass\n"
    end = containers.in_none(lambda session: containers.run(session, sys.executable, "-I", "-c", burn, reads=PYTHON))
    assert end.leftovers == 1
    assert end.cpu_seconds > 0.35
