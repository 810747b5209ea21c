"""`demeanor gate`: may this change merge?"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import (
    build_argument,
    builds_first,
    choice_arguments,
    config_argument,
    env_argument,
    load_config,
    new_file,
    on_argument,
    positive_int,
    print_report,
    request_of,
    shard_or_folder,
    subject_arguments,
    trial_arguments,
)
from demeanor.config import Limit
from demeanor.core.values.errors import DemeanorError, UsageError
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.commands.gate.comment import PullRequest
    from demeanor.config import Config
    from demeanor.render import Screen
    from demeanor.reports.gate import GateReport
    from demeanor.reports.run import RunReport


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    choice_arguments(parser)
    subject_arguments(parser)
    how = parser.add_argument_group("how")
    _rule_arguments(how)
    how.add_argument(
        "--policy",
        choices=("always", "all"),
        help="always: the ALWAYS_PASSES evals, and those that the change adds or edits; all: every eval (default: all"
        " if evals are named, otherwise always)",
    )
    how.add_argument(
        "--base",
        metavar="REV",
        help="commit to compare with, to find new and edited evals (default: where the branch started)",
    )
    how.add_argument("--trials", help=argparse.SUPPRESS)  # refused with what is meant
    how.add_argument(
        "--max-trials", type=positive_int, metavar="N", help="maximum number of trials of all cells together"
    )
    how.add_argument(
        "--accept-removed",
        action="append",
        default=[],
        metavar="EVAL[/SUBJECT]",
        help="accept that the change removes this eval or cell, or lowers its policy; */SUBJECT accepts all cells of a "
        "subject; without it, the gate is undecided; repeatable",
    )
    trial_arguments(how)
    on_argument(how)
    how.add_argument(
        "--shard",
        type=shard_or_folder,
        metavar="K/N|DIR",
        help="run part K of N of the first round, without a decision; or join the parts in DIR, run the further "
        "rounds, and decide",
    )
    env_argument(how)
    build_argument(how)
    out = parser.add_argument_group("output")
    out.add_argument("--dry-run", action="store_true", help="print the first round of trials without running it")
    out.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    told = "print only the gate's report, as JSON, and progress events as lines of JSON on standard error"
    out.add_argument("--json", action="store_true", help=told)
    out.add_argument(
        "--explain", action="store_true", help="also print the error rates of the rules (always in gate.json)"
    )
    out.add_argument("--junit", type=new_file, metavar="FILE", help="also write a JUnit report")
    out.add_argument(
        "--comment", action="store_true", help="on GitHub: also write the summary as a comment on the pull request"
    )
    out.add_argument(
        "--comment-from",
        type=Path,
        metavar="DIR",
        help="run nothing: write the summary of the newest run in DIR as that comment (for a job of its own)",
    )
    config_argument(parser)


def _rule_arguments(how: argparse._ArgumentGroup) -> None:
    """How the gate decides."""
    how.add_argument(
        "--thorough",
        action="store_true",
        help="run more trials to miss fewer drops: 8.1 trials per healthy cell with nights instead of 3.8",
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Run the gate, or write the comment of an earlier one."""
    if args.trials is not None:
        raise UsageError(
            "gate: --trials: a gate gives each cell as many trials as its decision needs\n"
            f"  → the same number for each: demeanor run --trials {shlex.quote(args.trials)}\n"
            "  → a limit for all cells together: --max-trials N"
        )
    if not args.comment and args.comment_from is None:
        return _gate(args, None)
    from demeanor.commands.gate.comment import pull_request, write_comment

    place = pull_request(os.environ)
    if args.comment_from is not None:
        from demeanor.store.runs import find_run

        summary = find_run(args.comment_from).folder / "summary.md"
        print(f"comment  {write_comment(place, summary.read_text('utf-8'))}")
        return ExitCode.ACCEPTED
    return _gate(args, place)


