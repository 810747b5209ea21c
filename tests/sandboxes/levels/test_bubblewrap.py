"""The level bubblewrap: what an agent sees, what it can't reach, its limits, and that it ends."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.trees.tree import Tree, changes
from demeanor.core.values.errors import WorldError
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.core.values.sandbox_spec import Ceilings
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.bwrap_args import PORT
from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox, BubblewrapSession
from demeanor.sandboxes.levels.landlock import LandlockSandbox
from demeanor.sandboxes.levels.none import NoneSandbox
from tests.helpers.processes import alive, command_line, parent, read
from tests.sandboxes.conftest import SOON, SandboxHarness, mounts, wait_until
from tests.sandboxes.levels.test_landlock import PYTHON as PUBLIC_PYTHON, READS, needs_landlock

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

LIMITS = Limits(wall=60.0, grace=SOON)
PYTHON = (sys.prefix, sys.base_prefix, sys.executable)


async def run(session: BubblewrapSession, *argv: str, limits: Limits = LIMITS, **more: Any) -> ProcessEnd:
    """Run a program in a session."""
    return await session.run(Launch(argv=argv, **more), limits=limits, last_activity=time.monotonic)


def shell(
    harness: SandboxHarness, script: str, *, reads: tuple[str, ...] = (), limits: Limits = LIMITS, **options: Any
) -> ProcessEnd:
    """Run a shell script in the sandbox, with the harness's mark."""

    async def body(session: BubblewrapSession) -> ProcessEnd:
        return await run(session, "sh", "-c", script, env={"MARK": harness.mark}, reads=reads, limits=limits)

    return harness.in_bubblewrap(body, **options)


def snapshot_after(harness: SandboxHarness, script: str, **options: Any) -> Tree:
    """The workspace after a shell script ran in the sandbox."""

    async def body(session: BubblewrapSession) -> Tree:
        end = await run(session, "sh", "-c", script)
        assert end.exit_code == 0, end.stderr.text
        return await session.snapshot()

    return harness.in_bubblewrap(body, **options)


def test_an_agent_has_no_privileges_inside_and_never_root_outside(harness: SandboxHarness) -> None:
    """No capability, one user, and on the host an unused uid."""

    async def body(session: BubblewrapSession) -> None:
        task = asyncio.create_task(run(session, "sleep", "99", env={"MARK": harness.mark}))
        (pid, *_) = await asyncio.to_thread(wait_until, harness.processes)
        if os.getuid() == 0:
            assert os.stat(f"/proc/{pid}").st_uid >= 65_533  # noqa: PTH116
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    harness.in_bubblewrap(body)
    out = shell(
        harness, "id -u; id -un; grep -h CapEff /proc/self/status; grep NoNewPrivs /proc/self/status"
    ).stdout.text
    assert out.split() == ["1000", "agent", "CapEff:", "0" * 16, "NoNewPrivs:", "1"]


