"""Tests sandboxes on this machine: does one work, and what do hostile programs reach in each?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from demeanor.config.config import Config
from demeanor.core.errors import WorldError
from demeanor.runner.sandbox import MAKERS, Level, kept_proofs, proven_sandbox

if TYPE_CHECKING:
    from demeanor.sandboxes.probes.result import Probe


def probe_sandbox(name: str, config: Config) -> None:
    """Run a program in the sandbox; raises UsageError if that does not work."""
    asyncio.run(proven_sandbox(name, config).stop())


def probe_levels(config: Config, environ: Mapping[str, str]) -> tuple[dict[str, tuple[Probe, ...]], dict[str, str]]:
    """What hostile programs reach at each level that works on this machine, and why the other levels do not work.

    The results are cached, because the records of later runs cite them.
    """
    from demeanor.sandboxes.probes.runner import matrix

    levels: dict[str, Level] = {}
    missing: dict[str, str] = {}
    try:
        for name, make in MAKERS.items():
            levels[name] = make(config)
            try:
                levels[name].prove()
            except WorldError as error:
                asyncio.run(levels.pop(name).stop())
                missing[name] = error.detail
        found = asyncio.run(matrix(levels))
    finally:
        for level in levels.values():
            asyncio.run(level.stop())
    proofs, now = kept_proofs(environ), datetime.now(UTC)
    for name, probes in found.items():
        proofs.keep(name, probes, now)
    return found, missing
