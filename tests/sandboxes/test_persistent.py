"""Persistent sandboxes: programs, files, limits and users in them, as root and as an ordinary user."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from demeanor.core.values.errors import WorldError
from demeanor.core.values.ports import Template
from demeanor.core.values.process import Launch, Limits, Output, ProcessEnd
from demeanor.core.values.sandbox_spec import Ceilings, Network
from demeanor.plugins.harbor.images.layer import apply_layer
from demeanor.sandboxes.host.certificates import certificate_variables
from demeanor.sandboxes.host.uids import chown_tree, unused_uid
from demeanor.sandboxes.persistent.client import PersistentSandbox
from demeanor.sandboxes.persistent.factory import PersistentOptions, PersistentSandboxes
from demeanor.sandboxes.persistent.spec import ExecRequest, ExecResult
from demeanor.sandboxes.probes.runner import SURVIVAL, probe
from demeanor.sandboxes.supervisor.privileges import KEPT_CAPABILITIES
from tests.helpers.processes import command_line, with_command
from tests.helpers.small_rootfs import add_python, small_rootfs
from tests.sandboxes.conftest import SOON, wait_until

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not here")

T = TypeVar("T")
REPOSITORY = Path(__file__).parents[2]
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
OWN = ("write in /usr or /etc", "read /etc/shadow")
"""Probes that reach only the sandbox's own files, and so may succeed."""

AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="many users can be had as root only")


@pytest.fixture(scope="module")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PersistentSandboxes]:
    """What sandboxes have in common, made once; each test opens a sandbox of its own."""
    folder = tmp_path_factory.mktemp("persistent")
    with opened(PersistentSandboxes(folder)) as sandboxes:
        yield sandboxes
    assert list(folder.iterdir()) == []


@contextmanager
def opened(sandboxes: PersistentSandboxes) -> Iterator[PersistentSandboxes]:
    """Close them at the end."""
    try:
        yield sandboxes
    finally:
        sandboxes.close()


def in_persistent(
    body: Callable[[PersistentSandbox], Awaitable[T]],
    sandboxes: PersistentSandboxes,
    options: PersistentOptions | None = None,
) -> T:
    """The result of `body`, called with a new sandbox; afterwards nothing is left of it."""

    async def main() -> T:
        sandbox = await sandboxes.open(options or PersistentOptions())
        try:
            return await body(sandbox)
        finally:
            await sandbox.close()

    try:
        return asyncio.run(main())
    finally:
        assert [path.name for path in sandboxes.folder.iterdir() if not path.name.startswith("etc")] == []


def in_own(
    body: Callable[[PersistentSandbox], Awaitable[T]],
    folder: Path,
    options: PersistentOptions | None = None,
    **settings: Any,
) -> T:
    """The same in a sandbox with other settings; afterwards nothing is left in the folder."""
    with opened(PersistentSandboxes(folder, **settings)) as sandboxes:
        result = in_persistent(body, sandboxes, options)
    assert list(folder.glob("demeanor-*")) == []
    return result


async def sh(
    sandbox: PersistentSandbox,
    script: str,
    *,
    user: str = "root",
    timeout: float | None = SOON,  # noqa: ASYNC109
) -> ExecResult:
    """How a script ends."""
    return await sandbox.run(ExecRequest(argvs=(("sh", "-c", script),), env=PATH, user=user), timeout=timeout)


def processes(mark: str) -> list[str]:
    """Every process on this machine that has a mark in its command line."""
    return [command_line(pid) for pid in with_command(mark)]


class PersistentLevel:
    """Persistent sandboxes as an isolation level, for the probes that every level must pass."""

    name = "bubblewrap"

    def __init__(self, rootfs: Path | None) -> None:
        self._sandboxes = PersistentSandboxes()
        self._rootfs = rootfs

    @asynccontextmanager
    async def open_session(self, template: Template, *, network: Network | None = None) -> AsyncIterator[Any]:
        """A sandbox with the template as its workspace."""
        sandbox = await self._sandboxes.open(PersistentOptions(network=network or "none", rootfs=self._rootfs))
        try:
            await sandbox.put_folder(template.folder, "/workspace")
            yield PersistentTestSession(sandbox)
        finally:
            await sandbox.close()

    async def stop(self) -> None:
        """Take everything down."""
        self._sandboxes.close()


