"""`demeanor promote [--demote]`: list the evals that are ready; change, verify and record their policy."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import (
    build_argument,
    builds_first,
    config_argument,
    load_config,
    positive_int,
    print_report,
    request_of,
    trial_arguments,
)
from demeanor.core.started import mark_started
from demeanor.core.text.wording import count
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.core.values.eval import Eval
    from demeanor.core.values.run_request import RunRequest
    from demeanor.core.values.trial import Plan
    from demeanor.reports.promotion import Action, PromotionReport
    from demeanor.reports.run import RunReport
    from demeanor.runner import Catalog


def promotion_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of both directions."""
    parser.add_argument("evals", nargs="*", metavar="EVAL", help="only these evals, by name (default: all)")
    parser.add_argument(
        "--demote",
        action="store_true",
        help="the reverse: the evals that fail too often for ALWAYS_PASSES, back to USUALLY_PASSES",
    )
    parser.add_argument(
        "--rule",
        metavar="NAME",
        help="the rule: both (default), classic or sprt; with --demote cusum (default) or classic",
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="change the policy of the evals that are ready, in their files: all or none",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)


def verification_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the run that verifies a promotion. A demotion is not verified."""
    how = parser.add_argument_group("how --apply verifies a promotion")
    how.add_argument("--trials", type=positive_int, metavar="N", help="trials per eval and subject (default: 3)")
    trial_arguments(how)
    build_argument(how)


def run_promotion(args: argparse.Namespace, action: Action) -> ExitCode:
    """List the evals that are ready, or apply the changes."""
    from demeanor.cli import log
    from demeanor.define import shared_policies
    from demeanor.reports.promotion import PROMOTION_DOCUMENT, make_promotion_report, promotion_terminal
    from demeanor.results import fetch_nights, open_project_history
    from demeanor.runner import Catalog, choose_evals

    config = load_config(args)
    results = args.results or config.root / config.results
    every = {eval_.name: eval_ for eval_ in choose_evals(config, policy="all")}
    for name in args.evals:
        if name not in every:
            raise UnknownName("eval", name, every)
    shared = shared_policies(every.values()) if args.evals else {}
    names = {*args.evals, *(other for name in args.evals for other in shared.get(name, ()))}
    evals = [eval_ for name, eval_ in every.items() if not args.evals or name in names]
    catalog = Catalog(config=config.at_night(), environ=os.environ, replaying=True)
    fetch_nights(config, os.environ, results, log)
    with open_project_history(config, os.environ, results=results) as history:
        report = make_promotion_report(history, catalog, evals, action, rule=args.rule)
    if not args.apply:
        print_report(args, report, PROMOTION_DOCUMENT, promotion_terminal)
        return ExitCode.ACCEPTED
    _check_ready(args.evals, report)
    return _apply(args, config, results, report, every)


def _check_ready(names: Sequence[str], report: PromotionReport) -> None:
    """Every eval that was named on the command line must be ready."""
    from demeanor.reports.promotion import BEFORE

    candidates = {candidate.eval: candidate for candidate in report.candidates}
    for name in names:
        if name not in candidates:
            raise UsageError(
                f"eval {name!r} can't be {report.action}d: its policy is not {BEFORE[report.action].value}"
            )
        if candidates[name].answer != report.action:
            why = "\n  ".join((candidates[name].reason, *candidates[name].missing[:5]))
            raise UsageError(f"eval {name!r} is not ready by the rule {report.rule!r}: {why}")


def _apply(
    args: argparse.Namespace, config: Config, results: Path, report: PromotionReport, evals: Mapping[str, Eval]
) -> ExitCode:
    """Change all evals that are ready, verify them together and record the changes; or change none of them."""
    from demeanor.define import NAME as PROMOTIONS, policy_file
    from demeanor.reports.promotion import commit_message, keep_change, keep_in_file
    from demeanor.results import open_project_history
    from demeanor.runner import tell_decisions

    if not report.ready:
        print(f"nothing to {report.action}: no eval is ready\n  → to see what is missing: {report.command}")
        return ExitCode.ACCEPTED
    ready = [evals[candidate.eval] for candidate in report.ready]
    if report.action == "promote":
        _plan_verification(args, config, ready)  # finds what makes a verification impossible, before anything changes
    with _restored_on_failure({*map(policy_file, ready), config.root / PROMOTIONS}) as keep:
        changed = [_change(eval_, report.action) for eval_ in ready]
        checked = _verify(args, config, results, changed) if report.action == "promote" else None
        failed = _failed(checked, changed) if checked else []
        if not failed:
            mark_started()
            with open_project_history(config, os.environ, results=results, reading=False) as history:
                run, commit = (checked.run.id, checked.run.commit) if checked else ("", None)
                kept = [
                    keep_change(history, report.action, candidate, own, run=run, commit=commit)
                    for candidate, own in zip(report.ready, changed, strict=True)
                ]
            for note in tell_decisions(kept):
                sys.stderr.write(f"note: {note}\n")
            keep_in_file(config.root, report)
            keep()
    verified = {own.name: _result(checked, own.name, report.action) for own in changed}
    for own in changed:
        where = policy_file(own)
        shown = where.relative_to(Path.cwd()) if where.is_relative_to(Path.cwd()) else where
        print(f"{'restored' if failed else 'changed'}  {shown}  {own.name}  {verified[own.name]}")
    if failed:
        _print_failure(report, changed, failed)
        return ExitCode.REJECTED
    print(f"{'recorded':<8}  {PROMOTIONS}  commit it with the evals")
    print(f"\nproposed commit message:\n\n{commit_message(report.action, report.ready, verified)}", end="")
    return ExitCode.ACCEPTED


def _print_failure(report: PromotionReport, changed: Sequence[Eval], failed: Sequence[str]) -> None:
    names = ", ".join(failed)
    print(f"\n{count(len(changed), 'eval')} not changed, because the verification failed: {names}")
    others = [shlex.quote(own.name) for own in changed if own.name not in failed]
    if others:
        print(f"  → to change the others: {report.command} --apply {' '.join(others)}")


@contextmanager
def _restored_on_failure(paths: set[Path]) -> Iterator[Callable[[], None]]:
    """Restore these files at the end, unless the yielded function was called."""
    before = {path: path.read_bytes() if path.exists() else None for path in paths}
    try:
        yield before.clear
    finally:
        for path, content in before.items():
            if content is None:
                path.unlink(missing_ok=True)
            elif path.read_bytes() != content:
                path.write_bytes(content)


def _change(eval_: Eval, action: Action) -> Eval:
    """Change the policy of an eval in its file; returns the eval as it is then."""
    from demeanor.define import discover, policy_file, with_policy
    from demeanor.reports.promotion import TARGETS

    place = f"{eval_.source.path}::{eval_.name}"
    (now,) = discover([place])  # an earlier change may have moved its lines, or changed it already
    if now.policy is not TARGETS[action]:
        policy_file(now).write_bytes(with_policy(now, TARGETS[action]))
        (now,) = discover([place])
    if now.policy is not TARGETS[action]:
        raise UsageError(
            f"{policy_file(eval_)}: the policy of {eval_.name!r} could not be changed\n  → change it by hand"
        )
    return now


def _plan_verification(
    args: argparse.Namespace, config: Config, evals: Sequence[Eval]
) -> tuple[Catalog, Plan, RunRequest]:
    from demeanor.runner import Catalog, plan_run

    paths = tuple(dict.fromkeys(str(own.source.path) for own in evals))
    request = request_of(
        args,
        paths=paths,
        names=tuple(own.name for own in evals),
        policy="all",
        build=builds_first(args, config),
    )
    catalog = Catalog(config=config, environ=os.environ)
    return catalog, plan_run(catalog, request, os.environ), request


def _verify(args: argparse.Namespace, config: Config, results: Path, evals: Sequence[Eval]) -> RunReport:
    """Run the evals with their new policy."""
    from demeanor.cli import make_ui
    from demeanor.reports.run import run_and_report

    catalog, plan, request = _plan_verification(args, config, evals)
    ui = make_ui(quiet=args.json)
    report = run_and_report(catalog, plan, request, results, ui=ui, environ={})
    for note in report.notes:
        ui.log(note)
    if report.exit_code is ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return report


def _failed(checked: RunReport, evals: Sequence[Eval]) -> list[str]:
    """The evals that were not accepted on every subject."""
    accepted = {
        own.name
        for own in evals
        if {cell.decision.answer for cell in checked.cells if cell.tally.eval == own.name} == {"accept"}
    }
    return [own.name for own in evals if own.name not in accepted]


def _result(checked: RunReport | None, name: str, action: Action) -> str:
    from demeanor.reports.promotion import TARGETS

    if checked is None:
        return f"the file was changed to {TARGETS[action].value}"
    own = [cell.tally for cell in checked.cells if cell.tally.eval == name]
    passed, judged = sum(tally.passed for tally in own), sum(tally.judged for tally in own)
    return f"verified here: {passed} of {judged} passed (run {checked.run.id})"
