"""A container engine by its command line: docker's and podman's words are the same, but for a few.

The engine is asked, never configured: what it takes to run containers at all (a runtime, a daemon, rights) is between
it and whoever installed it. The image has nothing in it but empty folders, and is made here: no registry is asked.
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

from demeanor.core.errors import WorldError
from demeanor.core.sandbox_spec import Ceilings, Network
from demeanor.core.text import one_line
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.bwrap_args import SYSTEM, TEMP_SEEN
from demeanor.sandboxes.supervisor.container_init import OWN, ROOM

EngineName: TypeAlias = Literal["docker", "podman"]

_ASK: Mapping[EngineName, str] = {
    "docker": "{{.ServerVersion}} {{.SecurityOptions}}",
    "podman": "{{.Version.Version}} rootless={{.Host.Security.Rootless}}",
}
_ONLY: Mapping[EngineName, tuple[str, ...]] = {
    "docker": (),
    "podman": ("--read-only-tmpfs=false", "--passwd=false", "--no-hosts"),
}
_IMAGE = "localhost/demeanor-empty"
_SHARED_MEMORY = 64 * 2**20
_FILES, _PROCESSES = 65_536, 32_768
"""What a user may have at once: files of one process, and processes in all. podman can't hand out more."""
_TAKES = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerEngine:
    """An engine that answers."""

    name: EngineName
    """What it is."""

    path: str
    """Where its program lies."""

    version: str
    """The version that answers."""

    rootless: bool
    """Whether it runs as an ordinary user, whose containers can't be anybody else either."""

    def ask(self, *words: str, give: bytes = b"", at: str = "/") -> subprocess.CompletedProcess[bytes]:
        """Have it do something; raises WorldError where it does not come to an end.

        `at`: where. What watches over a container may leave files there (podman's, one that is called `oom`).
        """
        try:
            return subprocess.run(
                [self.path, *words], input=give, capture_output=True, check=False, timeout=_TAKES, cwd=at
            )
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"{self.name} {words[0]}: {error}") from None
        except subprocess.TimeoutExpired:
            raise WorldError(VoidCause.SANDBOX, f"{self.name} {words[0]}: no end within {_TAKES:g} s") from None

    def do(self, *words: str, give: bytes = b"", at: str = "/") -> str:
        """The same for what must work: what it printed, or a WorldError with its last words."""
        done = self.ask(*words, give=give, at=at)
        if done.returncode != 0:
            raise WorldError(VoidCause.SANDBOX, f"{self.name} {words[0]}: {last_words(done)}")
        return done.stdout.decode("utf-8", "replace").strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerSpec:
    """What kind of container it is to be."""

    name: str
    """Its name, which no other has."""

    image: str
    """What its root is."""

    user: str
    """Who its programs are: numbers of a user and a group."""

    network: Network
    """What can be reached from in there."""

    ceilings: Ceilings
    """What everything in there may use."""

    shows: Mapping[str, str]
    """What is shown in there, read-only: places of the host by where they are found."""


def last_words(done: subprocess.CompletedProcess[bytes]) -> str:
    """Why an engine did not do what it was told."""
    said = done.stderr.decode("utf-8", "replace").strip() or f"ended with {done.returncode} and said nothing"
    return one_line(said.rpartition("\n")[2].removeprefix("Error: "), width=300)


def find_engine(name: EngineName) -> ContainerEngine:
    """The engine of that name; raises WorldError where it does not answer."""
    if sys.platform != "linux":
        raise WorldError(
            VoidCause.SANDBOX, f"containers that show parts of this machine need Linux, not {sys.platform}"
        )
    path = shutil.which(name)
    if path is None:
        raise WorldError(VoidCause.SANDBOX, f"{name} is not on PATH")
    asked = ContainerEngine(name=name, path=path, version="", rootless=False)
    done = asked.ask("info", "--format", _ASK[name])
    version, _, security = done.stdout.decode("utf-8", "replace").strip().partition(" ")
    if done.returncode != 0 or not version:
        raise WorldError(VoidCause.SANDBOX, f"{name} is installed, but no engine answers: {last_words(done)}")
    rootless = "rootless=true" in security or "name=rootless" in security
    return ContainerEngine(name=name, path=path, version=version, rootless=rootless)


def run_words(engine: ContainerEngine, plan: ContainerSpec, program: Sequence[str]) -> list[str]:
    """How an engine is told to start a container, and to be done with it when that ends."""
    most = plan.ceilings
    words = ["run", "--detach", "--rm", "--name", plan.name, "--label", "demeanor", "--pull", "never"]
    words += ["--network", "host" if plan.network == "host" else "none", "--hostname", "sandbox", "--ipc", "private"]
    words += ["--user", plan.user, "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    words += ["--security-opt", "label=disable", "--read-only", *_ONLY[engine.name]]
    if engine.rootless and engine.name == "podman":
        words += ["--userns", "keep-id"]
    memory = f"{most.memory + most.disk}b"
    words += ["--memory", memory, "--memory-swap", memory, "--pids-limit", str(most.processes)]
    for limit, number in (
        ("nofile", _most("RLIMIT_NOFILE", _FILES)),
        ("nproc", _most("RLIMIT_NPROC", _PROCESSES)),
        ("core", 0),
    ):
        words += ["--ulimit", f"{limit}={number}:{number}"]
    words += ["--log-driver", "none", "--stop-signal", "KILL", "--stop-timeout", "0", "--workdir", "/"]
    for folder in (ROOM, TEMP_SEEN):
        words += ["--tmpfs", f"{folder}:rw,exec,nosuid,nodev,size={most.disk}"]
    words += ["--shm-size", f"{_SHARED_MEMORY}b"]
    for target, source in plan.shows.items():
        words += ["--mount", f"type=bind,source={_plain(source)},target={_plain(target)},readonly"]
    return [*words, plan.image, *program]


def _most(name: str, wanted: int) -> int:
    """As much of a limit as there is here: an engine may not be able to raise it."""
    hard = resource.getrlimit(getattr(resource, name))[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _plain(path: str) -> str:
    if "," in path or '"' in path or "\n" in path:
        why = "an engine can't be told to show a path with a comma, a quote or a new line in it"
        raise WorldError(VoidCause.SANDBOX, f"{one_line(path, width=200)}: {why}; install it somewhere else")
    return path


def image(engine: ContainerEngine) -> str:
    """The name of the image, which is made where it is not there."""
    content = _empty_root()
    name = f"{_IMAGE}:{hashlib.sha256(content).hexdigest()[:12]}"
    if engine.ask("image", "inspect", name).returncode != 0:
        engine.do("import", "-", name, give=content)
    return name


@cache
def _empty_root() -> bytes:
    """A root to mount things in, as an archive: the same bytes for the same system."""
    folders = {**dict.fromkeys(("etc", "proc", "sys", "dev", OWN[1:]), 0o755), ROOM[1:]: 0o1777, TEMP_SEEN[1:]: 0o1777}
    links = {}
    for path in SYSTEM:
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


def whom(engine: ContainerEngine, spare: int | None) -> tuple[int, int]:
    """Who programs in a container are, user and group: somebody that root is not, or we ourselves."""
    if spare is not None:
        return spare, spare
    return (0, 0) if engine.rootless and engine.name == "docker" else (os.getuid(), os.getgid())