class PersistentTestSession:
    """One persistent sandbox as a session."""

    def __init__(self, sandbox: PersistentSandbox) -> None:
        self._sandbox = sandbox
        self.listener = sandbox.listener

    async def prepare(self, launches: Sequence[Launch]) -> None:
        """It is prepared already."""

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program."""
        done = await self._sandbox.run(
            ExecRequest(argvs=(launch.argv,), env=PATH, cwd="/workspace"), timeout=limits.wall
        )
        return ProcessEnd(exit_code=done.code, signal=None, ended_by="exit", stdout=Output(text=done.stdout),
                          stderr=Output(text=done.stderr), seconds=0.0)  # fmt: skip


def check_isolation(rootfs: Path | None = None) -> str:
    """What the probes find open that should not be."""

    async def main() -> str:
        level: Any = PersistentLevel(rootfs)
        try:
            found = await probe(level)
        finally:
            await level.stop()
        assert len(found) > 30
        by_design = (*OWN, *SURVIVAL)  # daemons live until the sandbox is closed
        return "".join(f"{one.name}: {one.found}\n" for one in found if not one.expected and one.name not in by_design)

    before = [Path(path).stat() for path in ("/etc", "/usr")]
    holes = asyncio.run(main())
    after = [Path(path).stat() for path in ("/etc", "/usr")]
    assert [one.st_mtime_ns for one in before] == [one.st_mtime_ns for one in after] or os.getuid() == 0
    return holes


def test_the_isolation_holds() -> None:
    """The probes of every level, except those that reach the sandbox's own files."""
    assert check_isolation() == ""


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="the system has no Python to put into an image")
def test_the_isolation_holds_on_an_image(tmp_path: Path) -> None:
    """The same probes in a root file system of its own."""
    tmp_path.chmod(0o755)
    rootfs = small_rootfs(tmp_path / "rootfs")
    add_python(rootfs)
    assert check_isolation(rootfs) == ""


def test_several_can_be_opened_at_once(tmp_path: Path) -> None:
    """What they have in common is made once."""

    async def main() -> list[str]:
        sandboxes = PersistentSandboxes(tmp_path)
        try:
            opened = await asyncio.gather(*(sandboxes.open(PersistentOptions()) for _ in range(6)))
            said = [(await sh(sandbox, "tail -n 1 /etc/passwd | cut -d: -f1")).stdout for sandbox in opened]
            for sandbox in opened:
                await sandbox.close()
        finally:
            sandboxes.close()
        return said

    assert set(asyncio.run(main())) == {"_apt\n"}


def test_everything_can_be_written_and_nothing_reaches_the_host(sandboxes: PersistentSandboxes) -> None:
    """Files are made, replaced and deleted all over the root; the host's stay as they are."""
    mark = uuid.uuid4().hex
    places = ("usr", "usr/bin", "usr/local/lib", "etc", "opt", "var", "app")
    script = "".join(f"mkdir -p /{place} && echo x > /{place}/{mark}\n" for place in places)
    script += f"rm /usr/bin/env && ls /usr/bin/env\ncat /app/{mark} /usr/bin/{mark}\n"
    script += "echo hi > /dev/stdout; echo no > /dev/stderr"
    done = in_persistent(lambda sandbox: sh(sandbox, script), sandboxes)
    assert (done.code, done.stdout) == (0, "x\nx\nhi\n")
    assert done.stderr.endswith("no\n")
    assert Path("/usr/bin/env").exists()
    assert not any(Path("/", place, mark).exists() for place in places)


