"""Creates the sandbox of a run and checks, before anything else happens, that it works on this machine.

Each level is created by a function in `MAKERS`. A new level needs a function there and a rank in core/sandbox_spec.py.
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
    """A sandbox that can check whether it works on this machine."""

    proof: dict[str, str]
    """Results of its probes; a part of its facts."""

    @property
    def folder(self) -> Path:
        """Holds all files of a run, and is removed with it."""
        ...

    def prove(self) -> None:
        """Run a program in it; raises WorldError if that does not work."""
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
"""Creates a sandbox, by the name of its level."""

_ONLY_ON = {"landlock": "linux", "seatbelt": "darwin"}

_REMEDIES = {
    "bubblewrap": "install bubblewrap (apt install bubblewrap, dnf install bubblewrap) and allow user namespaces",
    "docker": "install docker, start its daemon, and check that `docker run` works for you",
    "podman": "install podman with a runtime (apt install podman runc), and check that `podman run` works for you",
    "landlock": "use Linux 6.7 or later with landlock enabled (`landlock` in /sys/kernel/security/lsm)",
    "seatbelt": "it works on macOS only; use another level elsewhere",
}


def make_sandbox(name: str, config: Config) -> Level:
    """The sandbox of that name, which may not work on this machine."""
    if name not in MAKERS:
        raise UnknownName("sandbox", name, MAKERS)
    least = config.min_isolation
    if least is not None and RANKS[name] < RANKS[least]:
        problem = f"the sandbox {name!r} isolates less than {least!r}, which this project requires"
        raise BadInput(problem, where=config.where, key="min_isolation", remedy=f"use --sandbox {least}")
    return MAKERS[name](config)


def working_sandbox(name: str, config: Config) -> Level:
    """The sandbox of that name; raises UsageError, with remedies, if it does not work on this machine."""
    sandbox = make_sandbox(name, config)
    if RANKS[name] == 0:  # nothing to check: no isolation is promised
        return sandbox
    here = sys.platform
    try:
        sandbox.prove()
    except WorldError as error:
        weaker = [level for level in MAKERS if RANKS[level] < RANKS[name] and _ONLY_ON.get(level, here) == here]
        remedies = [_REMEDIES.get(name, ""), *(f"or use weaker isolation: --sandbox {level}" for level in weaker)]
        remedy = "\n  → ".join(filter(None, remedies))
        raise UsageError(f"the sandbox {name!r} does not work on this machine: {error.detail}\n  → {remedy}") from None
    return sandbox


def probed_sandbox(name: str, config: Config, environ: Mapping[str, str]) -> Level:
    """The same, with the results of its probes in its facts: cached ones, or new ones if there are none.

    Raises UsageError if a probe shows that the level is not as tight as it promises.
    """
    sandbox = working_sandbox(name, config)
    if RANKS[name] == 0:
        return sandbox
    cache = probe_cache(environ)
    proof = cache.get(name)
    if proof is None:
        usual = replace(
            config, limits=Ceilings(), network="gateway"
        )  # the isolation is probed, not the configured limits
        try:
            found = _run_in_thread(_probe(MAKERS[name](usual)))
        except (OSError, WorldError) as error:
            sandbox.proof["probes"] = f"could not be run: {error}"
            return sandbox
        proof = cache.keep(name, found, datetime.now(UTC))
    if proof.broken:
        _run_in_thread(sandbox.stop())
        broken = "; ".join(f"{probe.name}: {probe.state}" for probe in proof.broken)
        remedy = (
            "`demeanor doctor --sandboxes` probes it again and shows all results; or use another level: --sandbox LEVEL"
        )
        raise UsageError(f"the sandbox {name!r} is not as tight as it promises on this machine: {broken}\n  → {remedy}")
    sandbox.proof |= proof.facts()
    return sandbox


async def _probe(sandbox: Level) -> tuple[Probe, ...]:
    from demeanor.sandboxes.probes.runner import probe

    try:
        return await probe(sandbox)
    finally:
        await sandbox.stop()


def _run_in_thread(coroutine: Coroutine[None, None, T]) -> T:
    """Run a coroutine in another thread, because this one may have a running event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def probe_cache(environ: Mapping[str, str]) -> ProbeCache:
    """The results of earlier probes on this machine."""
    from demeanor.sandboxes.probes.cache import ProbeCache

    return ProbeCache(cache_folder(environ, "probes"), __version__)
