"""`demeanor compare`: is one version of the agent worse than another? And how many trials would show it (`--plan`)?"""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import (
    choice_arguments,
    config_argument,
    format_arguments,
    load_config,
    on_argument,
    output_format,
    positive_int,
    print_report,
    rate_argument,
    refuse_misfits,
    request_of,
    subject_arguments,
    trial_arguments,
)
from demeanor.core.text.wording import count
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.reports.comparison import CompareReport, Side

_TRIALS = 10
_PLANNED = (0.95, 0.80)
_OF_A_PLAN = {"plan", "trials", "json"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "sides",
        nargs="*",
        metavar="A B",
        help="two runs, stretches of nights (..NIGHT, NIGHT.., NIGHT..NIGHT), subjects, branches or commits in the"
        " history; with --base one commit (default: HEAD); with"
        " --plan two pass rates (default: 95%% 80%%)",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="compare nothing: show how many trials detect a drop from rate A to rate B, and the smallest drop that N"
        " trials detect (--trials N)",
    )
    parser.add_argument(
        "--base", metavar="REV", help="check out and build this commit and the other one, and run them side by side"
    )
    parser.add_argument(
        "--last",
        type=positive_int,
        metavar="N",
        help="runs of a branch, or nights of a subject or stretch (default: 7; two subjects of one run: that run)",
    )
    parser.add_argument(
        "--allow-identical", action="store_true", help="compare sides that are the same, to see how much results vary"
    )
    choice_arguments(parser, paths=False)
    subject_arguments(parser)
    how = parser.add_argument_group("how, with --base")
    how.add_argument(
        "--trials",
        type=positive_int,
        metavar="N",
        help=f"trials per eval, subject and side (default: {_TRIALS}), and twice as many again of what looks worse",
    )
    trial_arguments(how)
    on_argument(how)
    out = parser.add_argument_group("output")
    format_arguments(out)
    out.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find or run both sides, compare, record and print; or plan a comparison."""
    refuse_misfits(args, arguments, "--plan" if args.plan else "", {"": vars(args).keys() - _OF_A_PLAN})
    if args.plan:
        _print_plan(args)
        return ExitCode.ACCEPTED
    from demeanor.commands.compare.workflow import compare_decisions
    from demeanor.reports.comparison import COMPARE_DOCUMENT, compare_markdown, compare_terminal
    from demeanor.results import keep_decisions

    config = load_config(args)
    results = args.results or config.root / config.results
    if args.base is not None:
        if len(args.sides) > 1:
            raise UsageError(f"--base {args.base}: expected at most one other commit, got {len(args.sides)}")
        if args.last:
            raise UsageError("--last is about stored runs, and --base runs both sides anew\n  → omit one of them")
        report, interrupted = _run_both(args, config, results, events=output_format(args) == "json")
    else:
        if len(args.sides) != 2:
            raise UsageError(
                "two sides are needed\n  → to compare results in the history: demeanor compare A B\n"
                "  → to run this commit and main: demeanor compare --base main"
            )
        report, interrupted = _from_history(args, config, results), False
    unkept = keep_decisions(config, os.environ, results, compare_decisions(report))
    report = replace(report, notes=(*report.notes, *unkept))
    print_report(args, report, COMPARE_DOCUMENT, compare_terminal, compare_markdown)
    return ExitCode.INTERRUPTED if interrupted else report.exit_code


def _print_plan(args: argparse.Namespace) -> None:
    """Show how many trials detect a drop."""
    from demeanor.commands.compare.plan import comparison_plan
    from demeanor.commands.compare.plan_text import plan_terminal
    from demeanor.reports.comparison import PLAN_DOCUMENT

    try:
        base, new = map(rate_argument, args.sides or map(str, _PLANNED))
    except (ValueError, argparse.ArgumentTypeError):
        shown = " ".join(args.sides)
        raise UsageError(
            f"--plan {shown}: expected two rates\n  → for example: demeanor compare --plan 95% 80%"
        ) from None
    if not new < base:
        raise UsageError(f"--plan {base:g} {new:g}: the second rate must be lower\n  → swap them")
    print_report(args, comparison_plan(base, new, trials=args.trials), PLAN_DOCUMENT, plan_terminal)


def _from_history(args: argparse.Namespace, config: Config, results: Path) -> CompareReport:
    """Compare results in the history."""
    from demeanor.commands.compare.identical import refuse_identical, refuse_same_trials
    from demeanor.reports.comparison import chosen_cells, latest_versions, make_comparison, sides_of, without_shared
    from demeanor.results import open_project_history, recent_correlation
    from demeanor.runner import Catalog
    from demeanor.store.history import stored_price_notes

    if args.keyword or args.suite or args.model:
        raise UsageError("-k, --suite and --model work only with --base\n  → use --scenario and --subject")
    with open_project_history(config, os.environ, results=results) as history:
        sides = sides_of(history, args.sides[0], args.sides[1], config.root, last=args.last, results=results)
        base, new = (chosen_cells(side, names=args.scenario, subjects=args.subject) for side in sides)
        notes: tuple[str, ...] = ()
        if not args.allow_identical:
            refuse_same_trials(base, new)
            base, new, notes = without_shared(base, new)
        base, new, changed = latest_versions(base, new)
        notes += changed
        if not args.allow_identical and "nights" not in {base.kind, new.kind}:  # a hosted model may change by itself
            notes += refuse_identical(Catalog(config=config, environ=os.environ), base, new)
        notes += stored_price_notes(history, [*base.runs, *new.runs])
        alike = recent_correlation(history)
    notes += alike.notes
    return make_comparison(base, new, margin=config.statistics.margin, correlation=alike.value, notes=notes)


def _run_both(args: argparse.Namespace, config: Config, results: Path, *, events: bool) -> tuple[CompareReport, bool]:
    """Run both commits side by side."""
    from demeanor.cli import make_ui
    from demeanor.commands.compare.identical import same_fingerprint_notes
    from demeanor.commands.compare.tried import tried_notes
    from demeanor.commands.compare.workflow import prepare_sides, second_look, side_results
    from demeanor.decide.comparison import compare, to_look_at_again
    from demeanor.reports.comparison import make_comparison
    from demeanor.runner import Spending, collect_evals, execute_together, select_evals

    ui = make_ui(events=events)
    revisions = (args.base, args.sides[0] if args.sides else "HEAD")
    building = config.executor.builds
    request = request_of(args, command="compare", trials=args.trials or _TRIALS, policy="all", build=building)
    every = collect_evals(config)
    evals = select_evals(every, request)
    with ExitStack() as stack:
        sides, left_out = prepare_sides(
            stack,
            config,
            revisions,
            evals,
            request,
            os.environ,
            results=results,
            log=ui.log,
            allow_identical=args.allow_identical,
        )
        spending = Spending()
        results_of = partial(execute_together, ui=ui, spending=spending)
        ran = [*results_of({label: side.run for label, side in sides.items()}).values()]
        base, new = map(side_results, sides.values())
        again: tuple[Side, Side] | None = None
        chosen = to_look_at_again(compare(base.cells, new.cells))
        if chosen and not any(result.stopped or result.interrupted for result in ran):
            ui.log(f"looking again: fresh trials of {count(len(chosen), 'cell')} that looked worse")
            fresh = second_look(sides, chosen, results=results)
            ran += results_of({label: side.run for label, side in fresh.items()}).values()
            again = (side_results(fresh["base"]), side_results(fresh["new"]))
    interrupted = any(result.interrupted for result in ran)
    notes = [result.stopped for result in ran if result.stopped]
    notes += (
        ["interrupted: some trials are missing; to get them, run the command again, which repeats all of them"]
        if interrupted
        else []
    )
    notes += [note for result in ran for note in result.notes]
    notes += [*left_out, *tried_notes(config, every, {eval_.name for eval_ in evals}, revisions)]
    notes += [] if args.allow_identical else same_fingerprint_notes(base, new)
    margin = config.statistics.margin
    report = make_comparison(base, new, again=again, margin=margin, notes=tuple(dict.fromkeys(notes)))
    return report, interrupted