@AS_ROOT
def test_root_of_the_host_gives_it_many_users(sandboxes: PersistentSandboxes) -> None:
    """Users inside do not exist outside; files of the base belong to root, and can be changed in place."""

    async def body(sandbox: PersistentSandbox) -> None:
        script = "useradd -m bob && echo '# x' >> /usr/bin/ldd && stat -c %U /usr/bin/ldd; cat /proc/self/uid_map"
        owner, numbers = (await sh(sandbox, script)).stdout.splitlines()
        first, outside, count = map(int, numbers.split())
        assert (owner, first, count) == ("root", 0, 65536)
        assert outside >= 2**30
        bob = await sh(sandbox, "id -un; echo $HOME; touch /etc/no", user="bob")
        assert (bob.code, bob.stdout) == (1, "bob\n/home/bob\n")
        assert (await sh(sandbox, "id -u; id -gn", user="1234:bob")).stdout == "1234\nbob\n"
        with pytest.raises(WorldError, match="there is no user 'mallory' in the sandbox"):
            await sh(sandbox, "true", user="mallory")

    in_persistent(body, sandboxes)


@AS_ROOT
def test_root_without_shifted_mounts_is_as_a_plain_user(tmp_path: Path) -> None:
    """If the kernel or a file system does not support them: one user, who does not exist on the host."""
    script = (
        "cat /proc/self/uid_map; echo x > /usr/local/lib/x && rm /usr/bin/env && touch /app && echo y > /dev/stdout"
    )
    done = in_own(lambda sandbox: sh(sandbox, script), tmp_path, many_users=False)
    numbers, *said = done.stdout.splitlines()
    first, outside, count = map(int, numbers.split())
    assert (first, count, said, done.stderr) == (0, 1, ["y"], "")
    assert outside not in (0, os.getuid())


def test_what_is_left_running_lives_until_the_end_and_no_longer(sandboxes: PersistentSandboxes) -> None:
    """A daemon is there for the next program, and is dead when the sandbox is closed."""
    mark = f"mark-{uuid.uuid4().hex}"

    async def body(sandbox: PersistentSandbox) -> None:
        start = f"setsid bash -c 'exec -a {mark} sleep 4321' > /dev/null 2>&1 & until pgrep -f ^{mark}; do :; done"
        assert (await sh(sandbox, start)).code == 0
        assert (await sh(sandbox, f"pgrep -f ^{mark}")).code == 0
        assert processes(mark)

    in_persistent(body, sandboxes)
    assert processes(mark) == []


def test_a_program_out_of_time_is_ended_with_everything_it_started(sandboxes: PersistentSandboxes) -> None:
    """Also what has left its session; others stay."""

    async def body(sandbox: PersistentSandbox) -> tuple[ExecResult, str]:
        await sh(sandbox, "sleep 1111 > /dev/null 2>&1 &")
        ended = await sh(sandbox, "(setsid sleep 2222 &); echo begun; sleep 3333", timeout=3.0)
        return ended, (await sh(sandbox, "pgrep -a sleep")).stdout

    ended, left = in_persistent(body, sandboxes)
    assert (ended.timed_out, ended.stdout) == (True, "begun\n")
    assert [line.split()[2] for line in left.splitlines()] == ["1111"]


def test_a_cancelled_program_is_ended_too(sandboxes: PersistentSandboxes) -> None:
    """As Harbor does with an agent that takes too long."""

    async def body(sandbox: PersistentSandbox) -> str:
        task = asyncio.create_task(sh(sandbox, "touch /tmp/begun; setsid sleep 2222"))
        while (await sh(sandbox, "test -e /tmp/begun")).code:
            pass
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return (await sh(sandbox, "pgrep -a sleep")).stdout

    assert in_persistent(body, sandboxes) == ""


def test_close_ends_a_program_that_is_still_running(sandboxes: PersistentSandboxes) -> None:
    """Closing does not wait for the program, and the pending run() reports that the sandbox was closed."""

    async def body(sandbox: PersistentSandbox) -> None:
        running = asyncio.create_task(sh(sandbox, "touch /tmp/started; sleep 2222"))
        while (await sh(sandbox, "test -e /tmp/started")).code:
            pass
        await sandbox.close()
        with pytest.raises(WorldError, match="the sandbox was closed"):
            await running

    in_persistent(body, sandboxes)