def test_environment_is_the_allow_list_and_nothing_else(
    harness: SandboxHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host's variables stay with the host, and PATH holds only what can be seen."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    async def body(session: BubblewrapSession) -> None:
        end = await run(session, "env", "-0", env={"TOKEN": "a=b\nc", "TERM": "xterm"})
        assert dict(item.split("=", 1) for item in end.stdout.text.split("\0")[:-1]) == {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "USER": "agent",
            "HOME": "/home/agent",
            "PWD": "/workspace",
            "TMPDIR": "/tmp",
            "TMUX_TMPDIR": "/tmp",
            "XDG_CONFIG_HOME": "/home/agent/.config",
            "XDG_CACHE_HOME": "/home/agent/.cache",
            "XDG_DATA_HOME": "/home/agent/.local/share",
            "XDG_STATE_HOME": "/home/agent/.local/state",
            "TOKEN": "a=b\nc",
            "TERM": "xterm",
        }

    harness.in_bubblewrap(body, path="/opt/secret/bin:/usr/bin:/opt/hidden/bin:/bin")


def test_only_what_is_meant_to_be_written_can_be(harness: SandboxHarness) -> None:
    """And what lies in the root is an allow-list."""
    script = (
        "for f in / /usr /etc /dev /home /proc . ~ /tmp /dev/shm; do touch $f/x 2>/dev/null && echo $f; done; ls -A /; "
        "echo y > /dev/null && echo null; hostname"
    )
    out = shell(harness, script).stdout.text.split()
    assert out[:4] == [".", "/home/agent", "/tmp", "/dev/shm"]
    known = {"bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "nix", "gnu", "proc", "sbin", "tmp", "usr"}
    assert set(out[4:-2]) <= {*known, "workspace"}
    assert out[-2:] == ["null", "sandbox"]


def test_an_installation_is_shown_where_it_lies_and_can_only_be_read(harness: SandboxHarness) -> None:
    """Also one in a folder that only we may enter, also by way of a link; what lies beside it is not there."""
    tools = harness.folder / "closed/tools"
    (tools / "bin").mkdir(parents=True)
    (tools / "bin/agent").write_text("#!/bin/sh\necho agent runs\n")
    (tools / "bin/agent").chmod(0o755)
    (tools.parent / "diary").write_text("secret")
    tools.parent.chmod(0o700)
    (harness.folder / "link").symlink_to(tools)
    script = f"agent; {harness.folder}/link/bin/agent; ls {tools.parent}; touch {tools}/x || echo read-only"
    end = shell(harness, script, reads=(str(harness.folder / "link"),), path=f"{tools}/bin:/usr/bin:/bin")
    assert end.stdout.text == "agent runs\nagent runs\ntools\nread-only\n"
    assert shell(harness, f"ls {tools}; true").stdout.text == ""


def test_several_programs_share_workspace_home_and_disk(harness: SandboxHarness) -> None:
    """One after the other in one session; the adapter's files are in HOME, and files left there can be collected."""

    async def body(session: BubblewrapSession) -> None:
        session.write_home_files({".config/agent.json": b"{}"})
        assert session.collect_files((".config/agent.json",)) == {}
        await run(session, "sh", "-c", "echo one > ~/log; echo one > file; cat ~/.config/agent.json > seen")
        end = await run(session, "sh", "-c", "cat ~/log file seen; ln -s /etc/passwd ~/evil; exit 3")
        assert (end.exit_code, end.stdout.text) == (3, "one\none\n{}")
        assert session.collect_files(("log", "evil", "none")) == {"log": b"one\n"}
        with pytest.raises(ValueError, match="leads out"):
            session.write_home_files({"../x": b""})

    harness.in_bubblewrap(body)


def test_the_door_is_reached_from_within_and_from_nowhere_else(harness: SandboxHarness) -> None:
    """The socket was made inside: what connects in there is served out here, and out here nothing listens."""
    code = f"import socket; s = socket.create_connection(('127.0.0.1', {PORT})); print(s.recv(9).decode())"

    async def body(session: BubblewrapSession) -> None:
        listener = session.listener
        assert listener is not None
        listener.setblocking(False)
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(run(session, sys.executable, "-I", "-c", code, reads=PYTHON))
        peer, _ = await loop.sock_accept(listener)
        await loop.sock_sendall(peer, b"welcome")
        peer.close()
        assert (await task).stdout.text == "welcome\n"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", PORT), timeout=SOON)

    harness.in_bubblewrap(body)


def test_networks_differ(harness: SandboxHarness) -> None:
    """`host` has the host's interfaces; `none` has no listener; neither is the usual one."""
    code = "import socket; print(*(name for _, name in socket.if_nameindex()))"
    own = " ".join(sorted(name for _, name in socket.if_nameindex()))

    async def look(session: BubblewrapSession) -> tuple[str, bool]:
        end = await run(session, sys.executable, "-I", "-c", code, reads=PYTHON)
        return " ".join(sorted(end.stdout.text.split())), session.listener is not None

    assert harness.in_bubblewrap(look, network="host") == (own, False)
    assert harness.in_bubblewrap(look, network="none") == ("lo", False)
    assert harness.in_bubblewrap(look) == ("lo", True)


CHANGES = {
    "nothing": "true",
    "added": "echo x > new; mkdir -p a/b; echo y > a/b/c",
    "changed": "echo x >> README.md",
    "changed back": "cp README.md /tmp/r; echo x >> README.md; cat /tmp/r > README.md",
    "touched": "touch README.md docs/guide.txt",
    "deleted": "rm README.md",
    "folder deleted": "rm -r docs",
    "folder made anew": "rm -r docs; mkdir docs; echo x > docs/other",
    "folder made a file": "rm -r docs; echo x > docs",
    "file made a folder": "rm README.md; mkdir README.md; echo x > README.md/x",
    "file made a link": "ln -sf /etc/passwd README.md",
    "folder made a link": "rm -r docs; ln -s /etc docs",
    "folder renamed": "mv docs manual",
    "made executable": "chmod +x README.md",
    "locked": "chmod 000 README.md docs",
    "fifo": "mkfifo fifo",
    "hard link": "ln README.md again",
    "giant": "truncate -s 1T giant || truncate -s 1G giant",
    "not UTF-8": "touch \"$(printf 'caf\\351')\"",
    "opaque of its own": "setfattr -n user.overlay.opaque -v y docs 2>/dev/null || true",
}


def test_a_snapshot_of_an_overlay_equals_that_of_a_copy(harness: SandboxHarness) -> None:
    """Whatever was done, the tree is the one that a plain folder would have given."""
    overlaid = snapshots(harness, BubblewrapSandbox(root=harness.folders))
    copied = snapshots(harness, BubblewrapSandbox(root=harness.folders, overlay=False))
    plain = snapshots(harness, NoneSandbox(root=harness.folders))
    for change, tree in overlaid.items():
        shapes = {path: _shape(entry) for path, entry in tree.entries.items()}
        assert (change, shapes) == (change, {path: _shape(entry) for path, entry in copied[change].entries.items()})
        assert (change, tree.gaps) == (change, copied[change].gaps)
        if change in {"giant", "changed back"}:  # without isolation, their commands do something else
            continue
        assert (change, _changes(harness, tree)) == (change, _changes(harness, plain[change]))


def snapshots(harness: SandboxHarness, sandbox: Any) -> dict[str, Tree]:
    """The workspace after each of the changes, each in a session of its own."""
    trees: dict[str, Tree] = {}

    async def main() -> None:
        await sandbox.start()
        try:
            for change, script in CHANGES.items():
                async with sandbox.open_session(harness.template) as session:
                    end = await run(session, "sh", "-c", script, env={"MARK": harness.mark})
                    assert end.exit_code == 0 or isinstance(sandbox, NoneSandbox), end.stderr.text
                    trees[change] = await session.snapshot()
        finally:
            await sandbox.stop()

    asyncio.run(main())
    assert harness.processes() == []
    assert list(harness.folders.iterdir()) == []
    return trees


def _changes(harness: SandboxHarness, tree: Tree) -> set[tuple[str, str]]:
    return {(change.path, change.how) for change in changes(harness.template.tree, tree)}


def test_a_deletion_can_not_be_made_up(harness: SandboxHarness) -> None:
    """What an overlay takes for the word that a name is gone can't be made by an agent."""
    assert snapshot_after(harness, "! mknod w c 0 0").entries.keys() == harness.template.tree.entries.keys()


def _shape(entry: Any) -> tuple[object, ...]:
    large = entry.size > 2**23  # its fingerprint holds its date
    return entry.kind, entry.executable, entry.target, entry.size, None if large else entry.sha256


def test_very_many_files_are_in_the_snapshot_and_reported(harness: SandboxHarness) -> None:
    """A hundred thousand of them: the rest is left out, and that is said."""
    script = "mkdir -p a/0 && (cd a/0 && seq 1000 | xargs touch); for i in $(seq 9); do cp -al a/0 a/$i; done; "
    script += "for i in $(seq 10); do cp -al a b$i; done"
    tree = snapshot_after(harness, script)
    assert len(tree.entries) > 99_000
    assert any("more than 100000" in gap for gap in tree.gaps)


def test_disk_processes_and_memory_end_where_they_should(harness: SandboxHarness) -> None:
    """Each limit is met, and others are not hurt by it."""
    ceilings = Ceilings(disk=32 * 2**20, files=500, processes=40, memory=200 * 2**20)
    fill = "for f in ~/x /tmp/x x /dev/shm/x; do head -c 20000000 /dev/zero > $f || echo full $f; done; rm ~/x"
    out = shell(harness, fill, ceilings=ceilings).stdout.text.split()
    assert out == ["full", "/tmp/x", "full", "x", "full", "/dev/shm/x"]
    assert "No space" in shell(harness, "seq 1000 | xargs touch", ceilings=ceilings).stderr.text
    forks = (
        "import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(99)\n    n += 1\n"
        "except OSError: print(n)"
    )
    eats = "x = []\nwhile True: x.append(bytearray(b'x') * 2**20)"

    async def body(session: BubblewrapSession) -> None:
        end = await run(session, sys.executable, "-I", "-c", forks, reads=PYTHON)
        assert 30 <= int(end.stdout.text) < 40
        assert end.leftovers == int(end.stdout.text)
        end = await run(session, sys.executable, "-I", "-c", eats, reads=PYTHON)
        assert (end.ended_by, end.signal) == ("memory", signal.SIGKILL)
        assert 200 * 2**20 < end.peak_bytes < 2**30

    harness.in_bubblewrap(body, ceilings=ceilings)


def test_a_short_peak_of_memory_is_a_breach_too(harness: SandboxHarness) -> None:
    """Between two polls, and below what the control group allows: the kernel's own record of the peak counts."""
    ceilings = Ceilings(disk=2**28, memory=60 * 2**20)
    eats = "bytearray(80 * 2**20)"

    async def body(session: BubblewrapSession) -> list[str]:
        codes = (eats, "pass", f"import os\nif os.fork() == 0: {eats}\nelse: os.wait()")
        return [(await run(session, sys.executable, "-I", "-S", "-c", code, reads=PYTHON)).ended_by for code in codes]

    sandbox = BubblewrapSandbox(root=harness.folders, ceilings=ceilings)
    grouped = "with the disk" in sandbox.facts["limit.memory"]
    assert harness.in_sandbox(sandbox, body) == (["memory", "exit", "memory"] if grouped else ["exit"] * 3)


ONE_BURST = "x = bytearray(800 * 2**20)\nprint('burst')"
THREADS = """
import threading
def take(): mine.append(bytearray(20 * 2**20))
mine = []
threads = [threading.Thread(target=take) for _ in range(40)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("burst" if len(mine) == 40 else "")
"""
MANY_PROCESSES = """
import os, signal
for _ in range(20):
    if os.fork() == 0:
        mine = bytearray(b"x") * (20 * 2**20)
        signal.pause()
signal.pause()
"""
SHARED = """
import mmap, os
mine = mmap.mmap(-1, 200 * 2**20)
for start in range(0, len(mine), 4096): mine[start] = 1
mine.close()
print("burst")
"""


@pytest.mark.parametrize("level", [BubblewrapSandbox, pytest.param(LandlockSandbox, marks=needs_landlock)])
def test_memory_is_limited_where_there_are_no_control_groups(harness: SandboxHarness, level: type[Any]) -> None:
    """A process can't have more data than its limit for a moment either, in one thread or many: the kernel refuses it.
    Many processes together are polled, and shared pages also show in the kernel's record of the peak."""
    harness.folder.chmod(0o755)
    sandbox = level(root=harness.folders, ceilings=Ceilings(memory=60 * 2**20))
    sandbox._runtime._memory = None  # as on a machine where no control group can be created
    told = "soft 62914560 (polling), hard 78643200 of each process (RLIMIT_DATA)"
    assert sandbox.facts["limit.memory"] == told
    python, reads = (sys.executable, PYTHON) if level is BubblewrapSandbox else (PUBLIC_PYTHON, READS)

    async def body(session: BubblewrapSession) -> dict[str, tuple[str, str]]:
        codes = {"one": ONE_BURST, "threads": THREADS, "processes": MANY_PROCESSES, "shared": SHARED}
        ends = {name: await run(session, python, "-I", "-S", "-c", code, reads=reads) for name, code in codes.items()}
        return {name: (end.ended_by, end.stdout.text.strip()) for name, end in ends.items()}

    found = harness.in_sandbox(sandbox, body)
    assert found["one"] == ("exit", "")  # the kernel refuses it; polling would kill the process
    assert found["threads"][1] == ""
    assert found["processes"] == ("memory", "")
    assert found["shared"][0] == "memory"


def control_groups() -> set[str]:
    """The names of all control groups. `os.walk` passes over those that are removed at the same time."""
    return {name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names}


def groups_of(pid: int) -> str:
    """The control groups that a process is in."""
    return read(pid, "cgroup")


def test_an_attempt_has_a_control_group_of_its_own_which_goes_with_it(harness: SandboxHarness) -> None:
    """Everything it starts is in there."""
    if "with the disk" not in BubblewrapSandbox().facts["limit.memory"]:
        pytest.skip("no control group with memory can be made here: MEMORY IS ONLY WATCHED")

    async def body(session: BubblewrapSession) -> set[str]:
        launch = Launch(argv=("sh", "-c", "sleep 99 & sleep 99"), env={"MARK": harness.mark})
        task = asyncio.create_task(session.run(launch, limits=LIMITS, last_activity=time.monotonic))
        await asyncio.to_thread(wait_until, lambda: len(harness.processes()) >= 3)
        groups = {groups_of(pid) for pid in harness.processes()}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return groups

    (group,) = harness.in_bubblewrap(body)
    (name,) = {line.rpartition("/")[2] for line in group.splitlines() if "/demeanor-" in line}
    wait_until(lambda: name not in control_groups())


def test_cpu_time_of_the_whole_process_tree_is_reported(harness: SandboxHarness) -> None:
    """Of a grandchild that ended, and of a daemon that had to be ended."""
    burn = "t = time.process_time()\nwhile time.process_time() - t < 0.15: pass\n"
    code = (
        "import os, time, subprocess, sys\n"
        f"subprocess.run([sys.executable, '-I', '-c', {('import time' + chr(10) + burn)!r}])\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        + "".join(f"        {line}\n" for line in burn.splitlines())
        + "        open('burnt', 'w').close()\n        time.sleep(99)\n    os._exit(0)\n"
        "while not os.path.exists('burnt'): time.sleep(0.01)\n"
    )

    async def body(session: BubblewrapSession) -> ProcessEnd:
        return await run(session, sys.executable, "-I", "-c", code, reads=PYTHON)

    end = harness.in_bubblewrap(body)
    assert end.leftovers == 1
    assert 0.28 < end.cpu_seconds < 6  # starting Python twice costs more on a busy machine


STAYS = """
import os, signal, time
def daemon(life):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: life()
        os._exit(0)
    os.wait()
def deaf():
    for number in set(signal.Signals) - {9, 19}: signal.signal(number, signal.SIG_IGN)
    open("deaf", "w").close()
    while True: time.sleep(1)
def reborn():
    open("reborn", "w").close()
    while os.fork() == 0: pass
    os._exit(0)
daemon(deaf)
for _ in range(5): daemon(reborn)
while not (os.path.exists("deaf") and os.path.exists("reborn")): time.sleep(0.001)
print("ready", flush=True)
"""
SLEEPS = 'os.execvp("sleep", ["sleep", "99"])'


@pytest.mark.parametrize("end", ["", SLEEPS], ids=["ends by itself", "is ended"])
def test_daemons_die_with_their_agent(harness: SandboxHarness, end: str) -> None:
    """Deaf ones, and those that fork themselves anew all the time."""

    async def ended(session: BubblewrapSession) -> ProcessEnd:
        launch = Launch(argv=(sys.executable, "-I", "-c", STAYS + end), env={"MARK": harness.mark}, reads=PYTHON)
        limits = Limits(wall=SOON, idle=0.1 if end else None, grace=0.2)
        done = await session.run(launch, limits=limits, last_activity=harness.active_until_asleep)
        assert harness.processes() == []
        return done

    done = harness.in_bubblewrap(ended)
    assert done.stdout.text == "ready\n"
    assert done.ended_by == ("idle" if end else "exit")
    assert done.leftovers >= (0 if end else 1)


def test_an_agent_that_heeds_term_ends_itself(harness: SandboxHarness) -> None:
    """TERM reaches it and its children, and neither bubblewrap nor its init, which would end all at once."""
    child = 'trap "echo child; exit" TERM; echo up; while :; do sleep 99 & wait; done'
    script = f"trap 'echo bye; exit 7' TERM; sh -c '{child}' & wait"

    async def body(session: BubblewrapSession) -> ProcessEnd:
        launch = Launch(argv=("sh", "-c", script), env={"MARK": harness.mark})
        limits = Limits(wall=SOON, idle=0.1, grace=SOON)
        return await session.run(launch, limits=limits, last_activity=harness.active_until_asleep)

    end = harness.in_bubblewrap(body)
    assert (end.exit_code, end.ended_by) == (7, "idle")
    assert sorted(end.stdout.text.split()) == ["bye", "child", "up"]


def test_killing_the_supervisor_ends_everything_and_voids(harness: SandboxHarness) -> None:
    """The fork server kills the orphans before the attempt ends."""

    async def body(session: BubblewrapSession) -> None:
        task = asyncio.create_task(run(session, "sleep", "99", env={"MARK": harness.mark}))
        (pid,) = await asyncio.to_thread(wait_until, harness.processes)
        os.kill(_supervisor_of(pid), signal.SIGKILL)
        with pytest.raises(WorldError, match="supervisor was killed") as failure:
            await task
        assert failure.value.cause is VoidCause.SANDBOX
        assert not alive(pid)

    harness.in_bubblewrap(body)


def test_no_process_outlives_its_supervisor_if_the_fork_server_is_killed_too(harness: SandboxHarness) -> None:
    """It is the init of a pid namespace: the kernel kills everything in it, also a daemon in its own session."""

    async def body(session: BubblewrapSession) -> None:
        script = "setsid sleep 98 & exec sleep 99"
        task = asyncio.create_task(run(session, "sh", "-c", script, env={"MARK": harness.mark}))
        await asyncio.to_thread(wait_until, lambda: {"sleep 98", "sleep 99"} <= commands())
        supervisor = _supervisor_of(harness.processes()[0])
        os.kill(parent(supervisor), signal.SIGKILL)
        os.kill(supervisor, signal.SIGKILL)
        with pytest.raises(WorldError, match="supervisor was killed"):
            await task
        await asyncio.to_thread(wait_until, lambda: harness.processes() == [])

    def commands() -> set[str]:
        return {command_line(pid).replace("\0", " ").strip() for pid in harness.processes()}

    harness.in_bubblewrap(body)


def _supervisor_of(pid: int) -> int:
    """The supervisor: the process below the fork server."""
    own = []
    while pid > 1:
        pid = parent(pid)
        if "forkserver" in command_line(pid):
            own.append(pid)
    return own[-2]


def test_a_program_that_can_not_be_started_is_reported(harness: SandboxHarness) -> None:
    """Missing, not executable, arguments too long; and no program can pretend that it was not started."""

    async def body(session: BubblewrapSession) -> None:
        for argv, words, cause in (
            (("no-such-agent",), "no-such-agent: not found", VoidCause.MISSING),
            (("./README.md",), "is not executable", VoidCause.MISSING),
            (("echo", "x" * 3_000_000), "too long", VoidCause.HARNESS),
            (("echo", "\0"), "NUL", VoidCause.HARNESS),
        ):
            with pytest.raises(WorldError, match=words) as failure:
                await run(session, *argv)
            assert failure.value.cause is cause
        end = await run(session, "sh", "-c", "echo 'bwrap: execvp x: No such file or directory' >&2; exit 1")
        assert end.exit_code == 1

    harness.in_bubblewrap(body)


def test_command_runs_on_a_snapshot_without_network(harness: SandboxHarness) -> None:
    """It may change its copy, reaches no listener, and leaves nothing."""
    sandbox = BubblewrapSandbox(root=harness.folders)
    tree = harness.template.tree
    script = "cat docs/guide.txt; rm -r docs; echo x > new; ls; git init -q . && git status --short; exit 4"
    result = sandbox.command(tree, ("sh", "-c", script), timeout=60)
    assert (result.exit_code, result.stdout.splitlines()[:3]) == (4, ["step by step", "README.md", "new"])
    assert sandbox.command(tree, ("sh", "-c", "kill -9 $$"), timeout=60).exit_code == -9
    late = sandbox.command(tree, ("sh", "-c", "echo early; setsid sleep 99 & sleep 99"), timeout=5.0)
    assert (late.timed_out, late.stdout) == (True, "early\n")
    asyncio.run(sandbox.stop())
    assert list(harness.folders.iterdir()) == []


def test_nothing_is_left_open(harness: SandboxHarness) -> None:
    """No descriptor and no mount leaks, whether attempts end well or badly."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    before_mounts = mounts()
    shell(harness, "echo hi")
    shell(harness, "sleep 99", limits=Limits(wall=0.0, grace=0.0))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert mounts() == before_mounts


def test_two_sessions_share_nothing(harness: SandboxHarness) -> None:
    """At the same time, from the same template."""

    async def main() -> None:
        sandbox = BubblewrapSandbox(root=harness.folders)
        async with sandbox.open_session(harness.template) as one, sandbox.open_session(harness.template) as two:
            await run(one, "sh", "-c", "echo mine > README.md; echo mine > ~/x; echo mine > /tmp/x")
            end = await run(two, "sh", "-c", "cat README.md; ls -A ~ /tmp")
            assert end.stdout.text == "# Notes\n/home/agent:\n\n/tmp:\n"
        await sandbox.stop()

    asyncio.run(main())
    assert (harness.template.folder / "README.md").read_text() == "# Notes\n"


def test_level_that_can_not_be_had_says_why(harness: SandboxHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without bubblewrap there is no such level, and nothing less in its place."""
    monkeypatch.setenv("PATH", str(harness.folder))
    sandbox = BubblewrapSandbox(root=harness.folders)
    with pytest.raises(WorldError, match="bwrap is not on PATH") as failure:
        sandbox.verify()
    assert failure.value.cause is VoidCause.SANDBOX
    asyncio.run(sandbox.stop())
