"""`demeanor cover`: which instructions of the prompt could be deleted without any eval noticing?"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import (
    build_argument,
    builds_first,
    choice_arguments,
    config_argument,
    load_config,
    on_argument,
    positive_int,
    print_report,
    rate_argument,
    request_of,
    subject_arguments,
    trial_arguments,
)
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from demeanor.config import Config
    from demeanor.core.text.instructions import PromptInstruction
    from demeanor.core.values.run_request import RunRequest
    from demeanor.plugins.lab.cover.workflow import CoverRun
    from demeanor.reports.prompt_coverage import CoverReport
    from demeanor.runner import Catalog, RunResult

SUMMARY = "find the instructions in the prompt that no eval covers"
GROUP = "explore"
EXAMPLES = (
    ("demeanor cover", "which instructions could be deleted without any eval noticing?"),
    ("demeanor cover --max-trials 200", "with a limit; run it again to continue"),
    ("demeanor cover --since main --min-coverage 80%", "only what a change touches, as a gate"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    choice_arguments(parser)
    subject_arguments(parser)
    what = parser.add_argument_group("which instructions")
    what.add_argument(
        "--instruction",
        action="append",
        default=[],
        metavar="ID",
        help="only this one; repeatable (ids: demeanor trace --prompt)",
    )
    what.add_argument("--since", metavar="REV", help="only those whose lines changed since a revision")
    how = parser.add_argument_group("how")
    how.add_argument(
        "--operator",
        choices=("remove", "negate", "shorten", "swap"),
        default="remove",
        help="what to do to an instruction; swap: swap it with the next one (default: remove)",
    )
    how.add_argument(
        "--drop",
        type=rate_argument,
        default=0.5,
        metavar="RATE",
        help="the drop of a pass rate that must be noticed (default: 50%%)",
    )
    how.add_argument(
        "--sure", type=rate_argument, default=0.95, metavar="RATE", help="the probability to notice it (default: 95%%)"
    )
    how.add_argument(
        "--false-alarm",
        type=rate_argument,
        default=0.01,
        metavar="RATE",
        help="the accepted probability to report an instruction without effect (default: 1%%)",
    )
    how.add_argument(
        "--baseline-trials",
        type=positive_int,
        default=10,
        metavar="N",
        help="trials with the usual prompt for an eval without nights (default: 10)",
    )
    how.add_argument("--max-trials", type=positive_int, metavar="N", help="maximum number of trials")
    how.add_argument(
        "--min-coverage", type=rate_argument, metavar="RATE", help="reject if fewer of the instructions are held"
    )
    trial_arguments(how)
    on_argument(how)
    build_argument(how)
    out = parser.add_argument_group("output")
    out.add_argument("--json", action="store_true", help="print only the report, as JSON")
    out.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)
    parser.epilog = (
        "exit codes: 0 every instruction has an answer, 1 less than --min-coverage, 2 wrong usage, 3 undecided: some "
        "instructions have no answer, 130 interrupted"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Search, write the report and print it."""
    from demeanor.cli import make_ui
    from demeanor.reports.prompt_coverage import COVER_DOCUMENT, FOLDER, cover_terminal
    from demeanor.runner import Catalog, execute, prepare

    config = load_config(args)
    results = args.results or config.root / config.results
    request = request_of(args, policy="all", trials=1, build=builds_first(args, config))
    catalog = Catalog(config=config, environ=os.environ)
    ui = make_ui(quiet=True)
    search = _search(args, catalog, request, results)
    search.log = ui.log
    prepared = prepare(catalog, search.plan, request, results / FOLDER, in_history=False, log=ui.log)
    search.folder = prepared.folder
    result = execute(prepared, ui=ui, watch=search.watch, more=search.more)
    report = _report(args, config, search, result)
    _write(report, catalog, result)
    print_report(args, report, COVER_DOCUMENT, cover_terminal)
    return report.exit_code


def _search(args: argparse.Namespace, catalog: Catalog, request: RunRequest, results: Path) -> CoverRun:
    """The search before its first trial; everything that is wrong with the options is an error now."""
    from demeanor.plugins.lab.cover.kept_trials import earlier_records
    from demeanor.plugins.lab.cover.rules import CoverRule
    from demeanor.plugins.lab.cover.workflow import CoverRun, checked_plan
    from demeanor.reports.prompt_coverage import FOLDER
    from demeanor.results import (
        baselines_of,
        counted_nights,
        eval_hashes,
        latest_nights,
        night_filter,
        open_project_history,
    )
    from demeanor.runner import collect_evals, plan_evals, select_evals

    config = catalog.config
    evals = [eval_ for eval_ in select_evals(collect_evals(config, request.paths), request) if eval_.task is None]
    plan = checked_plan(plan_evals(catalog, evals, request, os.environ), args.max_trials)
    with open_project_history(config, os.environ, results=results) as history:
        nights = latest_nights(history, plan, counted_nights(history, night_filter(config)))
    past = baselines_of(plan, nights, eval_hashes(evals) if nights else {})
    return CoverRun(
        plan=plan,
        rule=CoverRule(drop=args.drop, sure=args.sure, false_alarm=args.false_alarm),
        history={cell.eval.name: past[cell.id] for cell in plan.cells if cell.id in past},
        earlier=earlier_records(results / FOLDER),
        operator=args.operator,
        choose=_choice(args, config),
        max_trials=args.max_trials,
        baseline_trials=args.baseline_trials,
    )


def _choice(args: argparse.Namespace, config: Config) -> Callable[[Sequence[PromptInstruction]], Collection[str]]:
    """Which of the instructions that were sent are tried."""
    from demeanor.cli import check_id

    for id_ in args.instruction:
        check_id(id_, "--instruction")
    lines = None
    if args.since is not None:
        from demeanor.vcs import changed_lines

        lines = changed_lines(config.root, args.since)

    def chosen(sent: Sequence[PromptInstruction]) -> Collection[str]:
        from demeanor.results import locate

        ids = {instruction.id for instruction in sent if not args.instruction or instruction.id in args.instruction}
        if lines is None:
            return ids
        places = {row.instruction.id: row.location for row in locate(sent, config)}
        return {
            id_
            for id_ in ids
            if (place := places[id_]) and lines.get(place.path, frozenset()) & {*range(place.line, place.end_line + 1)}
        }

    return chosen


def _report(args: argparse.Namespace, config: Config, search: CoverRun, result: RunResult) -> CoverReport:
    from demeanor.plugins.lab.cover.build_report import make_cover_report
    from demeanor.results import locate

    search.update()
    located = locate(tuple(search.sent.values()), config)
    report = make_cover_report(search, result, located, since=args.since, min_coverage=args.min_coverage)
    unknown = [id_ for id_ in args.instruction if search.sent and id_ not in search.sent]
    notes = tuple(f"--instruction {id_}: no eval sends it" for id_ in unknown)
    return replace(report, notes=(*report.notes, *notes))


def _write(report: CoverReport, catalog: Catalog, result: RunResult) -> None:
    """Write the report into the folder of the run, and to the summary of a GitHub job, without secrets."""
    from demeanor.core.trees.atomic_file import write_atomically
    from demeanor.reports.prompt_coverage import COVER_DOCUMENT, REPORT, cover_markdown
    from demeanor.reports.run import append_step_summary

    redact = catalog.redactor.text
    write_atomically(result.folder / REPORT, redact(COVER_DOCUMENT.write(report)))
    summary = redact(cover_markdown(report))
    write_atomically(result.folder / "cover.md", summary)
    append_step_summary(summary, os.environ)