def test_killing_all_processes_inside_leaves_the_sandbox_running(sandboxes: PersistentSandboxes) -> None:
    """The init stays, and no zombies are left."""

    async def body(sandbox: PersistentSandbox) -> tuple[int, str]:
        killed = await sh(sandbox, "(sleep 1111 &); kill -9 -1")
        return killed.code, (await sh(sandbox, "ps -eo stat=,args=")).stdout

    code, left = in_persistent(body, sandboxes)
    assert code == 137
    assert "sleep" not in left
    assert not any(line.startswith("Z") for line in left.splitlines())


def test_an_exec_process_reveals_nothing(sandboxes: PersistentSandboxes) -> None:
    """It shows no path of the host, has only its socket open, and has no more privileges than root inside."""
    script = r"""
p=$(pgrep -f ^demeanor-exec); tr '\0' ' ' < /proc/$p/cmdline; tr '\0' ' ' < /proc/$p/environ; echo
ls -l /proc/$p/fd | sed -n 's/.*-> //p' | grep -v '/dev/null\|socket:\|pipe:'
can() { grep -E 'Cap|NoNew|Seccomp:' /proc/$1/status; }
[ "$(can $p)" = "$(can self)" ] && echo same; sed -n 's/^CapBnd:\t//p' /proc/self/status
"""
    done = in_persistent(lambda sandbox: sh(sandbox, script), sandboxes)
    assert set(done.stdout.split()) == {"demeanor-exec", "same", f"{sum(1 << one for one in KEPT_CAPABILITIES):016x}"}


def test_output_is_complete_and_bounded(sandboxes: PersistentSandboxes) -> None:
    """A megabyte comes whole; a flood comes by its ends, and costs no more."""

    async def body(sandbox: PersistentSandbox) -> tuple[ExecResult, ExecResult]:
        whole = await sh(sandbox, "seq 1 150000; echo last >&2")
        request = ExecRequest(argvs=(("sh", "-c", "yes | head -c 5000000; echo end"),), env=PATH)
        return whole, await sandbox.run(request, output_bytes=1000)

    whole, flood = in_persistent(body, sandboxes)
    assert whole.stdout == "".join(f"{number}\n" for number in range(1, 150001))
    assert whole.stderr == "last\n"
    assert len(flood.stdout) < 2000
    assert flood.stdout.endswith("end\n")


def test_limits_hold(tmp_path: Path) -> None:
    """The disk is full at its size; too much memory ends everything, and that is reported."""

    async def body(sandbox: PersistentSandbox) -> ExecResult:
        full = await sh(sandbox, "head -c 40M /dev/zero > /opt/big; rm /opt/big")
        for script in ("head -c 900M /dev/zero | tail -c 800M | cat > /dev/null", "true"):
            with pytest.raises(WorldError, match="more than 62914560"):
                await sh(sandbox, script)
        return full

    full = in_own(body, tmp_path, ceilings=Ceilings(disk=2**25, memory=60 * 2**20))
    assert "No space left" in full.stderr
    code = "import os; n = 0\ntry:\n  while os.fork(): n += 1\n  os.kill(os.getpid(), 19)\nexcept OSError: print(n)"
    crowd = in_own(lambda sandbox: sh(sandbox, f"python3 -c '{code}'"), tmp_path, ceilings=Ceilings(processes=30))
    assert 10 < int(crowd.stdout) < 30


def test_an_oom_kill_is_reported_before_the_exit_code(tmp_path: Path) -> None:
    """The kernel kills faster than the supervisor polls; the exit code of the shell must not hide the breach."""

    async def body(sandbox: PersistentSandbox) -> None:
        with pytest.raises(WorldError, match="more than 62914560"):
            await sh(sandbox, "python3 -S -c 'bytearray(2**28)'; exit 0")

    with opened(PersistentSandboxes(tmp_path, ceilings=Ceilings(disk=2**20, memory=60 * 2**20))) as sandboxes:
        for _ in range(5):
            in_persistent(body, sandboxes)


