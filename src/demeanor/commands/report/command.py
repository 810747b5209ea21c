"""`demeanor report`: a night, an eval over time, the failures of a run in groups, or the metrics of several runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from demeanor.cli import config_argument, load_config, output_format, refuse_misfits
from demeanor.commands.report import eval_history, failures, metrics, night, stored_runs
from demeanor.core.text.wording import count
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode

_FORMS = {"": night, "--eval": eval_history, "--failures": failures, "--metrics": metrics, "--list": stored_runs}
_OPTIONS = {
    "": ("nights", "branch", "details", "all"),
    "--eval": ("subject", "kind"),
    "--failures": ("brief", "against", "all"),
    "--metrics": ("k", "patterns"),
    "--list": ("branch",),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="a run's name or folder (default: the latest night, else the latest run; with --failures and --metrics"
        " the latest run); with --metrics several, and files of any format that can be imported",
    )
    shown = parser.add_argument_group("what to show (default: a night and the nights before it)")
    which = shown.add_mutually_exclusive_group()
    which.add_argument("--eval", metavar="EVAL", help="the pass rate of this eval over time")
    which.add_argument("--failures", action="store_true", help="the failures of a run, in groups")
    which.add_argument(
        "--metrics", action="store_true", help="pass@k, pass^k and flakiness of runs, and why trials did not pass"
    )
    which.add_argument("--list", action="store_true", help="the names of the stored runs, newest first")
    for form in _FORMS.values():
        form.arguments(parser)
    out = parser.add_argument_group("output")
    out.add_argument("--all", action="store_true", help="show every eval of a night, or every group of failures")
    how = out.add_mutually_exclusive_group()
    how.add_argument("--format", choices=night.FORMATS, default="terminal", help="output format (default: terminal)")
    how.add_argument("--json", action="store_true", help="the same as --format json")
    out.add_argument("--output", type=Path, metavar="FILE", help="write to this file instead of printing")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)
    parser.set_defaults(more_words="runs")


def run(args: argparse.Namespace) -> ExitCode:
    """Make the report, and print it or write it to a file."""
    from demeanor.render import Screen, screen_of

    name = _form(args)
    form = _FORMS[name]
    refuse_misfits(args, arguments, name, _OPTIONS)
    _check_runs(args, name)
    if output_format(args) not in form.FORMATS:
        raise UsageError(f"--format {args.format} does not go with {name}\n  → its formats: {', '.join(form.FORMATS)}")
    config = load_config(args)
    results = args.results or config.root / config.results
    text = form.text(args, config, results, Screen() if args.output else screen_of(sys.stdout))
    if args.output is None:
        print(text, end="")
        return ExitCode.ACCEPTED
    try:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"--output: {args.output} can't be written: {error.strerror}") from None
    sys.stderr.write(f"demeanor: written to {args.output}\n")
    return ExitCode.ACCEPTED


def _form(args: argparse.Namespace) -> str:
    if args.eval is not None:
        return "--eval"
    if args.metrics or args.list:
        return "--metrics" if args.metrics else "--list"
    return "--failures" if args.failures or args.brief is not None else ""


def _check_runs(args: argparse.Namespace, form: str) -> None:
    """Refuse runs that would be ignored."""
    if form in {"--eval", "--list"} and args.runs:
        raise UsageError(f"{form}: all runs are shown, so RUN={args.runs[0]} does not fit\n  → leave it out")
    if form != "--metrics" and len(args.runs) > 1:
        runs = f"{count(len(args.runs), 'run')}: {', '.join(args.runs)}"
        raise UsageError(f"{runs}\n  → name one, or add --metrics")
