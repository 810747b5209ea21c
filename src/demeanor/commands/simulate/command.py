"""`demeanor simulate`: predict how long a night takes on a fleet, what it costs, and what limits it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli.options import (
    choice_arguments,
    config_argument,
    load_config,
    positive_float,
    positive_int,
    print_report,
    request_of,
    subject_arguments,
)
from demeanor.cli.output_path import new_file
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.file_set import write_files

if TYPE_CHECKING:
    from demeanor.commands.simulate.rules import ProviderLimit


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    choice_arguments(parser)
    subject_arguments(parser)
    how = parser.add_argument_group("how")
    how.add_argument("--trials", type=positive_int, metavar="N", help="trials per eval and subject")
    how.add_argument(
        "--workers",
        type=positive_int,
        action="append",
        default=[],
        metavar="N",
        help="the number of workers; repeat it to compare fleets (default: 1)",
    )
    how.add_argument(
        "--slots", type=positive_int, default=1, metavar="N", help="attempts in parallel on each worker (default: 1)"
    )
    how.add_argument(
        "--concurrency",
        action="append",
        default=[],
        metavar="PROVIDER=N",
        help="requests at once, instead of the configured limit",
    )
    how.add_argument(
        "--requests-per-minute",
        action="append",
        default=[],
        metavar="PROVIDER=N",
        help="requests per minute, instead of the configured limit",
    )
    how.add_argument("--seconds", type=positive_float, metavar="N", help="duration of trials of evals that never ran")
    out = parser.add_argument_group("output")
    out.add_argument("--plot", type=new_file, metavar="FILE", help="write the timeline of the first fleet as SVG")
    out.add_argument("--out", type=Path, metavar="DIR", help="folder of runs (default: results)")
    out.add_argument("--json", action="store_true", help="print the forecast as JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Simulate and print."""
    from demeanor.commands.simulate.plot import timeline
    from demeanor.commands.simulate.render import forecast_text
    from demeanor.commands.simulate.report import SIMULATE_DOCUMENT
    from demeanor.commands.simulate.workflow import forecast, make_workload, provider_limits
    from demeanor.config.providers import WELL_KNOWN
    from demeanor.runner.catalog import Catalog
    from demeanor.runner.plan import plan_evals
    from demeanor.runner.selection import collect_evals, select_evals

    config = load_config(args).at_night()
    request = request_of(args, policy="all", kind="nightly")
    catalog = Catalog(config=config, environ=os.environ, replaying=True)
    evals = select_evals(collect_evals(config, [str(config.root / path) for path in request.paths]), request)
    plan = plan_evals(catalog, evals, request, os.environ)
    if not any(plan.trials()):
        raise UsageError("no trial is planned\n  → choose other evals or subjects")
    work = make_workload(plan, catalog, args.out or config.root / config.results, seconds=args.seconds)
    limits = _changed(provider_limits(config), args, {*config.providers, *WELL_KNOWN, *work.providers})
    report, course = forecast(work, [(workers, args.slots) for workers in args.workers or [1]], limits)
    if args.plot is not None:
        fleet = report.fleets[0]
        write_files({args.plot: timeline(course, slots=fleet.slots)})
    print_report(args, report, SIMULATE_DOCUMENT, forecast_text)
    return ExitCode.ACCEPTED


def _changed(
    limits: dict[str, ProviderLimit], args: argparse.Namespace, known: Collection[str]
) -> dict[str, ProviderLimit]:
    """The limits, with those of the options instead of the configured ones."""
    from demeanor.commands.simulate.rules import ProviderLimit

    found = dict(limits)
    for option, field in (("--concurrency", "concurrency"), ("--requests-per-minute", "per_minute")):
        for text in vars(args)[option[2:].replace("-", "_")]:
            name, _, number = text.partition("=")
            if not name or not number.isdigit() or int(number) < 1:
                raise UsageError(f"{option} {text}: expected PROVIDER=N, with a whole number of at least 1")
            if name not in known:
                raise UnknownName("provider", name, known, where=option)
            found[name] = replace(found.get(name, ProviderLimit()), **{field: int(number)})
    return found
