"""`demeanor serve`: the dashboard in a browser."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from demeanor.cli import config_argument, load_config, new_folder, port_argument
from demeanor.core.values.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--port", type=port_argument, default=8765, metavar="N", help="port (default: 8765; 0: any free port)"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default: 127.0.0.1, this machine only); any other needs a token, which is printed",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name of this machine, as browsers use it; repeatable",
    )
    parser.add_argument(
        "--notes",
        action="store_true",
        help="allow notes about trials from the browser; needs a token, which is printed",
    )
    parser.add_argument(
        "--export",
        type=new_folder,
        metavar="DIR",
        help="write the pages of the last night (or run) to a folder",
    )
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Serve until Ctrl-C."""
    from demeanor.commands.serve.workflow import ServeOptions, serve
    from demeanor.web import PageContext, export_pages

    config = load_config(args)
    context = PageContext(config, os.environ, args.results or config.root / config.results)
    if args.export is not None:
        number = export_pages(context, args.export)
        sys.stderr.write(f"demeanor: {number} pages written; open {args.export / 'index.html'}\n")
        return ExitCode.ACCEPTED
    options = ServeOptions(host=args.host, port=args.port, names=tuple(args.allow_host), notes=args.notes)
    serve(context, options)
    return ExitCode.ACCEPTED
