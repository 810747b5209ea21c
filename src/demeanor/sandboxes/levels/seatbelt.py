"""`--sandbox seatbelt`: the level `none` plus macOS's own sandbox, `sandbox-exec`. Best effort.

Apple calls `sandbox-exec` deprecated, but ships it, and other coding agents use it too. This level has not been run on
a Mac yet: the profile is tested as text, and the level refuses to work on other systems. What it guarantees:
docs/sandboxes.md.
"""

# Paths are compared as text here; no file is opened.
# ruff: noqa: PTH110

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.ports import Template
from demeanor.core.process import Launch, Limits
from demeanor.core.sandbox_spec import Network
from demeanor.core.tree import Tree
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import HOME, TEMP, WORKSPACE, AttemptDir
from demeanor.sandboxes.host.process import ProcessStarter, SupervisedProcess
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
    """The profile for `sandbox-exec`: only what it names is allowed. Paths must not contain links."""
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
        raise WorldError(VoidCause.SANDBOX, f"{text!r}: a path with control characters can't be made readable")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class SeatbeltSandbox(NoneSandbox):
    """Agents run as processes of this user, restricted by `sandbox-exec`."""

    name = "seatbelt"

    def __init__(self, root: Path | None = None, *, network: Network = "gateway") -> None:
        super().__init__(root)
        self._network = network

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this level, and about what it leaves open."""
        return {
            **super().facts,
            "network": self._network,
            "open.metadata": "names, sizes and dates of files can be seen everywhere",
            "open.end": "a daemon in a session of its own may survive",
            **self.probe_facts,
        }

    def verify(self) -> None:
        """Run a program in the sandbox; raises WorldError when that does not work."""
        _check_supported()
        super().verify()

    def wrap(self, launch: Launch, folder: str, network: Network, port: int | None) -> Launch:
        """The launch as this level carries it out: with `sandbox-exec`."""
        _check_supported()
        writes = (os.path.realpath(f"{folder}/{name}") for name in (WORKSPACE, HOME, TEMP))
        reads = sorted({os.path.realpath(path) for path in launch.reads if os.path.exists(path)})
        rules = profile(reads=reads, writes=writes, network=network, port=port)
        return replace(launch, argv=(_PROGRAM, "-p", rules, *launch.argv))

    def _new_session(self, attempt_dir: AttemptDir, template: Template, network: Network | None) -> SeatbeltSession:
        env = self._environment(attempt_dir.path)
        starter = self._runtime.launcher()
        return SeatbeltSession(attempt_dir, starter, env, template.tree, self, network or self._network)


class SeatbeltSession(NoneSession):
    """One attempt's folders, its own port, and the programs run with `sandbox-exec`."""

    def __init__(
        self,
        attempt_dir: AttemptDir,
        starter: ProcessStarter,
        env: Mapping[str, str],
        before: Tree,
        sandbox: SeatbeltSandbox,
        network: Network,
    ) -> None:
        super().__init__(attempt_dir, starter, env, before)
        self._sandbox = sandbox
        self._network = network
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128) if network == "gateway" else None

    @property
    def listener(self) -> socket.socket | None:
        """A socket at its own port, the only one that this session's programs can connect to."""
        return self._listener

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this session."""
        return {"network": self._network, "disk": "copy"}

    def _start(self, launch: Launch, limits: Limits) -> SupervisedProcess:
        port = self.address[1] if self.address else None
        return super()._start(self._sandbox.wrap(launch, self._attempt_dir.path, self._network, port), limits)

    def close(self) -> None:
        """Close the listener."""
        if self._listener is not None:
            with contextlib.suppress(OSError):  # the gateway may have closed it
                self._listener.close()


def _check_supported() -> None:
    if sys.platform != "darwin":
        raise WorldError(VoidCause.SANDBOX, f"seatbelt needs macOS with {_PROGRAM}; this is {sys.platform}")
    if not os.path.exists(_PROGRAM):
        raise WorldError(VoidCause.SANDBOX, f"{_PROGRAM} does not exist")