def test_a_short_peak_of_memory_is_reported_too(tmp_path: Path) -> None:
    """Between two polls, and below what the control group allows: the kernel's own record of the peak counts."""

    async def body(sandbox: PersistentSandbox) -> None:
        with pytest.raises(WorldError, match="more than 62914560"):
            await sh(sandbox, "python3 -S -c 'bytearray(80 * 2**20)'; exit 0")

    in_own(body, tmp_path, ceilings=Ceilings(disk=2**28, memory=60 * 2**20))


def test_a_program_that_cant_be_run_says_why(sandboxes: PersistentSandboxes) -> None:
    """As a shell would: 127 for what is not there, 126 for what can't be run or entered."""

    async def body(sandbox: PersistentSandbox) -> list[tuple[int, str]]:
        requests = [
            ExecRequest(argvs=(("no-such-program",),), env=PATH),
            ExecRequest(argvs=(("true",),), env=PATH, cwd="/no/such/folder"),
            ExecRequest(argvs=(("no-such-program",), ("echo", "second")), env=PATH),
        ]
        ends = [await sandbox.run(request) for request in requests]
        return [(done.code, done.stderr or done.stdout) for done in ends]

    missing, nowhere, second = in_persistent(body, sandboxes)
    assert missing == (127, "demeanor: [Errno 2] not found: 'no-such-program'\n")
    assert nowhere[0] == 126
    assert "/no/such/folder" in nowhere[1]
    assert second == (0, "second\n")


def test_files_go_in_and_come_out(sandboxes: PersistentSandboxes, tmp_path: Path) -> None:
    """With their modes and links; what is not wanted stays."""
    source = tmp_path / "source"
    (source / "deep/er").mkdir(parents=True)
    (source / "deep/er/file").write_text("content\n")
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("deep/er/file")
    out = tmp_path / "out"

    async def body(sandbox: PersistentSandbox) -> list[str]:
        await sandbox.put_folder(source, "/app/in")
        await sandbox.put_file(source / "run.sh", "/opt/renamed", mode=0o640)
        seen = await sh(sandbox, "cat /app/in/link; stat -c '%a %U' /app/in/run.sh /opt/renamed")
        assert seen.stdout == "content\n755 root\n640 root\n"
        await sandbox.fetch_file("/opt/renamed", out / "renamed")
        with pytest.raises(WorldError, match="No such file"):
            await sandbox.fetch_file("/opt/none", out / "none")
        with pytest.raises(WorldError, match="/opt/none/: No such file"):
            await sandbox.fetch_folder("/opt/none", out / "none")
        with pytest.raises(FileNotFoundError):
            await sandbox.put_folder(source / "none", "/opt/there")
        return await sandbox.fetch_folder("/app/in", out / "in", accepts=lambda name, folder: name != "run.sh")

    assert in_persistent(body, sandboxes) == []
    assert (out / "renamed").read_text() == "#!/bin/sh\n"
    assert (out / "in/link").read_text() == "content\n"
    assert not (out / "in/run.sh").exists()


CHANGES = """
set -e
mkdir -p /data/kept /data/gone /data/again
echo 1 > /data/kept/one && echo 2 > /data/gone/two && echo 3 > /data/again/three
"""
MORE_CHANGES = """
set -e
rm -r /data/gone && rm -r /data/again && mkdir /data/again && echo 4 > /data/again/four
echo changed > /data/kept/one && chmod 1750 /data/kept/one && ln /data/kept/one /data/hard && ln -s kept /data/soft
chown 1000:1000 /data/kept && touch -d @1000000000 /data/soft /data/kept/one && rm /bin/sleep
"""
LOOK = """
cd /data && stat -c '%N %a %u %g %F' . * */* && stat -c '%Y %h' soft kept/one && ls /bin && cat kept/one again/*
"""


