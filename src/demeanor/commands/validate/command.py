"""`demeanor validate`: check, without a model, that each eval can pass and can fail."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from demeanor.commands.options import choice_arguments, config_argument, load_config, positive_int
from demeanor.core.codec import encode
from demeanor.core.exit_code import ExitCode
from demeanor.core.text import count

if TYPE_CHECKING:
    from demeanor.config.config import Config
    from demeanor.core.eval import Eval
    from demeanor.judge.self_test import SelfTest
    from demeanor.runner.catalog import Catalog

_TOO_EARLY = "is new, and a new eval starts as USUALLY_PASSES; `demeanor promote` promotes it once it is stable"

_CLEAR_LINE = "\r\x1b[2K"

_BY_HAND = "ALWAYS_PASSES without a recorded promotion; `demeanor promote` shows whether it qualifies"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    choice_arguments(parser)
    parser.add_argument(
        "--base", metavar="REV", help="the commit that new evals are compared with (default: where the branch began)"
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also treat as faults: an eval without a passing behaviour, and a promotion by hand",
    )
    tasks = parser.add_argument_group("whole tasks (docs/harbor.md)")
    tasks.add_argument(
        "--repeat",
        type=positive_int,
        default=3,
        metavar="M",
        help="how often to run a task's solution, and an agent that does nothing (default: 3)",
    )
    tasks.add_argument("--static", action="store_true", help="check tasks without running them")
    tasks.add_argument("--env", metavar="NAME", help="where to run tasks, as with `demeanor run --env`")
    parser.add_argument("--json", action="store_true", help="print JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Load the evals, run their self-tests, check their policies, and print the result."""
    from demeanor.define.policy_history import policy_history
    from demeanor.runner.cassettes import cassette_faults
    from demeanor.runner.catalog import Catalog
    from demeanor.runner.plan import choose_evals
    from demeanor.runner.self_tests import self_tests

    config = load_config(args)
    evals = choose_evals(
        config, paths=args.paths, names=args.scenario, keyword=args.keyword, suites=args.suite, tags=args.tag
    )
    history = policy_history(evals, config.root, base=args.base)
    too_early = {change.eval.name for change in history.new}
    catalog = Catalog(config=config, environ=os.environ)
    evals_without_task, tasks = (
        [one for one in evals if one.task is None],
        [one for one in evals if one.task is not None],
    )
    task_results, not_run = _task_tests(catalog, tasks, args)
    tests = [*(self_tests(evals_without_task, config) if evals_without_task else ()), *task_results]
    cassettes = cassette_faults(catalog, evals)
    by_hand, faulty_by_hand = _promoted_by_hand(config, evals, {change.eval.name for change in history.promoted}, args)
    faulty = [
        test.eval for test in tests if test.eval in too_early | faulty_by_hand or _faults(test, strict=args.strict)
    ]
    if not_run and args.strict:
        faulty += [one.name for one in tasks if one.name not in faulty]
    warned = {one.name: list(one.task.warnings) for one in tasks if one.task and one.task.warnings}
    if args.json:
        warnings = [{"file": str(one.file), "fault": one.fault, "detail": one.detail} for one in cassettes]
        found: dict[str, Any] = {"ok": not faulty, "faulty": faulty, "base": history.base, "problem": history.problem}
        found["promoted_by_hand"] = sorted(by_hand)
        found["tasks_not_run"] = not_run
        found["warnings"] = warned
        print(
            json.dumps(
                {**found, "too_early": sorted(too_early), "evals": encode(tests), "cassettes": warnings}, indent=2
            )
        )
    else:
        only_read = {one.name for one in tasks} if not_run else set()
        print("\n".join(_lines(tests, too_early, only_read, strict=args.strict)))
        for name in sorted(by_hand):
            print(f"{'FAULT' if name in faulty_by_hand else 'warning'}: {name}: {_BY_HAND}")
        for name, messages in warned.items():
            print("\n".join(f"warning: {name}: {warning}" for warning in messages))
        for one in cassettes:
            print(f"warning: {one.file}: {one.fault}: {one.detail}")
        rehearsed = count(sum(test.rehearsed for test in tests), "rehearsal")
        print(f"\n{count(len(tests), 'eval')}, {rehearsed}, {len(faulty)} faulty")
        if history.problem:
            print(f"note: new evals can't be detected: {history.problem}")
    if not_run:
        sys.stderr.write(
            f"demeanor: {count(len(tasks), 'task')} READ ONLY, NOT RUN, so their tests are unproven: {not_run}\n"
        )
    return ExitCode.REJECTED if faulty else ExitCode.ACCEPTED


def _task_tests(catalog: Catalog, tasks: Sequence[Eval], args: argparse.Namespace) -> tuple[list[SelfTest], str | None]:
    """Test whole tasks; also return why they were not run, or None."""
    if not tasks:
        return [], None
    from demeanor.commands.validate.tasks import ValidationOptions, check_tasks_statically, run_task_tests
    from demeanor.runner.tasks import harbor_problem

    not_run = "--static was given" if args.static else harbor_problem(catalog.config, catalog.environ)
    if not_run:
        return list(check_tasks_statically(tasks)), not_run
    found = list(run_task_tests(catalog, tasks, ValidationOptions(repeat=args.repeat, env=args.env), _show_progress))
    if sys.stderr.isatty():
        sys.stderr.write(_CLEAR_LINE)
    return found, None


def _show_progress(text: str) -> None:
    """Show progress: one line that is overwritten on a terminal, otherwise a line each."""
    sys.stderr.write(f"{_CLEAR_LINE}{text}" if sys.stderr.isatty() else f"{text}\n")
    sys.stderr.flush()


def _promoted_by_hand(
    config: Config, evals: Sequence[Eval], promoted: set[str], args: argparse.Namespace
) -> tuple[set[str], set[str]]:
    """Return the unrecorded promotions, and those that are faults: with --strict, if promotions are recorded at all.

    In a project that never used `demeanor promote`, only promotions on this branch are reported.
    """
    from demeanor.commands.promote.workflow import unrecorded
    from demeanor.runner.history import open_project_history

    history = open_project_history(config, os.environ)
    try:
        missing, in_use = unrecorded(history, evals)
    finally:
        history.close()
    found = missing if in_use else missing & promoted
    return found, found if in_use and args.strict else set()


def _faults(test: SelfTest, *, strict: bool) -> int:
    return sum(1 for complaint in test.complaints if strict or complaint.fault != "unproven")


def _lines(tests: Sequence[SelfTest], too_early: set[str], only_read: set[str], *, strict: bool) -> Iterator[str]:
    width = max((len(test.eval) for test in tests), default=0)
    for test in tests:
        mark_without_fault = "read" if test.eval in only_read else "ok"
        mark = "FAULT" if test.eval in too_early or _faults(test, strict=strict) else mark_without_fault
        yield f"{mark:<5}  {test.eval:<{width}}  {count(test.rehearsed, 'rehearsal') if mark != 'read' else 'not run'}"
        for complaint in test.complaints:
            first, *rest = complaint.detail.splitlines() or [""]
            yield f"       {complaint.fault}: {first}"
            yield from (f"         {line}" for line in rest)
        if test.eval in too_early:
            yield f"       ALWAYS_PASSES: {_TOO_EARLY}"
