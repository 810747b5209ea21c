"""`--sandbox seatbelt`: macOS's own fence, `sandbox-exec`, around what is otherwise the level `none`. Best effort.

Apple calls the program deprecated, and ships it; other coding agents fence themselves in with it too. Nobody has run
this level on a Mac for us yet: the profile is tested as text, and the level refuses to work anywhere else. What it
promises is said in docs/sandboxes.md.
"""

# Paths are compared as text here, and nothing is opened.
# ruff: noqa: PTH110

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.ports import Template
from demeanor.core.process import Launch, Limits, ProcessEnd
from demeanor.core.sandbox_spec import Network
from demeanor.core.tree import Tree
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import HOME, TEMP, WORKSPACE, AttemptDir
from demeanor.sandboxes.host.launcher import Launcher
from demeanor.sandboxes.host.runtime import prove_by
from demeanor.sandboxes.levels.none import NoneSandbox, NoneSession

_PROGRAM = "/usr/bin/sandbox-exec"

SYSTEM = (
    "/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer/CommandLineTools", "/Library/Preferences",
    "/opt/homebrew", "/opt/local", "/nix/store", "/private/etc/ssl", "/private/var/db/dyld",
    "/private/var/db/timezone", "/private/var/select",
)  # fmt: skip
"""Folders that every program may read."""

_FILES = ("/", "/dev", "/private/etc/passwd", "/private/etc/group", "/private/etc/hosts", "/private/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/dtracehelper")
_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo", "com.apple.system.notification_center", "com.apple.system.logger",
    "com.apple.logd", "com.apple.bsd.dirhelper",
)  # fmt: skip
_NETWORK_SERVICES = ("com.apple.SystemConfiguration.configd", "com.apple.trustd.agent", "com.apple.SecurityServer")


def profile(*, reads: Iterable[str], writes: Iterable[str], network: Network, port: int | None) -> str:
    """What `sandbox-exec` is told: nothing is allowed but what is named. Paths must be without links."""
    rules = [
        "(version 1)",
        "(deny default)",
        "(allow process-exec)",
        "(allow process-fork)",
        "(allow process-info* (target same-sandbox))",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow ipc-posix-sem)",
        "(allow pseudo-tty)",
        "(allow file-read-metadata)",
        _rule("file-read*", "literal", _FILES),
        _rule("file-read*", "subpath", (*SYSTEM, *reads)),
        _rule("file-read* file-write-data file-ioctl", "literal", _DEVICES),
        _rule("file-read* file-write*", "subpath", tuple(writes)),
        _rule("mach-lookup", "global-name", (*_SERVICES, *(_NETWORK_SERVICES if network == "host" else ()))),
    ]
    if network == "host":
        rules += ["(allow network*)", "(allow system-socket)"]
    elif port is not None:
        rules.append(f'(allow network-outbound (remote ip "localhost:{port}"))')
    return "\n".join(rules) + "\n"


def _rule(what: str, how: str, names: Sequence[str]) -> str:
    return f"(allow {what} {' '.join(f'({how} {_quoted(name)})' for name in names)})"


def _quoted(text: str) -> str:
    if any(ord(letter) < ord(" ") for letter in text):
        raise WorldError(VoidCause.SANDBOX, f"{text!r}: a path with control characters can't be shown")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class SeatbeltSandbox(NoneSandbox):
    """Agents run as processes of this user, fenced in by the system."""

    name = "seatbelt"

    def __init__(self, root: Path | None = None, *, network: Network = "gateway") -> None:
        super().__init__(root)
        self._network: Network = network

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this level, and of what it leaves open."""
        return {
            **super().facts,
            "network": self._network,
            "open.metadata": "names, sizes and dates of files can be seen everywhere",
            "open.end": "a daemon in a session of its own may survive",
            **self.proof,
        }

    def prove(self) -> None:
        """Run a program in it, really; raises WorldError where that does not work."""
        _check_here()
        prove_by(self.command)

    def fenced(self, launch: Launch, place: str, network: Network, port: int | None) -> Launch:
        """A launch as it is carried out: behind the fence."""
        _check_here()
        writes = (os.path.realpath(f"{place}/{name}") for name in (WORKSPACE, HOME, TEMP))
        reads = sorted({os.path.realpath(path) for path in launch.reads if os.path.exists(path)})
        rules = profile(reads=reads, writes=writes, network=network, port=port)
        return replace(launch, argv=(_PROGRAM, "-p", rules, *launch.argv))

    def _bench(self, place: AttemptDir, template: Template, network: Network | None) -> SeatbeltSession:
        env = self.environment(place.path)
        return SeatbeltSession(place, self._runtime.ready(), env, template.tree, self, network or self._network)


class SeatbeltSession(NoneSession):
    """One attempt's folders, a port of its own, and the programs run behind the fence."""

    def __init__(
        self,
        place: AttemptDir,
        launcher: Launcher,
        env: Mapping[str, str],
        before: Tree,
        sandbox: SeatbeltSandbox,
        network: Network,
    ) -> None:
        super().__init__(place, launcher, env, before)
        self._sandbox = sandbox
        self._network = network
        self._door = socket.create_server(("127.0.0.1", 0), backlog=128) if network == "gateway" else None

    @property
    def listener(self) -> socket.socket | None:
        """A socket at a port of its own, the only one that this bench's programs can connect to."""
        return self._door

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this bench."""
        return {"network": self._network, "disk": "copy"}

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, its process group is gone."""
        port = self.address[1] if self.address else None
        fenced = self._sandbox.fenced(launch, self._place.path, self._network, port)
        return await super().run(fenced, limits=limits, last_activity=last_activity)

    def close(self) -> None:
        """Let go of the port."""
        if self._door is not None:
            with contextlib.suppress(OSError):  # the gateway may have closed it
                self._door.close()


def _check_here() -> None:
    if sys.platform != "darwin":
        raise WorldError(VoidCause.SANDBOX, f"seatbelt needs macOS with {_PROGRAM}, and this is {sys.platform}")
    if not os.path.exists(_PROGRAM):
        raise WorldError(VoidCause.SANDBOX, f"{_PROGRAM} is not there")
