"""`demeanor validate`: prove, without a model, that each eval can pass and can fail."""

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

_TOO_EARLY = "is new, and a new eval starts as USUALLY_PASSES; it is promoted when it has proven to be stable"

_CLEARED = "\r\x1b[2K"

_BY_HAND = "ALWAYS_PASSES without a recorded promotion; `demeanor promote` tells whether it has earned it"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    choice_arguments(parser)
    parser.add_argument("--base", metavar="REV", help="what new evals are told by (default: where the branch began)")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="an eval that nothing proves to pass is a fault too, and so is a promotion by hand",
    )
    tasks = parser.add_argument_group("whole tasks (docs/harbor.md)")
    tasks.add_argument(
        "--repeat",
        type=positive_int,
        default=3,
        metavar="M",
        help="how often a task's solution, and doing nothing, are run (default: 3)",
    )
    tasks.add_argument("--static", action="store_true", help="only what can be told of tasks without running them")
    tasks.add_argument("--env", metavar="NAME", help="where tasks are run, as with `demeanor run --env`")
    parser.add_argument("--json", action="store_true", help="print JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Load, self-test, look into git, print."""
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
    own, tasks = [one for one in evals if one.task is None], [one for one in evals if one.task is not None]
    of_tasks, unrun = _task_tests(catalog, tasks, args)
    tests = [*(self_tests(own, config) if own else ()), *of_tasks]
    cassettes = cassette_faults(catalog, evals)
    by_hand, faulty_by_hand = _by_hand(config, evals, {change.eval.name for change in history.promoted}, args)
    faulty = [
        test.eval for test in tests if test.eval in too_early | faulty_by_hand or _faults(test, strict=args.strict)
    ]
    if unrun and args.strict:
        faulty += [one.name for one in tasks if one.name not in faulty]
    warned = {one.name: list(one.task.warnings) for one in tasks if one.task and one.task.warnings}
    if args.json:
        warnings = [{"file": str(one.file), "fault": one.fault, "detail": one.detail} for one in cassettes]
        found: dict[str, Any] = {"ok": not faulty, "faulty": faulty, "base": history.base, "problem": history.problem}
        found["promoted_by_hand"] = sorted(by_hand)
        found["tasks_not_run"] = unrun
        found["warnings"] = warned
        print(
            json.dumps(
                {**found, "too_early": sorted(too_early), "evals": encode(tests), "cassettes": warnings}, indent=2
            )
        )
    else:
        only_read = {one.name for one in tasks} if unrun else set()
        print("\n".join(_lines(tests, too_early, only_read, strict=args.strict)))
        for name in sorted(by_hand):
            print(f"{'FAULT' if name in faulty_by_hand else 'warning'}: {name}: {_BY_HAND}")
        for name, said in warned.items():
            print("\n".join(f"warning: {name}: {warning}" for warning in said))
        for one in cassettes:
            print(f"warning: {one.file}: {one.fault}: {one.detail}")
        rehearsed = count(sum(test.rehearsed for test in tests), "rehearsal")
        print(f"\n{count(len(tests), 'eval')}, {rehearsed}, {len(faulty)} faulty")
        if history.problem:
            print(f"note: new evals can't be told from old ones: {history.problem}")
    if unrun:
        sys.stderr.write(f"demeanor: {count(len(tasks), 'task')} READ ONLY, NOT RUN, so nothing is proven: {unrun}\n")
    return ExitCode.REJECTED if faulty else ExitCode.ACCEPTED


def _task_tests(catalog: Catalog, tasks: Sequence[Eval], args: argparse.Namespace) -> tuple[list[SelfTest], str | None]:
    """What is found of whole tasks; and why they were only read and not run, if so."""
    if not tasks:
        return [], None
    from demeanor.commands.validate.tasks import ValidationOptions, read_tests, task_tests, unprovable

    unrun = "--static asks for no more" if args.static else unprovable(catalog)
    if unrun:
        return list(read_tests(tasks)), unrun
    found = list(task_tests(catalog, tasks, ValidationOptions(repeat=args.repeat, env=args.env), _told))
    if sys.stderr.isatty():
        sys.stderr.write(_CLEARED)
    return found, None


def _told(what: str) -> None:
    """How far it is: one line that is written over on a terminal, a line each elsewhere."""
    sys.stderr.write(f"{_CLEARED}{what}" if sys.stderr.isatty() else f"{what}\n")
    sys.stderr.flush()


def _by_hand(
    config: Config, evals: Sequence[Eval], raised: set[str], args: argparse.Namespace
) -> tuple[set[str], set[str]]:
    """Promotions that nobody recorded; and those that are faults, which needs --strict and a history of promotions.

    A project that never used `demeanor promote` hears only of what was raised on this branch.
    """
    from demeanor.commands.promote.workflow import unrecorded
    from demeanor.runner.history import open_project_history

    history = open_project_history(config, os.environ)
    try:
        missing, in_use = unrecorded(history, evals)
    finally:
        history.close()
    found = missing if in_use else missing & raised
    return found, found if in_use and args.strict else set()


def _faults(test: SelfTest, *, strict: bool) -> int:
    return sum(1 for complaint in test.complaints if strict or complaint.fault != "unproven")


def _lines(tests: Sequence[SelfTest], too_early: set[str], only_read: set[str], *, strict: bool) -> Iterator[str]:
    width = max((len(test.eval) for test in tests), default=0)
    for test in tests:
        sound = "read" if test.eval in only_read else "ok"
        mark = "FAULT" if test.eval in too_early or _faults(test, strict=strict) else sound
        yield f"{mark:<5}  {test.eval:<{width}}  {count(test.rehearsed, 'rehearsal') if mark != 'read' else 'not run'}"
        for complaint in test.complaints:
            first, *rest = complaint.detail.splitlines() or [""]
            yield f"       {complaint.fault}: {first}"
            yield from (f"         {line}" for line in rest)
        if test.eval in too_early:
            yield f"       ALWAYS_PASSES: {_TOO_EARLY}"
