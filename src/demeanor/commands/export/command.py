"""`demeanor export`: write a run for other tools, or an eval as a Harbor task."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli.options import config_argument, load_config
from demeanor.cli.output_path import file_problem, folder_problem
from demeanor.core.errors import BadInput
from demeanor.core.exit_code import ExitCode
from demeanor.core.started import mark_started
from demeanor.core.text import count

if TYPE_CHECKING:
    from demeanor.config.config import Config
    from demeanor.core.eval import Eval

_ADDRESSES = ("http:/", "https:/")  # a path has no double slash


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("run", nargs="?", default="latest", metavar="RUN", help="a run's name (default: latest)")
    parser.add_argument(
        "--format",
        default="json",
        metavar="FORMAT",
        help="json (can be imported again), csv, parquet, junit, atif (a folder of trajectories), otlp (OpenTelemetry "
        "spans), or the name of an installed reporter (default: json)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="PATH", help="file or folder to write (default: standard output; for tasks: tasks)"
    )
    parser.add_argument("--results", type=Path, metavar="DIR", help="the folder of the runs (default: results)")
    spans = parser.add_argument_group("OpenTelemetry spans, with --format otlp (demeanor help store)")
    spans.add_argument(
        "--endpoint", metavar="URL", help="send the spans to this collector (OTLP over HTTP) instead of writing them"
    )
    spans.add_argument("--content", action="store_true", help="include arguments and results of tools")
    tasks = parser.add_argument_group("evals as Harbor tasks, instead of a run (demeanor help harbor)")
    tasks.add_argument(
        "--harbor",
        action="append",
        default=[],
        metavar="EVAL",
        help="write this eval (a name, or FILE::NAME, or a folder) as a task below --out; repeatable",
    )
    tasks.add_argument(
        "--org", default="local", help="the organisation, the first half of the task's name (default: local)"
    )
    tasks.add_argument("--image", default="python:3.12-slim", help="the base image of the task (default: %(default)s)")
    tasks.add_argument(
        "--partial", action="store_true", help="leave out the checks that Harbor can't run, and list them"
    )
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Write the run or the tasks."""
    from demeanor.commands.export.workflow import SpanOptions, export
    from demeanor.results.history import open_history_of
    from demeanor.store.captures.capture_store import open_capture_store

    config = load_config(args)
    if args.out and str(args.out).startswith(_ADDRESSES):
        address = str(args.out).replace(":/", "://", 1)
        raise BadInput("is an address, not a file", where="--out", remedy=f"--endpoint {address}, with --format otlp")
    if args.endpoint and (args.format != "otlp" or args.out):
        raise BadInput("is for --format otlp without --out", where="--endpoint", remedy="use one or the other")
    if args.endpoint and not args.endpoint.startswith(("http://", "https://")):
        raise BadInput(
            f"{args.endpoint!r} is not a URL", where="--endpoint", remedy="for example http://localhost:4318"
        )
    problem = folder_problem if args.harbor or args.format == "atif" else file_problem
    if args.out is not None and (found := problem(args.out)):
        raise BadInput(found, where="--out", remedy="choose another path")
    if args.harbor:
        return _tasks(config, args)
    results = args.results or config.root / config.results
    with open_history_of(args.run, config, os.environ, results) as history:
        captures = open_capture_store(config)
        spans = SpanOptions(endpoint=args.endpoint, content=args.content)
        text, attempts = export(
            history, args.run, args.format, args.out, results=results, captures=captures, spans=spans
        )
    if text is None:
        print(f"{args.endpoint or args.out}: {count(attempts, 'attempt')}")
    else:
        sys.stdout.write(text)
    return ExitCode.ACCEPTED


def _tasks(config: Config, args: argparse.Namespace) -> ExitCode:
    """Write evals as tasks; stop at the first one that can't be exported."""
    from demeanor.plugins.harbor.export.exported_task import export_task
    from demeanor.runner.selection import choose_evals

    evals: list[Eval] = []
    for named in args.harbor:
        path = "::" in named or Path(named).exists()
        evals += choose_evals(config, paths=[named] if path else (), names=() if path else (named,))
    for one in evals:
        done = export_task(one, args.out or Path("tasks"), org=args.org, image=args.image, partial=args.partial)
        mark_started()
        print(f"{done.folder}: written; check it with `demeanor validate {done.folder}`")
        for reason in done.left_out:
            print(f"  left out: {reason}")
        if not done.solution:
            print("  without a solution: the eval has no passing behaviour (passes_on)")
    return ExitCode.ACCEPTED
