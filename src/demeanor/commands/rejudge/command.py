"""`demeanor rejudge`: judge stored captures again."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.commands.options import config_argument, load_config, positive_int
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.sandbox_spec import RANKS

if TYPE_CHECKING:
    from demeanor.commands.run.stored_runs import StoredRun
    from demeanor.config.config import Config


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "what",
        nargs="?",
        default="latest",
        metavar="RUN|EVAL",
        help="a run's name or folder, or an eval, whose latest run is taken (default: latest)",
    )
    parser.add_argument(
        "--last", type=positive_int, default=1, metavar="N", help="how many runs of an eval are taken (default: 1)"
    )
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help="only the eval of this name; repeatable"
    )
    parser.add_argument(
        "--evals",
        action="append",
        default=[],
        metavar="PATH",
        help="files or folders that the evals are in now; repeatable (default: where the run had them)",
    )
    parser.add_argument(
        "--as-it-was",
        action="store_true",
        help="judge also trials whose scenario was edited since, in the workspace that they began with",
    )
    parser.add_argument(
        "--keep", action="store_true", help="write the new verdicts down, beside those of the run, which stay"
    )
    parser.add_argument("--sandbox", choices=tuple(RANKS), help="where commands of checks run (default: as in the run)")
    parser.add_argument(
        "--jobs", type=positive_int, metavar="N", help="trials judged at once (default: twice the cores)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and nothing else")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder that runs are kept in (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the captures, judge them, tell what changed."""
    from demeanor.commands.rejudge.workflow import RejudgeOptions, judge_again, keep_judgements, make_rejudgement

    config = load_config(args)
    results = args.out or config.root / config.results
    runs, evals = _runs(args, results, config)
    options = RejudgeOptions(
        evals=evals, paths=args.evals, sandbox=args.sandbox, jobs=args.jobs, as_it_was=args.as_it_was
    )
    answered = judge_again(runs, config, os.environ, options)
    if not answered:
        raise UsageError(f"{', '.join(one.name for one in runs)}: there is no such trial to judge again")
    kept = keep_judgements(runs, answered, config) if args.keep else ()
    report = make_rejudgement(answered, kept=kept)
    if args.json:
        from demeanor.commands.rejudge.report import REJUDGE_DOCUMENT

        print(REJUDGE_DOCUMENT.write(report), end="")
    else:
        from demeanor.commands.rejudge.terminal import rejudge_terminal
        from demeanor.render.terminal import screen_of

        print(rejudge_terminal(report, screen_of(sys.stdout)), end="")
    return report.exit_code


def _runs(args: argparse.Namespace, results: Path, config: Config) -> tuple[tuple[StoredRun, ...], tuple[str, ...]]:
    """The runs that are meant, and the evals of them."""
    from demeanor.commands.run.stored_runs import find_stored_run, runs_with_eval

    names = tuple(args.scenario)
    try:
        return (find_stored_run(args.what, results, config, os.environ),), names
    except UnknownName:
        return runs_with_eval(args.what, results, last=args.last), (args.what,)