def _gate(args: argparse.Namespace, place: PullRequest | None) -> ExitCode:
    """Run rounds of trials until all cells are answered; then report and record the decisions."""
    from demeanor.cli import log, make_ui, print_plan, run_part, tell_skipped
    from demeanor.decide import empty_exit_code
    from demeanor.reports.gate import (
        GATE_DOCUMENT,
        final_exit_code,
        gate_decisions,
        gate_files,
        gate_notes,
        make_gate_report,
        make_gate_state,
        require_removed,
        run_rounds,
    )
    from demeanor.reports.run import make_report, planned_shard, publish
    from demeanor.results import fetch_nights, keep_decisions, open_project_history
    from demeanor.runner import Catalog

    config = _for_gates(load_config(args), args)
    results = args.results or config.root / config.results
    parts = args.shard if isinstance(args.shard, Path) else None
    part = None if parts else args.shard
    request = request_of(args, command="gate", build=builds_first(args, config), shard=part)
    catalog = Catalog(config=config, environ=os.environ)
    fetch_nights(config, os.environ, results, log)
    with open_project_history(config, os.environ, results=results) as history:
        state = make_gate_state(catalog, request, history, os.environ, base=args.base, accepted=args.accept_removed)
    tell_skipped(state.lacking)
    require_removed(state)
    state.round()
    plan, request = planned_shard(catalog, state.planned(), request, results)
    if args.dry_run:
        print_plan(plan, request, catalog, results, as_json=args.json)
        return ExitCode.ACCEPTED
    if request.shard is not None:
        return run_part(args, catalog, plan, request, results)
    result = run_rounds(catalog, state, request, results, ui=make_ui(events=args.json), shards=parts)
    decisions = state.decisions()
    report = make_report(
        result,
        plan=state.planned(),
        notes=gate_notes(state, stopped=result.stopped is not None),
        decide=lambda tally: decisions[tally.eval, tally.subject],
        collection=state.collection,
    )
    empty = empty_exit_code(config, os.environ)
    report = replace(report, exit_code=final_exit_code(state, report.exit_code, empty=empty))
    gate_report = make_gate_report(state, report)
    unkept = keep_decisions(config, os.environ, results, gate_decisions(state, gate_report))
    report = replace(report, notes=(*report.notes, *unkept))
    gate_report = replace(gate_report, notes=report.notes)
    publish(
        report,
        result.folder,
        environ=os.environ,
        redactor=catalog.redactor,
        junit=args.junit,
        **gate_files(gate_report),
    )
    shown = partial(_shown, run=report, explain=args.explain)
    print_report(args, gate_report, GATE_DOCUMENT, shown)
    if place is not None:
        _comment(place, result.folder / "summary.md")
    return report.exit_code


def _shown(report: GateReport, screen: Screen, *, run: RunReport, explain: bool) -> str:
    """The report for the terminal."""
    from demeanor.reports.gate import gate_terminal

    return gate_terminal(report, run, screen, explain=explain)


def _comment(place: PullRequest, summary: Path) -> None:
    """Write the comment. If that fails, say so: the decision stands."""
    from demeanor.commands.gate.comment import write_comment

    try:
        print(f"comment  {write_comment(place, summary.read_text('utf-8'))}", file=sys.stderr)
    except DemeanorError as error:
        print(f"demeanor: no comment was written: {error}", file=sys.stderr)


def _for_gates(config: Config, args: argparse.Namespace) -> Config:
    """The configuration with the settings of [gate] and of the command line."""
    own = replace(
        config.gate,
        thorough=args.thorough or config.gate.thorough,
        max_trials=args.max_trials or config.gate.max_trials,
    )
    run = config.budgets.get("run", Limit())
    budget = {"run": replace(run, usd=own.budget_usd)} if own.budget_usd is not None else {}
    return replace(
        config,
        gate=own,
        subjects=own.subjects or config.subjects,
        budgets={**config.budgets, **budget},
    )
