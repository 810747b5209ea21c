"""`demeanor fix`: let an agent fix what an eval shows to be broken, and verify the fix."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import (
    config_argument,
    format_arguments,
    load_config,
    output_format,
    positive_int,
    print_report,
    trial_arguments,
)
from demeanor.config import RULES
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.run_request import RunRequest

if TYPE_CHECKING:
    from demeanor.config import Config


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "what",
        nargs="?",
        metavar="EVAL|RUN|URL",
        help="an eval, a run by its name or path, or the link to a run of GitHub Actions, whose artifacts are"
        " downloaded with gh (default: what failed or got worse in the latest night)",
    )
    parser.add_argument("--run", metavar="RUN|URL", help="the run to start from (default: the latest one)")
    how = parser.add_argument_group("how")
    how.add_argument("--fixer", metavar="AGENT:MODEL", help="the agent that makes the fix (default: fixer of [fix])")
    how.add_argument(
        "--rounds",
        type=positive_int,
        metavar="N",
        help="how many attempts the fixer has; each gets the results of the ones before",
    )
    how.add_argument(
        "--subject",
        action="append",
        default=[],
        metavar="AGENT:MODEL",
        help="a subject to verify the fix with; repeatable",
    )
    how.add_argument("--rule", choices=RULES, help="how the fix is verified, before and after (default: trials)")
    how.add_argument("--trials", type=positive_int, metavar="N", help="trials per eval and subject (default: 3)")
    trial_arguments(how)
    out = parser.add_argument_group("output")
    out.add_argument("--dry-run", action="store_true", help="only print the brief: start no fixer and run no trials")
    out.add_argument(
        "--apply", action="store_true", help="if everything is fixed, apply the patch to this tree and its index"
    )
    format_arguments(out)
    out.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Diagnose, fix, verify and report; apply the patch if requested."""
    from demeanor.cli import log, make_ui
    from demeanor.commands.fix.artifacts import apply_fix, create_fix_folder, write_brief, write_report
    from demeanor.commands.fix.brief import brief_value
    from demeanor.commands.fix.diagnosis import diagnose
    from demeanor.commands.fix.project import open_project
    from demeanor.commands.fix.render import fix_markdown, fix_terminal
    from demeanor.commands.fix.report import FIX_DOCUMENT
    from demeanor.commands.fix.workflow import FixState
    from demeanor.results import fetch_nights, import_ci_run, open_project_history, parse_ci_run
    from demeanor.runner import Catalog

    config = _override(load_config(args), args)
    results = (args.results or config.root / config.results).resolve()
    output = output_format(args)
    catalog = Catalog(config=config, environ=os.environ)
    redactor = catalog.redactor
    with open_project(config, results, os.environ) as project:
        linked = [parse_ci_run(args.what), parse_ci_run(args.run)]
        if not any(linked):
            fetch_nights(config, os.environ, results, log)
        with open_project_history(config, os.environ, results=results, reading=not any(linked)) as history:
            what, named = (
                text if run is None else import_ci_run(run, config, os.environ, results, history)
                for text, run in zip((args.what, args.run), linked, strict=True)
            )
            diagnosis = diagnose(project, history, what, run=named)
        ui = make_ui(quiet=output == "json")
        fix = FixState(project=project, diagnosis=diagnosis, request=_request(args), environ=os.environ, ui=ui)
        if not args.dry_run:
            for subject, place in _named_subjects(config, args):
                catalog.subject(subject, where=place)
            fix.check()
        folder = create_fix_folder(results)
        brief = write_brief(diagnosis, folder, redactor)
        if args.dry_run:
            print(json.dumps(brief_value(diagnosis, brief), indent=2) if output == "json" else brief)
            ui.log(f"the brief and its evidence are in {folder}")
            return ExitCode.ACCEPTED
        try:
            report = fix.run(folder)
        except KeyboardInterrupt:
            ui.log(f"stopped; everything up to this point is in {folder}")
            raise
    apply_error: UsageError | None = None
    if args.apply and report.exit_code is ExitCode.ACCEPTED and report.rounds:
        try:
            report = apply_fix(report, project)
        except UsageError as error:
            apply_error = error
    report = write_report(report, folder, redactor)
    print_report(args, report, FIX_DOCUMENT, fix_terminal, fix_markdown)
    if apply_error is not None:
        raise apply_error
    return report.exit_code


def _override(config: Config, args: argparse.Namespace) -> Config:
    """Return the configuration with the values of the command line."""
    values = {
        "fixer": args.fixer,
        "rounds": args.rounds,
        "subjects": tuple(args.subject) or None,
        "rule": args.rule,
        "trials": args.trials,
        "budget_usd": args.budget.usd,
        "budget_tokens": args.budget.tokens,
    }
    changed = {name: value for name, value in values.items() if value is not None}
    return replace(config, fix=replace(config.fix, **changed))


def _named_subjects(config: Config, args: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The fixer and the subjects, each with the place where it is written."""
    if config.fix.fixer:
        yield config.fix.fixer, "--fixer" if args.fixer else f"{config.where}: fix.fixer"
    for subject in config.fix.subjects:
        yield subject, "--subject" if args.subject else f"{config.where}: fix.subjects"


def _request(args: argparse.Namespace) -> RunRequest:
    return RunRequest(policy="all", jobs=args.jobs, timeout=args.timeout, sandbox=args.sandbox, seed=args.seed)
