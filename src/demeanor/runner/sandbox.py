"""The sandbox that is asked for: made, and proven to work here, before anything else happens.

A level is made by one function in `MAKERS`. Another level is another function there, and a rank in core/sandboxing.py.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from demeanor._version import __version__
from demeanor.config.config import Config
from demeanor.core.cache_dir import cache_folder
from demeanor.core.errors import BadInput, UnknownName, UsageError, WorldError
from demeanor.core.ports import Sandbox
from demeanor.core.sandbox_spec import RANKS, Ceilings
from demeanor.sandboxes.levels.none import NoneSandbox

if TYPE_CHECKING:
    from demeanor.sandboxes.host.container_cli import EngineName
    from demeanor.sandboxes.probes.cache import ProbeCache
    from demeanor.sandboxes.probes.result import Probe

T = TypeVar("T")


class Level(Sandbox, Protocol):
    """A sandbox that can be asked whether it works here."""

    proof: dict[str, str]
    """What was proven of it; a part of its facts."""

    @property
    def folder(self) -> Path:
        """Everything of a run lies in here, and goes with it."""
        ...

    def prove(self) -> None:
        """Run a program in it, really; raises WorldError where that does not work."""
        ...


def _none(config: Config) -> Level:
    return NoneSandbox()


def _bubblewrap(config: Config) -> Level:
    from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox(ceilings=config.limits, network=config.network)


def _landlock(config: Config) -> Level:
    from demeanor.sandboxes.levels.landlock import LandlockSandbox

    return LandlockSandbox(ceilings=config.limits, network=config.network)


def _seatbelt(config: Config) -> Level:
    from demeanor.sandboxes.levels.seatbelt import SeatbeltSandbox

    return SeatbeltSandbox(network=config.network)


def _container(engine: EngineName, config: Config) -> Level:
    from demeanor.sandboxes.levels.container import ContainerSandbox

    return ContainerSandbox(engine, ceilings=config.limits, network=config.network)


MAKERS: Mapping[str, Callable[[Config], Level]] = {
    "bubblewrap": _bubblewrap,
    "docker": partial(_container, "docker"),
    "podman": partial(_container, "podman"),
    "landlock": _landlock,
    "seatbelt": _seatbelt,
    "none": _none,
}
"""What makes a sandbox, by the name of its level."""

_ONLY_ON = {"landlock": "linux", "seatbelt": "darwin"}

_HOW_TO_HAVE = {
    "bubblewrap": "install bubblewrap (apt install bubblewrap, dnf install bubblewrap) and let user namespaces be made",
    "docker": "install docker, start its daemon, and see that `docker run` works for you",
    "podman": "install podman with a runtime (apt install podman runc), and see that `podman run` works for you",
    "landlock": "use Linux 6.7 or later with landlock switched on (`landlock` in /sys/kernel/security/lsm)",
    "seatbelt": "it is for macOS; elsewhere, take another level",
}


def make_sandbox(name: str, config: Config) -> Level:
    """The sandbox of that name, which may not work here."""
    if name not in MAKERS:
        raise UnknownName("sandbox", name, MAKERS)
    least = config.min_isolation
    if least is not None and RANKS[name] < RANKS[least]:
        problem = f"{least!r} is the least that is wanted here, and the sandbox {name!r} keeps less apart"
        raise BadInput(problem, where=config.where, key="min_isolation", remedy=f"run with --sandbox {least}")
    return MAKERS[name](config)


def proven_sandbox(name: str, config: Config) -> Level:
    """The sandbox of that name; raises UsageError, with what to do, where it does not work here."""
    sandbox = make_sandbox(name, config)
    if RANKS[name] == 0:  # no wall, so none that could be missing; a program that can't be started voids its trial
        return sandbox
    here = sys.platform
    try:
        sandbox.prove()
    except WorldError as error:
        less = [level for level in MAKERS if RANKS[level] < RANKS[name] and _ONLY_ON.get(level, here) == here]
        remedies = [_HOW_TO_HAVE.get(name, ""), *(f"or choose less, by name: --sandbox {level}" for level in less)]
        remedy = "\n  → ".join(filter(None, remedies))
        raise UsageError(f"the sandbox {name!r} can't be had here: {error.detail}\n  → {remedy}") from None
    return sandbox


def probed_sandbox(name: str, config: Config, environ: Mapping[str, str]) -> Level:
    """The same, and its facts say what hostile programs reach in it: as it was found earlier, or tried now.

    Raises UsageError where the level does not keep what it promises.
    """
    sandbox = proven_sandbox(name, config)
    if RANKS[name] == 0:
        return sandbox
    proofs = kept_proofs(environ)
    proof = proofs.get(name)
    if proof is None:
        usual = replace(config, limits=Ceilings(), network="gateway")  # the walls are tried, and not the limits
        try:
            found = _apart(_tried(MAKERS[name](usual)))
        except (OSError, WorldError) as error:
            sandbox.proof["probes"] = f"could not be tried: {error}"
            return sandbox
        proof = proofs.keep(name, found, datetime.now(UTC))
    if proof.broken:
        _apart(sandbox.stop())
        broken = "; ".join(f"{probe.name}: {probe.state}" for probe in proof.broken)
        remedy = "`demeanor doctor --sandboxes` tries it again and shows everything; or choose another level by name"
        raise UsageError(f"the sandbox {name!r} does not keep here what it promises: {broken}\n  → {remedy}")
    sandbox.proof |= proof.facts()
    return sandbox


async def _tried(sandbox: Level) -> tuple[Probe, ...]:
    from demeanor.sandboxes.probes.runner import probe

    try:
        return await probe(sandbox)
    finally:
        await sandbox.stop()


def _apart(work: Coroutine[None, None, T]) -> T:
    """Do something in an event loop of its own, also where there is one already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def kept_proofs(environ: Mapping[str, str]) -> ProbeCache:
    """What was found out on this machine about levels."""
    from demeanor.sandboxes.probes.cache import ProbeCache

    return ProbeCache(cache_folder(environ, "probes"), __version__)