@pytest.mark.parametrize("many_users", [True, False])
def test_what_was_changed_is_exported_as_a_layer(tmp_path: Path, many_users: bool) -> None:
    """Applied to the same root, it gives the same files: added, changed, deleted and replaced ones, with owners if
    there are many users.
    """
    own = tmp_path / "sandboxes"
    own.mkdir()
    tmp_path.chmod(0o755)
    root = small_rootfs(tmp_path / "root")
    looks = []
    for number, script in enumerate((CHANGES, MORE_CHANGES)):
        layer, uid = tmp_path / f"{number}.tar", unused_uid()
        if not many_users and uid is not None:
            chown_tree(str(root), uid)  # as when an ordinary user has unpacked it

        async def body(sandbox: PersistentSandbox, script: str = script, layer: Path = layer) -> str:
            assert sandbox.users == ("many" if many_users and os.geteuid() == 0 else "one")
            done = await sh(sandbox, script)
            assert (done.code, done.stderr) == (0, "")
            await sandbox.export_layer(layer)
            return (await sh(sandbox, LOOK)).stdout

        looks.append(in_own(body, own, PersistentOptions(rootfs=root), many_users=many_users))
        with layer.open("rb") as archive:
            apply_layer(archive, root, "test")
    names = {path.relative_to(root).as_posix() for path in root.rglob("*")}
    assert {"etc/hosts", "etc/apt", "bin/sleep", "data/gone", "data/again/three"} & names == set()
    if not many_users and unused_uid() is not None:
        chown_tree(str(root), unused_uid() or 0)

    async def look(sandbox: PersistentSandbox) -> str:
        return (await sh(sandbox, LOOK)).stdout

    again = in_own(look, own, PersistentOptions(rootfs=root), many_users=many_users)
    assert again == looks[-1]
    assert "changed\n4\n" in again


def test_a_root_file_system_stands_for_the_hosts(sandboxes: PersistentSandboxes, tmp_path: Path) -> None:
    """It is written to above an overlay, and stays as it is; what is to be read of the host is shown."""
    rootfs, shown = small_rootfs(tmp_path / "rootfs"), tmp_path / "shown"
    shown.mkdir()
    tmp_path.chmod(0o755)
    (shown / "file").write_text("shown\n")
    script = f"ls /usr/bin/env /etc; echo x > /etc/new; cat /etc/new {shown}/file; mkdir /opt/x; echo x > {shown}/file"
    done = in_persistent(
        lambda sandbox: sh(sandbox, script), sandboxes, PersistentOptions(rootfs=rootfs, reads=(str(shown),))
    )
    assert done.stdout == "/etc:\ngroup\nhosts\npasswd\nx\nshown\n"
    assert "Read-only file system" in done.stderr
    assert sorted(one.name for one in (rootfs / "etc").iterdir()) == ["group", "passwd"]


def test_the_network_of_this_machine_comes_with_its_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that $SSL_CERT_FILE names, for all programs and for apt; they are not part of what was changed."""
    rootfs, own, layer = small_rootfs(tmp_path / "rootfs"), tmp_path / "sandboxes", tmp_path / "layer.tar"
    (rootfs / "etc/apt/apt.conf.d").mkdir(parents=True)
    own.mkdir()
    tmp_path.chmod(0o755)
    (tmp_path / "company.pem").write_text("a certificate\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "company.pem"))

    async def body(sandbox: PersistentSandbox) -> str:
        script = f"cat {certificate_variables()['PIP_CERT']} /etc/apt/apt.conf.d/*; echo x > /etc/new"
        done = await sh(sandbox, script)
        await sandbox.export_layer(layer)
        return done.stdout

    shown = in_own(body, own, PersistentOptions(rootfs=rootfs, network="host"))
    assert shown.startswith("a certificate\n")
    assert 'Acquire::https::CAInfo "/etc/demeanor-ca.crt";' in shown
    with tarfile.open(layer) as tar:
        assert [member.name for member in tar if member.isfile()] == ["etc/new"]


@pytest.mark.parametrize(("network", "reached"), [("none", False), ("gateway", False), ("host", True)])
def test_what_can_be_reached(sandboxes: PersistentSandboxes, network: Network, reached: bool) -> None:
    """A server of the host's: only in its own network."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = in_persistent(
            lambda sandbox: sh(sandbox, f"bash -c '</dev/tcp/127.0.0.1/{port}'"),
            sandboxes,
            PersistentOptions(network=network),
        )
    assert (done.code == 0) is reached


