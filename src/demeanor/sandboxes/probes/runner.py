"""Runs the probes of a level: hostile actions, tried for real, beside a control that shows that each can succeed.

Everything is tried twice: at the level `none`, where it must succeed, and at the level in question. If the control
fails, or the action could not be tried, the result proves nothing and is *inconclusive*: a socket on which no process
listens can't be reached from anywhere. Some actions must be possible in a sandbox too; they are tried as well, so that
a level in which nothing works does not pass for a safe one. `demeanor doctor --sandboxes` and the tests use them.
"""

# /proc is scanned often.
# ruff: noqa: PTH208

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from demeanor.core.trees.guarded_folder import guarded_folder
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.ports import Sandbox, SandboxSession, Template
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.sandboxes.levels.none import NoneSandbox
from demeanor.sandboxes.probes.result import Probe, State
from demeanor.sandboxes.supervisor import landlock_abi

PROGRAM = Path(__file__).with_name("program.py")
REQUIRED = ("write in its workspace", "reach its gateway")
"""Actions that must be possible."""

SURVIVAL = ("survive in a session of its own", "survive by forking repeatedly")
"""What daemons try."""

_OTHER_ADDRESS = "reach another address at the gateway's port"
_TIMEOUT = 300.0
_NO_ANSWER = "no answer"
_PROCESS_SCANS = 12
_UNTIL_SEEN = 60.0
"""Seconds for which daemons that nothing kills are looked for: on a busy machine a scan rarely sees one that forks."""


def is_left_open(level: str, name: str) -> bool:
    """Whether a level does not guarantee to prevent an action."""
    if level == "none":
        return name not in SURVIVAL
    if (
        level == "landlock"
    ):  # no namespaces: rules for ports apply to any address, /proc is the host's, chmod is not restricted
        open_names = (_OTHER_ADDRESS, "see a process of the host", "change permissions outside")
        return name in open_names or (
            name == "signal a process of the host" and landlock_abi.version() < landlock_abi.SIGNALS_VERSION
        )
    return False


async def probe(sandbox: Sandbox) -> tuple[Probe, ...]:
    """Run all probes in a sandbox."""
    return (await matrix({sandbox.name: sandbox}))[sandbox.name]


async def matrix(sandboxes: Mapping[str, Sandbox]) -> dict[str, tuple[Probe, ...]]:
    """Run all probes in each of the sandboxes, with one control."""
    with host_targets() as targets, guarded_folder(temp_prefix()) as folder:
        template = _template(folder)
        control = NoneSandbox()
        try:
            unrestricted = {
                **await attempt(control, template, targets),
                **await asyncio.to_thread(_daemons_without_sandbox),
            }
        finally:
            await control.stop()
        probes = {}
        for level, sandbox in sandboxes.items():
            kept = await attempt(sandbox, template, targets)
            probes[level] = tuple(
                _compare(level, name, unrestricted[name], kept.get(name, _NO_ANSWER)) for name in unrestricted
            )
    return probes


def _compare(level: str, name: str, control: str, outcome: str) -> Probe:
    state: State
    if name in REQUIRED:
        state = "works" if outcome == "reached" else "broken"
    elif control != "reached" or outcome == _NO_ANSWER:
        state = "inconclusive"
    else:
        state = "open" if outcome == "reached" else "blocked"
    expected = state not in ("open", "broken") or (state == "open" and is_left_open(level, name))
    return Probe(name=name, state=state, expected=expected, control=control, found=outcome)


async def attempt(sandbox: Sandbox, template: Template, targets: Mapping[str, str]) -> dict[str, str]:
    """The outcomes of the probing program in a sandbox, by action."""
    async with sandbox.open_session(template, network="gateway") as session:
        await session.prepare((_launch(),))
        with gateway_targets(session.listener) as gateway:
            end = await _run(session, json.dumps({**targets, **gateway}))
        names = _daemon_names()
        stayed = await _run(session, "stay", "never", *names)
        alive = _running(names) if stayed.stdout.text == "up\n" else None
    survived = {} if alive is None else {SURVIVAL[names.index(name)]: _survival(name in alive) for name in names}
    return {**_answers(end), **survived}


async def _run(session: SandboxSession, *words: str) -> ProcessEnd:
    return await session.run(_launch(*words), limits=Limits(wall=_TIMEOUT), last_activity=time.monotonic)


def _launch(*words: str) -> Launch:
    python, reads = _python()
    return Launch(argv=(python, "-I", "-S", "probe.py", *words), reads=reads)


def _python() -> tuple[str, tuple[str, ...]]:
    """A Python that every user may run, if there is one; and the paths that it needs to read."""
    common = shutil.which("python3", path="/usr/bin:/bin")
    return (common, ()) if common else (sys.executable, (sys.prefix, sys.base_prefix, sys.executable))


def _template(folder: Path) -> Template:
    (folder / "probe.py").write_bytes(PROGRAM.read_bytes())
    return Template(folder=folder, tree=scan(folder))


def _answers(end: ProcessEnd) -> dict[str, str]:
    try:
        data = json.loads(end.stdout.text)
    except ValueError:
        return {}
    return {str(name): str(answer) for name, answer in data.items()} if isinstance(data, dict) else {}


