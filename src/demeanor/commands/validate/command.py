"""`demeanor validate`: check, without a model, that each eval can pass and can fail; list evals; calibrate judges."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from demeanor.cli import (
    choice_arguments,
    config_argument,
    load_config,
    positive_int,
    refuse_misfits,
    sandbox_argument,
    tell_skipped,
    with_sandbox,
)
from demeanor.commands.validate import calibration
from demeanor.commands.validate.listing import print_evals
from demeanor.core.text.wording import count
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.core.values.eval import Eval

_REPEAT = 3
_CLEAR_LINE = "\r\x1b[2K"
_WHICH_EVALS = ("keyword", "scenario", "suite", "tag")
_OPTIONS = {
    "": (*_WHICH_EVALS, "base", "strict", "ask_judge", "refresh", "repeat", "static", "env", "sandbox"),
    "--list": _WHICH_EVALS,
    "--calibrate": ("labels", "results"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    choice_arguments(parser)
    instead = parser.add_argument_group("instead of validating").add_mutually_exclusive_group()
    instead.add_argument("--list", action="store_true", help="list the evals")
    instead.add_argument(
        "--calibrate",
        metavar="EVAL",
        help="compare the stored verdicts of its judge with human labels; with cases, those of all cases with labels",
    )
    parser.add_argument(
        "--base", metavar="REV", help="the commit that new evals are compared with (default: where the branch began)"
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also treat as faults: an eval without a passing behaviour, and a promotion by hand",
    )
    parser.add_argument(
        "--ask-judge",
        choices=("missing", "all"),
        help="ask judges about the rehearsals, which may cost money, and record their answers next to the evals"
        " (default: use recorded answers only)",
    )
    parser.add_argument(
        "--refresh",
        action="store_true",
        help="record stale prefixes again (demeanor help debug)",
    )
    tasks = parser.add_argument_group("whole tasks (demeanor help harbor)")
    tasks.add_argument(
        "--repeat",
        type=positive_int,
        metavar="M",
        help=f"how often to run a task's solution, and an agent that does nothing (default: {_REPEAT})",
    )
    tasks.add_argument("--static", action="store_true", help="check tasks without running them")
    tasks.add_argument("--env", metavar="NAME", help="where to run tasks, as with `demeanor run --env`")
    calibration.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    sandbox_argument(parser)
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Load the evals, and validate or list them; or calibrate the judge of one."""
    form = "--list" if args.list else ""
    form = "--calibrate" if args.calibrate is not None else form
    refuse_misfits(args, arguments, form, _OPTIONS)
    if form == "--calibrate" and args.paths:
        raise UsageError(f"--calibrate {args.calibrate}: PATH={args.paths[0]} does not fit\n  → leave it out")
    config = with_sandbox(load_config(args), args)
    if form == "--calibrate":
        return calibration.print_calibration(args, config)
    from demeanor.core.values.run_request import RunRequest
    from demeanor.runner import select_evals, usable_evals

    chosen = RunRequest(names=tuple(args.scenario), keyword=args.keyword, suites=tuple(args.suite), policy="all")
    every, lacking = usable_evals(config, args.paths)
    evals = select_evals(every, chosen)
    if form == "--list":
        tell_skipped(lacking)
        print_evals(evals, config.root, as_json=args.json)
        return ExitCode.ACCEPTED
    return _validate(args, config, evals, lacking)


def _validate(args: argparse.Namespace, config: Config, evals: Sequence[Eval], lacking: Sequence[str]) -> ExitCode:
    """Validate the evals, and print the result."""
    from demeanor.commands.validate.render import validation_json, validation_text
    from demeanor.commands.validate.workflow import validate
    from demeanor.runner import Catalog, TaskOptions

    report = validate(
        Catalog(config=config, environ=os.environ),
        evals,
        base=args.base,
        strict=args.strict,
        options=TaskOptions(repeat=args.repeat or _REPEAT, env=args.env, static=args.static),
        show=_show_progress,
        asking=args.ask_judge or "never",
        refresh=args.refresh,
        lacking=lacking,
    )
    if (report.prefixes or (report.tasks and not report.tasks_not_run)) and sys.stderr.isatty():
        sys.stderr.write(_CLEAR_LINE)
    print(validation_json(report) if args.json else validation_text(report))
    if report.tasks_not_run:
        tasks = count(len(report.tasks), "task")
        sys.stderr.write(f"demeanor: {tasks} READ ONLY, NOT RUN, so nothing is proven: {report.tasks_not_run}\n")
    return ExitCode.REJECTED if report.faulty or lacking else ExitCode.ACCEPTED


def _show_progress(text: str) -> None:
    """Show progress: one line that is overwritten on a terminal, otherwise a line each."""
    sys.stderr.write(f"{_CLEAR_LINE}{text}" if sys.stderr.isatty() else f"{text}\n")
    sys.stderr.flush()
