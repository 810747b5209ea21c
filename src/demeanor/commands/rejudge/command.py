"""`demeanor rejudge`: judge stored captures again."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli.options import config_argument, load_config, positive_float, positive_int, print_report
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.sandbox_spec import RANKS

if TYPE_CHECKING:
    from demeanor.config.config import Config
    from demeanor.results.runs import StoredRun


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "what",
        nargs="?",
        default="latest",
        metavar="RUN|EVAL",
        help="a run's name or folder, or the name of an eval for its latest run (default: latest)",
    )
    parser.add_argument(
        "--last", type=positive_int, default=1, metavar="N", help="for an eval: how many of its runs (default: 1)"
    )
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help="only the eval of this name; repeatable"
    )
    parser.add_argument(
        "--evals",
        action="append",
        default=[],
        metavar="PATH",
        help="files or folders of the current evals; repeatable (default: those of the run)",
    )
    parser.add_argument(
        "--as-it-was",
        action="store_true",
        help="also judge trials whose scenario was edited since, with the starting files of that time",
    )
    parser.add_argument(
        "--ask-judge",
        choices=("missing", "all"),
        help="ask judges, which may cost money: about questions without a recorded answer, or about all (default: use"
        " recorded answers only)",
    )
    parser.add_argument(
        "--budget-usd", type=positive_float, metavar="USD", help="with --ask-judge: the maximum cost of judges"
    )
    parser.add_argument(
        "--keep", action="store_true", help="store the new verdicts beside those of the run, which stay unchanged"
    )
    parser.add_argument(
        "--sandbox", choices=tuple(RANKS), help="sandbox for the commands of checks (default: as in the run)"
    )
    parser.add_argument(
        "--jobs", type=positive_int, metavar="N", help="trials judged in parallel (default: twice the cores)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and nothing else")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder of the runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the captures, judge them again, and print what changed."""
    from demeanor.commands.rejudge.render import rejudge_terminal
    from demeanor.commands.rejudge.report import REJUDGE_DOCUMENT
    from demeanor.commands.rejudge.workflow import RejudgeOptions, judge_again, make_report, store_verdicts

    config = load_config(args)
    results = args.out or config.root / config.results
    runs, evals = _runs(args, results, config)
    options = RejudgeOptions(
        evals=evals,
        paths=args.evals,
        sandbox=args.sandbox,
        jobs=args.jobs,
        as_it_was=args.as_it_was,
        ask_judge=args.ask_judge or "never",
        budget_usd=args.budget_usd,
    )
    trials = judge_again(runs, config, os.environ, options)
    if not trials:
        raise UsageError(f"{', '.join(one.name for one in runs)}: there is no trial to judge again")
    kept, unkept = store_verdicts(runs, trials, config) if args.keep else ((), ())
    report = make_report(trials, kept=kept, unkept=unkept)
    print_report(args, report, REJUDGE_DOCUMENT, rejudge_terminal)
    return report.exit_code


def _runs(args: argparse.Namespace, results: Path, config: Config) -> tuple[tuple[StoredRun, ...], tuple[str, ...]]:
    """Return the requested runs and the requested evals in them."""
    from demeanor.results.runs import find_stored_run, runs_with_eval

    names = tuple(args.scenario)
    try:
        return (find_stored_run(args.what, results, config, os.environ),), names
    except UnknownName:
        return runs_with_eval(args.what, results, config, os.environ, last=args.last), (args.what,)