def test_killing_demeanor_kills_everything_in_the_sandbox(tmp_path: Path) -> None:
    """Killed without a chance to clean up, it leaves neither processes nor a folder."""
    mark = f"mark-{uuid.uuid4().hex}"
    code = f"""
import asyncio, os, signal
from pathlib import Path
from demeanor.sandboxes.persistent.factory import PersistentSandboxes, PersistentOptions
from demeanor.sandboxes.persistent.spec import ExecRequest
async def main():
    sandbox = await PersistentSandboxes(Path({str(tmp_path)!r})).open(PersistentOptions())
    script = "bash -c 'exec -a {mark} sleep 4321' & until pgrep -f ^{mark}; do :; done"
    await sandbox.run(ExecRequest(argvs=(("sh", "-c", script),), env={PATH!r}))
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == -9
    wait_until(lambda: not processes(mark) and not list(tmp_path.glob("demeanor-*")))


PLAIN = """
import asyncio, os
from pathlib import Path
from demeanor.sandboxes.persistent.factory import PersistentSandboxes, PersistentOptions
from demeanor.sandboxes.persistent.spec import ExecRequest
ENV = {"PATH": "/usr/bin:/bin"}
SCRIPTS = ["id -u", "cat /proc/self/uid_map", "rm /usr/bin/env && test ! -e /usr/bin/env", "echo x > /usr/bin/env",
           "echo x > /usr/local/lib/x", "echo x > /etc/hosts", "mkdir /app",
           "echo x >> /usr/bin/ldd", "ls " + os.environ["TMPDIR"]]
async def main():
    sandboxes = PersistentSandboxes(Path(os.environ["TMPDIR"]))
    sandbox = await sandboxes.open(PersistentOptions())
    print(sandbox.users)
    for script in SCRIPTS:
        done = await sandbox.run(ExecRequest(argvs=(("sh", "-c", script),), env=ENV))
        print(done.code, done.stdout.strip())
    other = await sandbox.run(ExecRequest(argvs=(("true",),), env=ENV, user="1000"))
    print(other.code, other.stderr.strip())
    await sandbox.close()
    sandboxes.close()
asyncio.run(main())
"""


@AS_ROOT
def test_an_ordinary_user_gets_a_sandbox_with_one_user(tmp_path: Path) -> None:
    """That user is called root, can do everything but change other users' files in place, and can't switch users."""
    python, drop = shutil.which("python3", path="/usr/bin"), shutil.which("setpriv")
    if python is None or drop is None:
        pytest.skip("needs setpriv, and a Python that everybody may run")
    who = [drop, "--reuid=12345", "--regid=12345", "--clear-groups"]
    if subprocess.run([*who, python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=False).returncode:
        pytest.skip("the system's Python is too old")
    with tempfile.TemporaryDirectory() as top:
        Path(top).chmod(0o755)
        folder, package = Path(top, "plain"), Path(top, "package")
        folder.mkdir()
        os.chown(folder, 12345, 12345)
        shutil.copytree(REPOSITORY / "src/demeanor", package / "demeanor")
        env = {"PYTHONPATH": str(package), "PATH": os.defpath, "TMPDIR": str(folder)}
        argv = [*who, python, "-c", PLAIN]
        done = subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        assert list(folder.iterdir()) == []
    users, root, numbers, *changes, in_place, hidden, other = done.stdout.splitlines()
    assert (users, root, numbers.split()) == ("one", "0 0", ["0", "0", "12345", "1"])
    assert [line.split()[0] for line in changes] == ["0"] * 5
    assert in_place.startswith("2")
    assert hidden.startswith("2")
    assert other.startswith("126 demeanor: [Errno 22] user 1000:")
