"""`demeanor bisect`: which commit changed a behaviour?"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import (
    config_argument,
    load_config,
    on_argument,
    positive_int,
    print_report,
    rate_argument,
    request_of,
    trial_arguments,
)
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.core.values.run_request import RunRequest
    from demeanor.plugins.lab.bisect.workflow import BisectState

_MOST = 200

SUMMARY = "find the commit that changed a behaviour, even if the eval is flaky"
GROUP = "explore"
EXAMPLES = (
    ("demeanor bisect reads_first --good v1.4", "find the commit that changed the behaviour"),
    ("demeanor bisect reads_first --good v1.4 --bad HEAD~2", "if HEAD itself is not the bad one"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("eval", metavar="EVAL", help="the eval, as it is in the working tree")
    parser.add_argument("--good", required=True, metavar="REV", help="a commit at which it passed")
    parser.add_argument("--bad", default="HEAD", metavar="REV", help="a later commit at which it fails (default: HEAD)")
    parser.add_argument(
        "--subject", metavar="AGENT:MODEL", help="the subject (default: the only one of the configuration)"
    )
    how = parser.add_argument_group("how")
    how.add_argument(
        "--confidence", type=rate_argument, default=0.95, metavar="RATE", help="required probability (default: 95%%)"
    )
    how.add_argument(
        "--trials",
        type=positive_int,
        default=1,
        metavar="N",
        help="trials per visit of a commit, in parallel (default: 1, which needs the fewest trials in total)",
    )
    how.add_argument(
        "--max-trials",
        type=positive_int,
        default=_MOST,
        metavar="N",
        help=f"maximum number of trials (default: {_MOST})",
    )
    trial_arguments(how)
    on_argument(how)
    out = parser.add_argument_group("output")
    out.add_argument("--json", action="store_true", help="print only the report, as JSON")
    out.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)
    parser.epilog = "exit codes: 0 found, 1 good and bad do not differ, 2 wrong usage, 3 undecided, 130 interrupted"


def run(args: argparse.Namespace) -> ExitCode:
    """Search, record the result and print it."""
    from demeanor.cli import make_ui
    from demeanor.plugins.lab.bisect.build_report import bisect_decision, make_bisect_report
    from demeanor.plugins.lab.bisect.render import bisect_terminal
    from demeanor.plugins.lab.bisect.report import BISECT_DOCUMENT, BisectOutcome
    from demeanor.plugins.lab.bisect.workflow import make_bisect_state
    from demeanor.results import keep_decisions

    config = load_config(args)
    results = args.results or config.root / config.results
    state = make_bisect_state(
        config,
        os.environ,
        replace(_request(args), build=config.executor.builds),
        good=args.good,
        bad=args.bad,
        results=results,
        confidence=args.confidence,
        at_once=args.trials,
        most=args.max_trials,
    )
    outcome, interrupted = BisectOutcome.UNDECIDED, False
    try:
        outcome = state.run(make_ui(quiet=True), _show)
    except KeyboardInterrupt:
        interrupted = True
    report = make_bisect_report(state, outcome, good=args.good, bad=args.bad, interrupted=interrupted)
    unkept = keep_decisions(config, os.environ, results, [bisect_decision(report)])
    report = replace(report, notes=(*report.notes, *unkept))
    print_report(args, report, BISECT_DOCUMENT, bisect_terminal)
    return report.exit_code


def _request(args: argparse.Namespace) -> RunRequest:
    placed = "::" in args.eval
    return request_of(
        args,
        command="bisect",
        paths=(args.eval,) if placed else (),
        names=() if placed else (args.eval,),
        subjects=(args.subject,) if args.subject else (),
        trials=None,
        policy="all",
    )


def _show(state: BisectState, place: int) -> None:
    """Print the state of the search to standard error."""
    from demeanor.cli import log
    from demeanor.plugins.lab.bisect.build_report import commits_found
    from demeanor.plugins.lab.bisect.render import progress_line
    from demeanor.render import screen_of

    commits = commits_found(state)
    likeliest = max(commits, key=lambda commit: commit.chance)
    chances = [commit.chance for commit in commits]
    log(progress_line(chances, commits[place], likeliest, state.made, screen_of(sys.stderr)))
