"""The command line of a container engine. Those of docker and podman are the same but for a few options.

The engine is used as it is installed; its runtime, daemon and permissions are not configured here. The image contains
only empty folders and is created locally, so no registry is contacted.
"""

from __future__ import annotations

import hashlib
import io
import os
import resource
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import WorldError
from demeanor.core.values.sandbox_spec import Ceilings, Network
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.bwrap_args import SYSTEM_PATHS, TEMP_PATH
from demeanor.sandboxes.supervisor.container_init import DISK, RUN

EngineName: TypeAlias = Literal["docker", "podman"]

_INFO_FORMAT: Mapping[EngineName, str] = {
    "docker": "{{.ServerVersion}} {{.SecurityOptions}}",
    "podman": "{{.Version.Version}} rootless={{.Host.Security.Rootless}}",
}
_EXTRA_OPTIONS: Mapping[EngineName, tuple[str, ...]] = {
    "docker": (),
    "podman": ("--read-only-tmpfs=false", "--passwd=false", "--no-hosts"),
}
_IMAGE = "localhost/demeanor-empty"
_SHARED_MEMORY = 64 * 2**20
_MAX_FILES, _MAX_PROCESSES = 65_536, 32_768
"""The most open files of a process and processes of a user. podman can't set higher limits."""
_TIMEOUT = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerEngine:
    """A container engine that works."""

    name: EngineName
    """Its name."""

    path: str
    """The path of its program."""

    version: str
    """The version of its server."""

    rootless: bool
    """Whether it runs as an ordinary user, so that its containers can have no other user."""

    def run(self, *args: str, stdin: bytes = b"", cwd: str = "/") -> subprocess.CompletedProcess[bytes]:
        """Run the engine's program; raises WorldError when it can't be started or does not exit.

        podman's monitor process may leave files (called `oom`) in the working directory.
        """
        try:
            return subprocess.run(
                [self.path, *args], input=stdin, capture_output=True, check=False, timeout=_TIMEOUT, cwd=cwd
            )
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"{self.name} {args[0]}: {error}") from None
        except subprocess.TimeoutExpired:
            raise WorldError(
                VoidCause.SANDBOX, f"{self.name} {args[0]}: it did not exit within {_TIMEOUT:g} s"
            ) from None

    def check_output(self, *args: str, stdin: bytes = b"", cwd: str = "/") -> str:
        """Run the engine's program and return its output; raises WorldError with its error message when it fails."""
        done = self.run(*args, stdin=stdin, cwd=cwd)
        if done.returncode != 0:
            raise WorldError(VoidCause.SANDBOX, f"{self.name} {args[0]}: {error_text(done)}")
        return done.stdout.decode("utf-8", "replace").strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerSpec:
    """The options of a container."""

    name: str
    """Its name, which must be unique."""

    image: str
    """The name of its image."""

    user: str
    """The user of its programs, as `UID:GID`."""

    network: Network
    """What programs can connect to."""

    ceilings: Ceilings
    """The limits of all its programs together."""

    mounts: Mapping[str, str]
    """Read-only bind mounts: paths of the host by path in the container."""


def error_text(done: subprocess.CompletedProcess[bytes]) -> str:
    """The error message of an engine."""
    text = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode} without a message"
    return one_line(text.rpartition("\n")[2].removeprefix("Error: "), width=300)


def find_engine(name: EngineName) -> ContainerEngine:
    """The engine of that name; raises WorldError when it does not work."""
    if sys.platform != "linux":
        raise WorldError(
            VoidCause.SANDBOX, f"containers with bind mounts of this machine's folders need Linux, not {sys.platform}"
        )
    path = shutil.which(name)
    if path is None:
        raise WorldError(VoidCause.SANDBOX, f"{name} is not on PATH")
    asked = ContainerEngine(name=name, path=path, version="", rootless=False)
    done = asked.run("info", "--format", _INFO_FORMAT[name])
    version, _, security = done.stdout.decode("utf-8", "replace").strip().partition(" ")
    if done.returncode != 0 or not version:
        raise WorldError(VoidCause.SANDBOX, f"{name} is installed, but does not work: {error_text(done)}")
    rootless = "rootless=true" in security or "name=rootless" in security
    return ContainerEngine(name=name, path=path, version=version, rootless=rootless)


