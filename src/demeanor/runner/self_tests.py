"""Proofs without a model: that the sandbox works, and that evals can pass and can fail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.config.config import Config
from demeanor.core.errors import WorldError
from demeanor.core.eval import Eval
from demeanor.core.scenario import Scenario
from demeanor.core.tree import Tree
from demeanor.core.tree_io import scan
from demeanor.runner.sandbox import MAKERS, Level, probe_cache, verified_sandbox
from demeanor.runner.template import build_template

if TYPE_CHECKING:
    from demeanor.judge.self_test import SelfTest
    from demeanor.sandboxes.probes.result import Probe


def probe_sandbox(name: str, config: Config) -> None:
    """Start a program in the sandbox, really, and see it end; raises UsageError where that does not work."""
    asyncio.run(verified_sandbox(name, config).stop())


def probe_levels(config: Config, environ: Mapping[str, str]) -> tuple[dict[str, tuple[Probe, ...]], dict[str, str]]:
    """What hostile programs reach at each level that can be had here; and of the others, why they can't.

    What is found is kept, for the records of later runs.
    """
    from demeanor.sandboxes.probes.runner import matrix

    levels: dict[str, Level] = {}
    missing: dict[str, str] = {}
    try:
        for name, make in MAKERS.items():
            levels[name] = make(config)
            try:
                levels[name].verify()
            except WorldError as error:
                asyncio.run(levels.pop(name).stop())
                missing[name] = error.detail
        found = asyncio.run(matrix(levels))
    finally:
        for level in levels.values():
            asyncio.run(level.stop())
    cache, now = probe_cache(environ), datetime.now(UTC)
    for name, probes in found.items():
        cache.store(name, probes, now)
    return found, missing


def self_tests(evals: Sequence[Eval], config: Config) -> Iterator[SelfTest]:
    """Prove of each eval that it can pass and can fail."""
    from demeanor.judge.self_test import self_test

    sandbox = verified_sandbox(config.sandbox, config)
    asyncio.run(sandbox.start())
    try:
        for one in evals:
            yield self_test(one, lay_out=lay_out, read_back=scan, run_command=sandbox.command)
    finally:
        asyncio.run(sandbox.stop())


def lay_out(scenario: Scenario, folder: Path) -> Tree:
    """The starting workspace in an empty folder."""
    folder.rmdir()
    return build_template(scenario, folder).tree
