"""`demeanor validate`: check, without a model, that each eval can pass and can fail."""

from __future__ import annotations

import argparse
import os
import sys

from demeanor.cli.options import (
    choice_arguments,
    config_argument,
    load_config,
    positive_int,
    sandbox_argument,
    with_sandbox,
)
from demeanor.core.exit_code import ExitCode
from demeanor.core.text import count

_CLEAR_LINE = "\r\x1b[2K"


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
    parser.add_argument(
        "--ask-judge",
        choices=("missing", "all"),
        help="ask judges about the rehearsals, which may cost money, and record their answers next to the evals"
        " (default: use recorded answers only)",
    )
    parser.add_argument(
        "--refresh",
        action="store_true",
        help="record stale prefixes again (demeanor help fork)",
    )
    tasks = parser.add_argument_group("whole tasks (demeanor help harbor)")
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
    sandbox_argument(parser)
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Load the evals, validate them, and print the result."""
    from demeanor.commands.validate.render import validation_json, validation_text
    from demeanor.runner.engines import TaskOptions
    from demeanor.commands.validate.workflow import validate
    from demeanor.runner.catalog import Catalog
    from demeanor.runner.selection import choose_evals

    config = with_sandbox(load_config(args), args)
    evals = choose_evals(
        config, paths=args.paths, names=args.scenario, keyword=args.keyword, suites=args.suite, tags=args.tag
    )
    report = validate(
        Catalog(config=config, environ=os.environ),
        evals,
        base=args.base,
        strict=args.strict,
        options=TaskOptions(repeat=args.repeat, env=args.env, static=args.static),
        show=_show_progress,
        asking=args.ask_judge or "never",
        refresh=args.refresh,
    )
    if (report.prefixes or (report.tasks and not report.tasks_not_run)) and sys.stderr.isatty():
        sys.stderr.write(_CLEAR_LINE)
    print(validation_json(report) if args.json else validation_text(report))
    if report.tasks_not_run:
        tasks = count(len(report.tasks), "task")
        sys.stderr.write(f"demeanor: {tasks} READ ONLY, NOT RUN, so nothing is proven: {report.tasks_not_run}\n")
    return ExitCode.REJECTED if report.faulty else ExitCode.ACCEPTED


def _show_progress(text: str) -> None:
    """Show progress: one line that is overwritten on a terminal, otherwise a line each."""
    sys.stderr.write(f"{_CLEAR_LINE}{text}" if sys.stderr.isatty() else f"{text}\n")
    sys.stderr.flush()
