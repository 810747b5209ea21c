"""`demeanor promote` and `demeanor demote`: list the evals that are ready; change, verify and record their policy."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.commands.options import (
    build_argument,
    builds_first,
    config_argument,
    load_config,
    positive_int,
    print_report,
    request_of,
    trial_arguments,
)
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.started import mark_started
from demeanor.core.text import count

if TYPE_CHECKING:
    from demeanor.commands.promote.report import Candidate, PromotionReport
    from demeanor.commands.promote.workflow import Action
    from demeanor.commands.run.report import RunReport
    from demeanor.config.config import Config
    from demeanor.core.eval import Eval


def promotion_arguments(parser: argparse.ArgumentParser, rules: str) -> None:
    """The options of both commands."""
    parser.add_argument("evals", nargs="*", metavar="EVAL", help="only these evals, by name (default: all)")
    parser.add_argument("--rule", metavar="NAME", help=f"the rule: {rules}")
    parser.add_argument(
        "--apply", action="store_true", help="change the policy of the evals that are ready, in their files"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    how = parser.add_argument_group("how --apply verifies")
    how.add_argument("--trials", type=positive_int, metavar="N", help="trials per eval and subject (default: 3)")
    trial_arguments(how)
    build_argument(how)
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for runs (default: results)")
    config_argument(parser)


def run_promotion(args: argparse.Namespace, action: Action) -> ExitCode:
    """List the evals that are ready, or apply the changes."""
    from demeanor.commands.promote.render import promotion_terminal
    from demeanor.commands.promote.report import PROMOTION_DOCUMENT
    from demeanor.commands.promote.workflow import make_promotion_report
    from demeanor.runner.catalog import Catalog
    from demeanor.runner.history import open_project_history
    from demeanor.runner.plan import choose_evals

    config = load_config(args)
    results = args.out or config.root / config.results
    every = {one.name: one for one in choose_evals(config, policy="all")}
    for name in args.evals:
        if name not in every:
            raise UnknownName("eval", name, every)
    evals = [one for name, one in every.items() if not args.evals or name in args.evals]
    catalog = Catalog(config=config.at_night(), environ=os.environ, replaying=True)
    with open_project_history(config, os.environ, results=results) as history:
        report = make_promotion_report(history, catalog, evals, action, rule=args.rule)
    if not args.apply:
        print_report(args, report, PROMOTION_DOCUMENT, promotion_terminal)
        return ExitCode.ACCEPTED
    return _apply(args, config, results, report, every)


def _apply(
    args: argparse.Namespace, config: Config, results: Path, report: PromotionReport, evals: dict[str, Eval]
) -> ExitCode:
    from demeanor.commands.promote.render import commit_message

    _check_ready(args.evals, report)
    if not report.ready:
        print(f"nothing to {report.action}: no eval is ready\n  → to see what is missing: demeanor {report.action}")
        return ExitCode.ACCEPTED
    applied: list[Candidate] = []
    verified: dict[str, str] = {}
    refused = []
    for one in report.ready:
        result = _change(args, config, results, report.action, one, evals[one.eval])
        if result is None:
            refused.append(one.eval)
        else:
            applied.append(one)
            verified[one.eval] = result
    if applied:
        message = commit_message(report.action, applied, verified)
        print(f"\nproposed commit message:\n\n{message}", end="")
    if refused:
        names = ", ".join(refused)
        print(f"\n{count(len(refused), 'eval')} not changed, because the verification failed: {names}")
    return ExitCode.REJECTED if refused else ExitCode.ACCEPTED


def _check_ready(names: Sequence[str], report: PromotionReport) -> None:
    """An eval that was named on the command line must be ready."""
    from demeanor.commands.promote.workflow import BEFORE

    found = {one.eval: one for one in report.candidates}
    for name in names:
        if name not in found:
            raise UsageError(
                f"eval {name!r} can't be {report.action}d: its policy is not {BEFORE[report.action].value}"
            )
        if found[name].answer != report.action:
            why = "\n  ".join((found[name].reason, *found[name].missing[:5]))
            raise UsageError(f"eval {name!r} is not ready by the rule {report.rule!r}: {why}")


def _change(
    args: argparse.Namespace, config: Config, results: Path, action: Action, one: Candidate, own: Eval
) -> str | None:
    """Change the policy of one eval, verify and record it. If verification fails, restore the file and return None."""
    from demeanor.commands.promote.render import TARGETS
    from demeanor.commands.promote.workflow import keep_change
    from demeanor.define.discover import discover
    from demeanor.define.set_policy import policy_file, with_policy
    from demeanor.runner.history import open_project_history

    (own,) = discover([f"{own.source.path}::{own.name}"])  # an earlier change may have moved its lines
    path = policy_file(own)
    before = path.read_bytes()
    content = with_policy(own, TARGETS[action])
    kept = False
    try:
        path.write_bytes(content)
        (now,) = discover([f"{own.source.path}::{own.name}"])
        if now.policy is not TARGETS[action]:
            raise UsageError(f"{path}: the policy of {own.name!r} could not be changed\n  → change it by hand")
        result, run, commit, kept = "", "", None, action == "demote"
        if action == "promote":
            found = _verify(args, config, results, own)
            kept = found.exit_code is ExitCode.ACCEPTED
            if found.exit_code is ExitCode.INTERRUPTED:
                raise KeyboardInterrupt
            passed, judged = (sum(getattr(c.tally, key) for c in found.cells) for key in ("passed", "judged"))
            result = f"verified here: {passed} of {judged} passed (run {found.run.id})"
            run, commit = found.run.id, found.run.commit
    finally:
        if not kept:
            path.write_bytes(before)
    where = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    print(f"{'changed' if kept else 'restored'}  {where}  {own.name}" + (f"  {result}" if result else ""))
    if not kept:
        return None
    mark_started()
    with open_project_history(config, os.environ, results=results, reading=False) as history:
        keep_change(history, action, one, now, run=run, commit=commit)
    return result or f"the file was changed to {TARGETS[action].value}"


def _verify(args: argparse.Namespace, config: Config, results: Path, own: Eval) -> RunReport:
    """Run the eval with its new policy."""
    from demeanor.commands.run.interrupts import make_ui
    from demeanor.commands.run.workflow import run_and_report
    from demeanor.runner.catalog import Catalog
    from demeanor.runner.plan import plan_run

    request = request_of(
        args, paths=(str(own.source.path),), names=(own.name,), policy="all", build=builds_first(args, config)
    )
    catalog = Catalog(config=config, environ=os.environ)
    plan = plan_run(catalog, request, os.environ)
    ui = make_ui(quiet=args.json)
    report = run_and_report(catalog, plan, request, results, ui=ui, environ={})
    for note in report.notes:
        ui.log(note)
    return report
