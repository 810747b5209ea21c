"""`demeanor report [RUN] --failures`: the failures of a run in groups, or one group as a task."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import output_format, positive_int
from demeanor.core.text.wording import count
from demeanor.core.values.errors import UsageError

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.render import Screen
    from demeanor.reports.failures import Triage

FORMATS = ("terminal", "markdown", "json")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this form."""
    group = parser.add_argument_group("the failures of a run (--failures)")
    group.add_argument(
        "--brief",
        type=positive_int,
        metavar="N",
        help="only group N, as a task in markdown for an engineer or an agent; implies --failures",
    )
    group.add_argument(
        "--against",
        metavar="RUN",
        help="when no trial of an eval passed, take a passing one from this run (default: from the ten runs before)",
    )


def text(args: argparse.Namespace, config: Config, results: Path, screen: Screen) -> str:
    """Find the run, and show its failures in groups."""
    from demeanor.reports.failures import MOST_GROUPS, TRIAGE_DOCUMENT, make_triage, triage_markdown, triage_terminal
    from demeanor.results import find_stored_run

    how = output_format(args)
    if args.brief is not None and how == "json":
        raise UsageError("--brief N is markdown, not JSON\n  → leave out --brief: --failures --json has all groups")
    stored = find_stored_run(args.runs[0] if args.runs else "latest", results, config, os.environ)
    against = find_stored_run(args.against, results, config, os.environ) if args.against else None
    options = ["--config", str(args.config)] if args.config else []
    options += ["--results", str(args.results)] if args.results else []
    triage = make_triage(stored, config, os.environ, results, against=against, options=options)
    if args.brief is not None:
        return _brief(triage, args.brief)
    if how == "json":
        return TRIAGE_DOCUMENT.write(triage)
    if how == "markdown":
        return triage_markdown(triage)
    return triage_terminal(triage, screen, most=10**9 if args.all else MOST_GROUPS)


def _brief(triage: Triage, number: int) -> str:
    from demeanor.reports.failures import group_brief

    if number > len(triage.groups):
        groups = count(len(triage.groups), "group")
        raise UsageError(f"--brief {number}: {triage.run} has {groups}\n  → list them with: demeanor report --failures")
    return group_brief(triage.groups[number - 1])
