"""Live probes of a level: what a hostile program tries, tried for real, beside a control that shows it can succeed.

Everything is tried twice: at the level `none`, where the thing must be within reach, and at the level in question. A
probe whose control failed, or that could not be tried, proves nothing and is *inconclusive*: a socket that nobody
listens on is out of any reach.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.core.folder import scan
from holdfast.core.ports import Sandbox, Template
from holdfast.core.process import Launch, Limits, ProcessEnd
from holdfast.sandboxes.none import OpenSandbox

PROGRAM = Path(__file__).with_name("probe_program.py")
_TAKES = 60.0
_SILENT = "no answer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What came of one probe."""

    name: str
    """What was tried."""

    state: Literal["blocked", "open", "inconclusive"]
    """Whether the level keeps it from happening; inconclusive where it does not happen without it either."""

    control: str
    """What happened without a wall."""

    found: str
    """What happened behind it."""


@contextmanager
def oracles() -> Iterator[dict[str, str]]:
    """Things of the host that are within reach of an ordinary program: files, sockets, a process with a secret."""
    secret = f"secret-{uuid.uuid4().hex}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-oracle-")))
        folder.chmod(0o777)
        (folder / "secret").write_text(secret)
        (folder / "secret").chmod(0o644)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        everywhere = stack.enter_context(socket.create_server(("0.0.0.0", 0)))  # noqa: S104 - to be out of reach
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        path = stack.enter_context(socket.socket(socket.AF_UNIX))
        path.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o777)
        path.listen()
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{secret}")
        abstract.listen()
        victim = subprocess.Popen(["sleep", "600"], env={"SECRET": secret})
        stack.callback(_end, victim)
        yield {
            "secret": secret,
            "file": str(folder / "secret"),
            "folder": str(folder),
            "tcp": str(tcp.getsockname()[1]),
            "address": _own_address(),
            "everywhere": str(everywhere.getsockname()[1]),
            "udp": str(udp.getsockname()[1]),
            "socket": str(folder / "socket"),
            "victim": str(victim.pid),
            "supervisor": str(os.getpid()),
        }


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _own_address() -> str:
    """An address of this machine that is not its loopback's, as far as it has one. Nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("192.0.2.1", 9))
        return str(sock.getsockname()[0])
    return "127.0.0.1"


async def probe(sandbox: Sandbox) -> tuple[Probe, ...]:
    """Try everything in `sandbox`, which has been started, and give what came of it."""
    with oracles() as oracle:
        control = OpenSandbox()
        try:
            free = await attempt(control, oracle)
        finally:
            await control.stop()
        kept = await attempt(sandbox, oracle)
    return tuple(_compared(name, free[name], kept.get(name, _SILENT)) for name in free)


def _compared(name: str, control: str, found: str) -> Probe:
    if control != "reached" or found == _SILENT:
        return Probe(name=name, state="inconclusive", control=control, found=found)
    return Probe(name=name, state="open" if found == "reached" else "blocked", control=control, found=found)


async def attempt(sandbox: Sandbox, oracle: Mapping[str, str]) -> dict[str, str]:
    """What the probing program reaches in a sandbox, by what it tries."""
    with tempfile.TemporaryDirectory(prefix="holdfast-probe-") as folder:
        template = _template(Path(folder))
        reads = (sys.prefix, sys.base_prefix, sys.executable)
        launch = Launch(argv=("/usr/bin/python3", "-I", "-S", "probe.py", json.dumps(dict(oracle))), reads=reads)
        async with sandbox.bench(template) as bench:
            end = await bench.run(launch, limits=Limits(wall=_TAKES), last_activity=lambda: 0.0)
    return _answers(end)


def _template(folder: Path) -> Template:
    (folder / "probe.py").write_bytes(PROGRAM.read_bytes())
    return Template(folder=folder, tree=scan(folder))


def _answers(end: ProcessEnd) -> dict[str, str]:
    try:
        found = json.loads(end.stdout.text)
    except ValueError:
        return {}
    return {str(name): str(answer) for name, answer in found.items()} if isinstance(found, dict) else {}
