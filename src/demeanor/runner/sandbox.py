"""Creates the sandbox of a run, and verifies that it works on this machine, before anything else happens.

To add a level, add a function to `MAKERS` and a rank to core/values/sandbox_spec.py.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from demeanor._version import __version__
from demeanor.config import Config
from demeanor.core.container_hints import podman_hint
from demeanor.core.trees.cache_dir import cache_folder
from demeanor.core.trees.git import require_git
from demeanor.core.trees.open_files import require_open_files
from demeanor.core.values.errors import BadInput, StoreError, UnknownName, UsageError, WorldError
from demeanor.core.values.sandbox_spec import RANKS, Ceilings
from demeanor.sandboxes import SandboxLevel, is_full
from demeanor.sandboxes.levels import NoneSandbox

if TYPE_CHECKING:
    from demeanor.sandboxes import EngineName
    from demeanor.sandboxes.probes import Probe, ProbeCache

T = TypeVar("T")
Level: TypeAlias = SandboxLevel


def _none(config: Config) -> Level:
    return NoneSandbox()


def _bubblewrap(config: Config) -> Level:
    from demeanor.sandboxes.levels import BubblewrapSandbox

    return BubblewrapSandbox(ceilings=config.limits, network=config.network)


def _landlock(config: Config) -> Level:
    from demeanor.sandboxes.levels import LandlockSandbox

    return LandlockSandbox(ceilings=config.limits, network=config.network)


def _container(engine: EngineName, config: Config) -> Level:
    from demeanor.sandboxes.levels import ContainerSandbox

    return ContainerSandbox(engine, ceilings=config.limits, network=config.network)


MAKERS: Mapping[str, Callable[[Config], Level]] = {
    "bubblewrap": _bubblewrap,
    "docker": partial(_container, "docker"),
    "podman": partial(_container, "podman"),
    "landlock": _landlock,
    "none": _none,
}
"""The functions that create sandboxes, by level."""

_REMEDIES = {
    "bubblewrap": "install bubblewrap (apt install bubblewrap, dnf install bubblewrap) and allow user namespaces",
    "docker": "install docker, start its daemon, and check that `docker run` works for you",
    "podman": "install podman with a runtime (apt install podman runc), and check that `podman run` works for you",
    "landlock": "use Linux 6.7 or later with landlock enabled (`landlock` in /sys/kernel/security/lsm)",
}


def make_sandbox(name: str, config: Config) -> Level:
    """Create the sandbox of that name, which may not work on this machine."""
    if name not in MAKERS:
        raise UnknownName("sandbox", name, MAKERS)
    least = config.min_isolation
    if least is not None and RANKS[name] < RANKS[least]:
        problem = f"the configuration requires {least!r} or stronger isolation, and the sandbox {name!r} is weaker"
        raise BadInput(problem, where=config.where, key="min_isolation", remedy=f"run with --sandbox {least}")
    return MAKERS[name](config)


def verified_sandbox(name: str, config: Config) -> Level:
    """Create the sandbox of that name; raises UsageError, with a remedy, when it does not work on this machine.

    The same goes for git, which every workspace needs.
    """
    require_open_files()
    require_git()
    sandbox = make_sandbox(name, config)
    if RANKS[name] == 0:  # no isolation to verify; a program that can't be started voids its trial
        return sandbox
    try:
        sandbox.verify()
    except WorldError as error:
        _run_in_thread(sandbox.stop())
        _require_temporary_space()
        problem = f"the sandbox {name!r} does not work on this machine: {error.detail}"
        if sys.platform != "linux":
            raise UsageError(f"{problem}\n  → only --sandbox none works here, without isolation") from None
        remedies = "\n  → ".join(filter(None, [_remedy(name, error.detail), _other_level(name, config)]))
        raise UsageError(f"{problem}\n  → {remedies}") from None
    return sandbox


def _other_level(name: str, config: Config) -> str:
    """The strongest other level that is allowed and works here, as a remedy; empty if there is none."""
    least = RANKS[config.min_isolation] if config.min_isolation else 0
    for level in sorted(MAKERS, key=RANKS.__getitem__, reverse=True):
        if level != name and least <= RANKS[level] <= RANKS[name] and _works(MAKERS[level](config), RANKS[level]):
            weaker = "or use weaker isolation, which works here" if RANKS[level] < RANKS[name] else "or use another one"
            return f"{weaker}: --sandbox {level}"
    return ""


def _works(sandbox: Level, rank: int) -> bool:
    """Whether a level works here; where nothing is isolated, nothing can fail."""
    try:
        if rank:
            sandbox.verify()
    except WorldError:
        return False
    finally:
        _run_in_thread(sandbox.stop())
    return True


def _require_temporary_space() -> None:
    """Raise StoreError if the disk of the temporary folder is full: no sandbox works then, and none is to blame."""
    folder = Path(tempfile.gettempdir())
    if is_full(folder):
        remedy = "free some space, or set TMPDIR to a folder on another disk"
        raise StoreError(f"the disk of the temporary folder {folder} is full\n  → {remedy}")


def _remedy(name: str, error: str) -> str:
    return (podman_hint(error) if name == "podman" else None) or _REMEDIES.get(name, "")


def probed_sandbox(name: str, config: Config, environ: Mapping[str, str]) -> Level:
    """The same, with the results of its probes in its facts: cached ones, or from running the probes now.

    Raises UsageError when the level breaks a guarantee.
    """
    sandbox = verified_sandbox(name, config)
    if RANKS[name] == 0:
        return sandbox
    cache = probe_cache(environ)
    results = cache.get(name)
    if results is None:
        usual = replace(config, limits=Ceilings(), network="gateway")  # the probes test isolation, not limits
        try:
            probes = _run_in_thread(_probe(MAKERS[name](usual)))
        except (OSError, WorldError) as error:
            sandbox.probe_facts["probes"] = f"could not be run: {error}"
            return sandbox
        results = cache.store(name, probes, datetime.now(UTC))
    if results.broken:
        _run_in_thread(sandbox.stop())
        broken = "; ".join(f"{probe.name}: {probe.state}" for probe in results.broken)
        remedy = "`demeanor doctor --sandboxes` runs all probes again and shows the results; or use another --sandbox"
        raise UsageError(f"the sandbox {name!r} breaks its guarantees on this machine: {broken}\n  → {remedy}")
    sandbox.probe_facts |= results.facts()
    return sandbox


async def _probe(sandbox: Level) -> tuple[Probe, ...]:
    from demeanor.sandboxes.probes import probe

    try:
        return await probe(sandbox)
    finally:
        await sandbox.stop()


def _run_in_thread(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine in a new event loop in a thread, since this thread may already run one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def probe_cache(environ: Mapping[str, str]) -> ProbeCache:
    """The cached results of probes on this machine."""
    from demeanor.sandboxes.probes import ProbeCache

    return ProbeCache(cache_folder(environ, "probes"), __version__)


def no_isolation() -> NoneSandbox:
    """A sandbox without isolation, for programs that bring their own (Harbor) and plans that start none."""
    return NoneSandbox()