def run_arguments(engine: ContainerEngine, spec: ContainerSpec, program: Sequence[str]) -> list[str]:
    """The arguments to start a container that is removed when it exits."""
    limits = spec.ceilings
    args = ["run", "--detach", "--rm", "--name", spec.name, "--label", "demeanor", "--pull", "never"]
    args += ["--network", "host" if spec.network == "host" else "none", "--hostname", "sandbox", "--ipc", "private"]
    args += ["--user", spec.user, "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    args += ["--security-opt", "label=disable", "--read-only", *_EXTRA_OPTIONS[engine.name]]
    if engine.rootless and engine.name == "podman":
        args += ["--userns", "keep-id"]
    memory = f"{limits.memory + limits.disk}b"
    args += ["--memory", memory, "--memory-swap", memory, "--pids-limit", str(limits.processes)]
    for limit, number in (
        ("nofile", _up_to_hard_limit("RLIMIT_NOFILE", _MAX_FILES)),
        ("nproc", _up_to_hard_limit("RLIMIT_NPROC", _MAX_PROCESSES)),
        ("core", 0),
    ):
        args += ["--ulimit", f"{limit}={number}:{number}"]
    args += ["--log-driver", "none", "--stop-signal", "KILL", "--stop-timeout", "0", "--workdir", "/"]
    for folder in (DISK, TEMP_PATH):
        args += ["--tmpfs", f"{folder}:rw,exec,nosuid,nodev,size={limits.disk}"]
    args += ["--shm-size", f"{_SHARED_MEMORY}b"]
    for target, source in spec.mounts.items():
        args += ["--mount", f"type=bind,source={_checked_path(source)},target={_checked_path(target)},readonly"]
    return [*args, spec.image, *program]


def _up_to_hard_limit(name: str, limit: int) -> int:
    """The limit, or the hard limit of this process if that is lower: an engine may be unable to raise it."""
    hard = resource.getrlimit(getattr(resource, name))[1]
    return limit if hard == resource.RLIM_INFINITY else min(limit, hard)


def _checked_path(path: str) -> str:
    if "," in path or '"' in path or "\n" in path:
        why = "container engines can't mount a path that contains a comma, a quote or a newline"
        raise WorldError(VoidCause.SANDBOX, f"{one_line(path, width=200)}: {why}; install it somewhere else")
    return path


def ensure_image(engine: ContainerEngine) -> str:
    """The name of the image, which is created if it does not exist."""
    content = _empty_image()
    name = f"{_IMAGE}:{hashlib.sha256(content).hexdigest()[:12]}"
    if engine.run("image", "inspect", name).returncode != 0:
        engine.check_output("import", "-", name, stdin=content)
    return name


@cache
def _empty_image() -> bytes:
    """An archive of mount points for the image: the same bytes on the same system."""
    folders = {**dict.fromkeys(("etc", "proc", "sys", "dev", RUN[1:]), 0o755), DISK[1:]: 0o1777, TEMP_PATH[1:]: 0o1777}
    links = {}
    for path in SYSTEM_PATHS:
        if Path(path).is_symlink():
            links[path[1:]] = str(Path(path).readlink())
        elif Path(path).is_dir():
            folders[path[1:]] = 0o755
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, mode in folders.items():
            item = tarfile.TarInfo(name)
            item.type, item.mode = tarfile.DIRTYPE, mode
            tar.addfile(item)
        for name, target in links.items():
            item = tarfile.TarInfo(name)
            item.type, item.linkname, item.mode = tarfile.SYMTYPE, target, 0o777
            tar.addfile(item)
    return archive.getvalue()


def container_user(engine: ContainerEngine, unused: int | None) -> tuple[int, int]:
    """The user and group of programs in a container: an unused uid when we are root, else our own."""
    if unused is not None:
        return unused, unused
    return (0, 0) if engine.rootless and engine.name == "docker" else (os.getuid(), os.getgid())