def _daemons_without_sandbox() -> dict[str, str]:
    """Whether daemons of an ordinary process survive it. They end when that was seen, or when Demeanor is killed: then
    the pipe that they inherit is closed."""
    names = _daemon_names()
    lifeline, ours = os.pipe()
    try:
        argv = [_python()[0], "-I", "-S", str(PROGRAM), "stay", str(lifeline), *names]
        subprocess.run(
            argv,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=_TIMEOUT,
            pass_fds=[lifeline],
        )
        alive = _running(names, for_seconds=_UNTIL_SEEN)
    finally:
        os.close(ours)
        os.close(lifeline)
    deadline = time.monotonic() + _TIMEOUT
    while _running(names) and time.monotonic() < deadline:
        time.sleep(0.005)
    return {what: _survival(name in alive) for what, name in zip(SURVIVAL, names, strict=True)}


def _survival(alive: bool) -> str:
    return "reached" if alive else "it was killed"


def _daemon_names() -> tuple[str, str]:
    """Unique process names, short enough for the kernel."""
    return f"dm-{uuid.uuid4().hex[:10]}", f"dm-{uuid.uuid4().hex[:10]}"


def _running(names: tuple[str, ...], *, for_seconds: float = 0.0) -> set[str]:
    """The names that running processes have. A scan can miss a process that forks, so there are several, and as many
    as are possible in `for_seconds` while a name is missing."""
    programs: set[str] = set()
    scans, end = 0, time.monotonic() + for_seconds
    while programs != set(names) and (scans < _PROCESS_SCANS or time.monotonic() < end):
        scans += 1
        for number in sorted(filter(str.isdigit, os.listdir("/proc")), key=int, reverse=True):
            with contextlib.suppress(OSError):
                name, _, state = Path("/proc", number, "stat").read_text().partition("(")[2].rpartition(")")
                if name in names and not state.startswith(" Z"):
                    programs.add(name)
    return programs


# Targets on the host that an ordinary program can reach, so that it means something when a sandboxed one can't.
#
# Files, sockets of all kinds, shared memory, and a process with a secret.

_CREATE, _REMOVE = 0o1000, 0
_MAX_PATH = 50


@contextmanager
def host_targets() -> Iterator[dict[str, str]]:
    """Create the targets; returns their addresses by name."""
    secret = f"secret-{uuid.uuid4().hex}"
    with ExitStack() as stack:
        folder = stack.enter_context(guarded_folder(temp_prefix(), parent=_short_temp_folder()))
        folder.chmod(0o777)
        (folder / "secret").write_text(secret)
        (folder / "secret").chmod(0o644)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        everywhere = stack.enter_context(socket.create_server(("0.0.0.0", 0)))  # noqa: S104 - to be out of reach
        path = _bind_unix(stack, folder / "socket", socket.SOCK_STREAM)
        path.listen()
        _bind_unix(stack, folder / "datagrams", socket.SOCK_DGRAM)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{secret}")
        abstract.listen()
        victim = subprocess.Popen(["cat"], env={"SECRET": secret}, stdin=subprocess.PIPE)  # it ends with this process
        stack.callback(_kill, victim)
        yield {
            "secret": secret,
            "file": str(folder / "secret"),
            "folder": str(folder),
            "tcp": str(tcp.getsockname()[1]),
            "address": own_address(),
            "everywhere": str(everywhere.getsockname()[1]),
            "socket": str(folder / "socket"),
            "datagrams": str(folder / "datagrams"),
            "shared": str(_shared_memory(stack)),
            "victim": str(victim.pid),
            "supervisor": str(os.getpid()),
        }


@contextmanager
def gateway_targets(listener: socket.socket | None) -> Iterator[dict[str, str]]:
    """The port of the gateway's listener, or of a new one; and a server at the same port of another address."""
    with ExitStack() as stack:
        if listener is None:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = str(listener.getsockname()[1])
        ports = {"gateway": port, "other_address": port}
        with contextlib.suppress(OSError):  # another process listens there, which serves as well
            stack.enter_context(socket.create_server((own_address(), int(port))))
        yield ports


def _short_temp_folder() -> str | None:
    """A temp folder whose path is short enough for a unix socket; None for the default one."""
    return None if len(tempfile.gettempdir()) <= _MAX_PATH else "/tmp"  # noqa: S108 - a new folder is made in it


def _bind_unix(stack: ExitStack, path: Path, kind: int) -> socket.socket:
    sock = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
    sock.bind(str(path))
    path.chmod(0o777)
    return sock


def _shared_memory(stack: ExitStack) -> int:
    """The key of a shared memory segment that every user may use; a random key where there is no such thing."""
    key = int.from_bytes(os.urandom(3), "big") + 1
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        number = libc.shmget(key, 4096, _CREATE | 0o666)
        if number >= 0:
            stack.callback(libc.shmctl, number, _REMOVE, None)
    return key


def _kill(process: subprocess.Popen[bytes]) -> None:
    with process:  # closes its pipe
        process.kill()


def own_address() -> str:
    """An address of this machine other than 127.0.0.1. Nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("192.0.2.1", 9))
        return str(sock.getsockname()[0])
    return "127.0.0.2"
