"""`demeanor store export`: write a run for other tools."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from demeanor.cli import config_argument, file_problem, folder_problem, load_config
from demeanor.core.text.wording import count
from demeanor.core.values.errors import BadInput
from demeanor.core.values.exit_code import ExitCode

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
        "--output", type=Path, metavar="PATH", help="file or folder to write (default: standard output)"
    )
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    spans = parser.add_argument_group("OpenTelemetry spans, with --format otlp (demeanor help store)")
    spans.add_argument(
        "--endpoint",
        metavar="URL",
        help="send the spans to this collector (OTLP over HTTP) instead of writing them (default without --output:"
        " OTEL_EXPORTER_OTLP_ENDPOINT)",
    )
    spans.add_argument("--content", action="store_true", help="include arguments and results of tools")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Write the run."""
    from demeanor.commands.store.run_export import SpanOptions, export
    from demeanor.results import open_history_of
    from demeanor.store.captures import open_capture_store

    config = load_config(args)
    if args.output and str(args.output).startswith(_ADDRESSES):
        address = str(args.output).replace(":/", "://", 1)
        raise BadInput(
            "is an address, not a file", where="--output", remedy=f"--endpoint {address}, with --format otlp"
        )
    if args.endpoint and (args.format != "otlp" or args.output):
        raise BadInput("is for --format otlp without --output", where="--endpoint", remedy="use one or the other")
    if args.endpoint and not args.endpoint.startswith(("http://", "https://")):
        raise BadInput(
            f"{args.endpoint!r} is not a URL", where="--endpoint", remedy="for example http://localhost:4318"
        )
    problem = folder_problem if args.format == "atif" else file_problem
    if args.output is not None and (trouble := problem(args.output)):
        raise BadInput(trouble, where="--output", remedy="choose another path")
    results = args.results or config.root / config.results
    with open_history_of(args.run, config, os.environ, results) as history:
        captures = open_capture_store(config)
        collector = _collector(args.endpoint, os.environ) if args.format == "otlp" and not args.output else None
        spans = SpanOptions(endpoint=collector, content=args.content)
        text, attempts = export(
            history, args.run, args.format, args.output, results=results, captures=captures, spans=spans
        )
    if text is None:
        print(f"{collector or args.output}: {count(attempts, 'attempt')}")
    else:
        sys.stdout.write(text)
    return ExitCode.ACCEPTED


def _collector(endpoint: str | None, environ: Mapping[str, str]) -> str | None:
    """The URL of the collector: of the option, or of the environment as OpenTelemetry specifies; None without one."""
    if not endpoint and (url := environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")):
        return url
    base = endpoint or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return f"{base.rstrip('/').removesuffix('/v1/traces')}/v1/traces" if base else None
