"""Test the sandboxes on this machine: whether one works, and what hostile programs reach in each."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from demeanor.config import Config
from demeanor.core.text.codec import encode
from demeanor.core.values.errors import WorldError
from demeanor.core.values.exit_code import ExitCode
from demeanor.runner import MAKERS, Level, probe_cache, verified_sandbox

if TYPE_CHECKING:
    from demeanor.sandboxes.probes import Probe

_LEGEND = """
blocked       it did not happen; without a sandbox it does
open          it happened; the level does not promise to prevent it
OPEN          it happened, but the level promises to prevent it
works         it must be possible, and is
BROKEN        it must be possible, but is not
inconclusive  it does not happen without a sandbox either (or could not be tried), so it shows nothing
"""


def probe_sandbox(name: str, config: Config) -> Mapping[str, str]:
    """Run a program in the sandbox, and return the level's facts; raise UsageError if that does not work."""
    sandbox = verified_sandbox(name, config)
    facts = sandbox.facts
    asyncio.run(sandbox.stop())
    return facts


def working_levels(config: Config) -> list[str]:
    """The names of the levels that work here."""
    levels = []
    for name, make in MAKERS.items():
        level = make(config)
        try:
            level.verify()
        except WorldError:
            continue
        else:
            levels.append(name)
        finally:
            asyncio.run(level.stop())
    return levels


def probe_levels(config: Config, environ: Mapping[str, str]) -> tuple[dict[str, tuple[Probe, ...]], dict[str, str]]:
    """Return what hostile programs reach in each level that works here, and why the other levels do not work.

    The results are cached, because the records of later runs cite them.
    """
    from demeanor.sandboxes.probes import matrix

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
        by_level = asyncio.run(matrix(levels))
    finally:
        for level in levels.values():
            asyncio.run(level.stop())
    cache, now = probe_cache(environ), datetime.now(UTC)
    for name, probes in by_level.items():
        cache.store(name, probes, now)
    return by_level, missing


def print_matrix(config: Config, *, as_json: bool) -> ExitCode:
    """Run all probes and print the results; exit with 1 if a level breaks a promise."""
    by_level, missing = probe_levels(config, os.environ)
    if as_json:
        levels = {level: encode(probes) for level, probes in by_level.items()}
        print(json.dumps({"levels": levels, "not_here": missing}, indent=2))
    else:
        _print_table(by_level)
        print(_LEGEND)
        for level, why in missing.items():
            print(f"not available: {level}: {why}")
        _print_broken(by_level)
    as_promised = all(probe.expected for probes in by_level.values() for probe in probes)
    return ExitCode.ACCEPTED if as_promised else ExitCode.REJECTED


def _print_table(by_level: dict[str, tuple[Probe, ...]]) -> None:
    rows = list(zip(*by_level.values(), strict=True))
    width = max(len(row[0].name) for row in rows)
    control = "no sandbox"
    print("  ".join((f"{'':<{width}}", control, *(f"{level:<12}" for level in by_level))).rstrip())
    for row in rows:
        free = "happens" if row[0].control == "reached" else "does not"
        states = (probe.state if probe.expected else probe.state.upper() for probe in row)
        cells = (f"{row[0].name:<{width}}", f"{free:<{len(control)}}", *(f"{state:<12}" for state in states))
        print("  ".join(cells).rstrip())


def _print_broken(by_level: dict[str, tuple[Probe, ...]]) -> None:
    for level, probes in by_level.items():
        for probe in probes:
            if not probe.expected:
                print(f"broken: {level}: {probe.name}: {probe.found}")
