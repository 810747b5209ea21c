"""`demeanor doctor --sandboxes`: what hostile programs reach at each level, tried for real."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from demeanor.config.config import Config
from demeanor.core.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.sandboxes.probes.result import Probe

_SAYS = """
blocked       it did not happen, and without walls it did
open          it happened: the level does not promise to prevent that
OPEN          it happened, and must not
works         it must be possible, and is
BROKEN        it must be possible, and is not
inconclusive  it does not happen without walls either (or could not be tried), so nothing is proven
"""


def show(config: Config, *, as_json: bool) -> ExitCode:
    """Try everything and print it; 1 where a level does not keep what it promises."""
    from demeanor.commands.doctor.probes import probe_levels

    found, missing = probe_levels(config, os.environ)
    if as_json:
        from demeanor.core.codec import encode

        levels = {level: encode(probes) for level, probes in found.items()}
        print(json.dumps({"levels": levels, "not_here": missing}, indent=2))
    else:
        _print_table(found)
        print(_SAYS)
        for level, why in missing.items():
            print(f"not here: {level}: {why}")
        _print_surprises(found)
    kept = all(probe.expected for probes in found.values() for probe in probes)
    return ExitCode.ACCEPTED if kept else ExitCode.REJECTED


def _print_table(found: dict[str, tuple[Probe, ...]]) -> None:
    rows = list(zip(*found.values(), strict=True))
    width = max(len(row[0].name) for row in rows)
    control = "without walls"
    print("  ".join((f"{'':<{width}}", control, *(f"{level:<12}" for level in found))).rstrip())
    for row in rows:
        free = "happens" if row[0].control == "reached" else "does not"
        states = (probe.state if probe.expected else probe.state.upper() for probe in row)
        cells = (f"{row[0].name:<{width}}", f"{free:<{len(control)}}", *(f"{state:<12}" for state in states))
        print("  ".join(cells).rstrip())


def _print_surprises(found: dict[str, tuple[Probe, ...]]) -> None:
    for level, probes in found.items():
        for probe in probes:
            if not probe.expected:
                print(f"broken: {level}: {probe.name}: {probe.found}")
