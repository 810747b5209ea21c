"""`demeanor rejudge`: judge stored captures again, once or whenever an eval is edited (`--watch`)."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import budget_argument, config_argument, load_config, positive_int, print_report, refuse_misfits
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.sandbox_spec import RANKS

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.results import StoredRun

_OPTIONS = {
    "": ("last", "evals", "as_it_was", "ask_judge", "keep", "json"),
    "--watch": ("run", "trials", "subject"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "what",
        nargs="*",
        metavar="RUN|EVAL|PATH",
        help="a run's name or folder, or the name of an eval for its latest run (default: latest); with --watch any"
        " number of files or folders, with ::name for one eval (default: all evals)",
    )
    once = parser.add_argument_group("once (default)")
    once.add_argument("--last", type=positive_int, metavar="N", help="for an eval: how many of its runs (default: 1)")
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help="only the eval of this name; repeatable"
    )
    once.add_argument(
        "--evals",
        action="append",
        default=[],
        metavar="PATH",
        help="files or folders of the current evals; repeatable (default: those of the run)",
    )
    once.add_argument(
        "--as-it-was",
        action="store_true",
        help="also judge trials whose scenario was edited since, with the starting files of that time",
    )
    once.add_argument(
        "--ask-judge",
        choices=("missing", "all"),
        help="ask judges, which may cost money: about questions without a recorded answer, or about all (default: use"
        " recorded answers only)",
    )
    budget_argument(parser, "the most that judges (with --ask-judge) or agents (with --watch --run) may spend")
    once.add_argument(
        "--keep", action="store_true", help="store the new verdicts beside those of the run, which stay unchanged"
    )
    parser.add_argument(
        "--sandbox",
        choices=tuple(RANKS),
        help="sandbox for the commands of checks, and with --run of agents (default: as in the run)",
    )
    once.add_argument("--json", action="store_true", help="print the result as JSON, and nothing else")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)
    watch = parser.add_argument_group("on every edit (--watch)")
    watch.add_argument(
        "--watch", action="store_true", help="judge the latest trials of an eval again whenever you edit it"
    )
    watch.add_argument(
        "--run",
        action="store_true",
        help="also run the edited evals whose stored trials can't be judged again; needs --budget",
    )
    watch.add_argument(
        "--trials", type=positive_int, metavar="N", help="with --run: trials per eval and subject (default: 3)"
    )
    watch.add_argument(
        "--subject",
        action="append",
        default=[],
        metavar="AGENT:MODEL",
        help="with --run: the subject to test; repeatable",
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Find the captures, judge them again, and print what changed; or do so on every edit until Ctrl-C."""
    refuse_misfits(args, arguments, "--watch" if args.watch else "", _OPTIONS)
    if args.watch:
        _watch(args)
        return ExitCode.ACCEPTED
    from demeanor.commands.rejudge.render import rejudge_terminal
    from demeanor.commands.rejudge.report import REJUDGE_DOCUMENT
    from demeanor.commands.rejudge.workflow import RejudgeOptions, judge_again, make_report, store_verdicts

    config = load_config(args)
    results = args.results or config.root / config.results
    runs, evals = _runs(args, results, config)
    options = RejudgeOptions(
        evals=evals,
        paths=args.evals,
        sandbox=args.sandbox,
        as_it_was=args.as_it_was,
        ask_judge=args.ask_judge or "never",
        budget=args.budget,
    )
    trials = judge_again(runs, config, os.environ, options)
    if not trials:
        raise UsageError(f"{', '.join(run.name for run in runs)}: there is no trial to judge again")
    kept, unkept = store_verdicts(runs, trials, config) if args.keep else ((), ())
    report = make_report(trials, kept=kept, unkept=unkept)
    print_report(args, report, REJUDGE_DOCUMENT, rejudge_terminal)
    return report.exit_code


def _watch(args: argparse.Namespace) -> None:
    """Judge again whenever an eval is edited, until Ctrl-C."""
    from demeanor.commands.rejudge.watching import watch

    if args.budget.tokens is not None:
        raise UsageError("--budget: --watch limits US dollars only\n  → write --budget 1usd")
    if args.run and args.budget.usd is None:
        raise UsageError("--run starts agents after every edit, so it needs a limit\n  → add --budget 1usd")
    for option, value in (("budget", args.budget.usd), ("trials", args.trials), ("subject", args.subject)):
        if value and not args.run:
            raise UsageError(f"--{option} is about agents, and none is started\n  → add --run")
    watch(load_config(args), argparse.Namespace(**vars(args), paths=args.what), sys.stderr)


def _runs(args: argparse.Namespace, results: Path, config: Config) -> tuple[tuple[StoredRun, ...], tuple[str, ...]]:
    """Return the requested runs and the requested evals in them."""
    from demeanor.results import find_stored_run, runs_with_eval

    if len(args.what) > 1:
        raise UsageError(f"{' '.join(args.what)}: one run or eval is judged again\n  → leave out the others")
    name = args.what[0] if args.what else "latest"
    try:
        return (find_stored_run(name, results, config, os.environ),), tuple(args.scenario)
    except UnknownName:
        return runs_with_eval(name, results, config, os.environ, last=args.last or 1), (name,)
