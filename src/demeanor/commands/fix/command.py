"""`demeanor fix`: let an agent mend what an eval shows to be broken, and prove it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.commands.options import config_argument, load_config, pace_arguments, positive_int
from demeanor.config.fix import RULES
from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.run_request import RunRequest

if TYPE_CHECKING:
    from demeanor.commands.fix.report import FixReport
    from demeanor.config.config import Config


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "what",
        nargs="?",
        metavar="EVAL|RUN",
        help="an eval, or a run by its name or path (default: what the latest night rejects)",
    )
    parser.add_argument("--run", metavar="RUN", help="the run in which the eval failed (default: its latest)")
    how = parser.add_argument_group("how")
    how.add_argument("--fixer", metavar="AGENT:MODEL", help="who mends it (default: [fix] fixer of the configuration)")
    how.add_argument(
        "--rounds", type=positive_int, metavar="N", help="how often the fixer may try; each sees what the last achieved"
    )
    how.add_argument(
        "--subject", action="append", default=[], metavar="AGENT:MODEL", help="on whom it is proven; repeatable"
    )
    how.add_argument("--rule", choices=RULES, help="how it is proven, before and after (default: trials)")
    how.add_argument("--trials", type=positive_int, metavar="N", help="trials per eval and subject (default: 3)")
    pace_arguments(how)
    out = parser.add_argument_group("output")
    out.add_argument("--dry-run", action="store_true", help="only look: print the brief, ask no fixer, try nothing")
    out.add_argument(
        "--apply", action="store_true", help="lay the patch onto this tree and its index where all is fixed"
    )
    out.add_argument(
        "--format",
        choices=("terminal", "markdown", "json"),
        default="terminal",
        help="how to print (default: terminal)",
    )
    out.add_argument("--json", action="store_true", help="the same as --format json")
    out.add_argument("--out", type=Path, metavar="DIR", help="folder that runs are kept in (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Look, let mend, prove, report; and apply where that is wanted."""
    from demeanor.commands.fix.artifacts import apply_fix, keep_brief, keep_report, new_fix
    from demeanor.commands.fix.diagnose import investigate
    from demeanor.commands.fix.project import scene_of
    from demeanor.commands.fix.to_json import brief_value
    from demeanor.commands.fix.workflow import FixState
    from demeanor.commands.interrupts import make_ui
    from demeanor.runner.catalog import Catalog
    from demeanor.runner.history import open_project_history

    config = _configured(load_config(args), args)
    results = (args.out or config.root / config.results).resolve()
    how = "json" if args.json else args.format
    redactor = Catalog(config=config, environ=os.environ).redactor
    with scene_of(config, results, os.environ) as project:
        history = open_project_history(config, os.environ, results=results)
        try:
            found = investigate(project, history, args.what, run=args.run)
        finally:
            history.close()
        ui = make_ui(quiet=how == "json")
        fixing = FixState(project=project, found=found, request=_request(args), environ=os.environ, ui=ui)
        if not args.dry_run:
            fixing.check()
        folder = new_fix(results)
        brief = keep_brief(found, folder, redactor)
        if args.dry_run:
            print(json.dumps(brief_value(found, brief), indent=2) if how == "json" else brief)
            ui.log(f"the brief and its evidence are kept in {folder}")
            return ExitCode.ACCEPTED
        try:
            report = fixing.run(folder)
        except KeyboardInterrupt:
            ui.log(f"stopped; what was done until then is kept in {folder}")
            raise
    failed: UsageError | None = None
    if args.apply and report.exit_code is ExitCode.ACCEPTED and report.rounds:
        try:
            report = apply_fix(report, project)
        except UsageError as error:
            failed = error
    report = keep_report(report, folder, redactor)
    _print(report, how)
    if failed is not None:
        raise failed
    return report.exit_code


def _configured(config: Config, args: argparse.Namespace) -> Config:
    """The configuration as the command line wants it."""
    said = {
        "fixer": args.fixer,
        "rounds": args.rounds,
        "subjects": tuple(args.subject) or None,
        "rule": args.rule,
        "trials": args.trials,
        "budget_usd": args.budget_usd,
    }
    return replace(
        config, fix=replace(config.fix, **{name: value for name, value in said.items() if value is not None})
    )


def _request(args: argparse.Namespace) -> RunRequest:
    return RunRequest(policy="all", jobs=args.jobs, timeout=args.timeout, sandbox=args.sandbox, seed=args.seed)


def _print(report: FixReport, how: str) -> None:
    if how == "json":
        from demeanor.commands.fix.to_json import fix_json

        print(fix_json(report), end="")
    elif how == "markdown":
        from demeanor.commands.fix.markdown import fix_markdown

        print(fix_markdown(report), end="")
    else:
        from demeanor.commands.fix.terminal import fix_terminal
        from demeanor.render.terminal import screen_of

        print(fix_terminal(report, screen_of(sys.stdout)), end="")
