"""`demeanor fork`: start trials from a step of a stored trial."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import (
    build_argument,
    builds_first,
    config_argument,
    intervention_arguments,
    load_config,
    positive_int,
    print_report,
    rate_argument,
    read_intervention,
    request_of,
    trial_argument,
    trial_arguments,
)
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.core.values.exchange import Response
    from demeanor.core.values.run_request import RunRequest
    from demeanor.plugins.lab.fork.report import ForkReport
    from demeanor.plugins.lab.fork.source import ForkSource
    from demeanor.runner import Catalog

_TRIALS, _AT_ONCE, _MOST = 10, 2, 100

SUMMARY = "start trials from a step of a stored trial; find the deciding step"
GROUP = "explore"
EXAMPLES = (
    ("demeanor fork", "the steps of the first trial that did not pass"),
    ("demeanor fork EVAL/SUBJECT/2 --at 4", "ten trials that start at its fourth step"),
    ("demeanor fork EVAL --scan", "the step at which its chance of passing fell"),
    ("demeanor fork EVAL --at 4 --instead answer.json", "with another answer there"),
    ("demeanor fork EVAL --at 4 --save before_delete", "for a decision-point eval"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    trial_argument(parser)
    parser.add_argument("--run", default="latest", metavar="RUN", help="a run's name or path (default: latest)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--at", type=positive_int, metavar="K", help="start trials at step K (default: list the steps)")
    where.add_argument("--scan", action="store_true", help="find the step at which the chance of passing fell")
    change = parser.add_argument_group("what is different from step K on")
    change.add_argument("--subject", metavar="AGENT:MODEL", help="ask another model; the agent must be the same")
    intervention_arguments(change)
    change.add_argument(
        "--instead",
        type=Path,
        metavar="FILE",
        help="give this answer at step K: a text, or JSON with `text` and `calls` of `tool` and `arguments`",
    )
    parser.add_argument(
        "--save",
        metavar="NAME",
        help="save the beginning up to step K beside the evals, for start=prefix(NAME); runs trials only with --trials",
    )
    how = parser.add_argument_group("how")
    how.add_argument(
        "--trials",
        type=positive_int,
        metavar="N",
        help=f"trials with --at (default: {_TRIALS}); with --scan, those that start at a step before the next step is"
        f" chosen (default: {_AT_ONCE})",
    )
    how.add_argument(
        "--confidence",
        type=rate_argument,
        default=0.95,
        metavar="RATE",
        help="required probability of the decisive step (default: 95%%)",
    )
    how.add_argument(
        "--max-trials",
        type=positive_int,
        default=_MOST,
        metavar="N",
        help=f"maximum number of trials (default: {_MOST})",
    )
    trial_arguments(how)
    build_argument(how)
    out = parser.add_argument_group("output")
    out.add_argument("--json", action="store_true", help="print only the report, as JSON")
    out.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)
    parser.epilog = (
        "exit codes: 0 measured, found or listed, 1 no decisive step, 2 wrong usage, 3 undecided, 130 interrupted"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Find the trial, and list its steps, start trials at one, or scan them."""
    from demeanor.plugins.lab.fork.render import fork_terminal
    from demeanor.plugins.lab.fork.report import FORK_DOCUMENT
    from demeanor.plugins.lab.fork.source import find_source
    from demeanor.results import find_record, find_stored_run
    from demeanor.runner import Catalog

    _check_options(args)
    config = load_config(args)
    results = args.results or config.root / config.results
    stored = find_stored_run(args.run, results, config, os.environ, trials=[args.trial] if args.trial else ())
    catalog = Catalog(config=config, environ=os.environ)
    source = find_source(stored, find_record(stored, args.trial), config, catalog)
    if args.at is None and not args.scan:
        _print_steps(source, as_json=args.json)
        return ExitCode.ACCEPTED
    if args.save is not None:
        _save(args, source)
        if args.trials is None:
            return ExitCode.ACCEPTED
    report = _forked(args, source, catalog, results)
    print_report(args, report, FORK_DOCUMENT, fork_terminal)
    return report.exit_code


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that need another one; raises UsageError."""
    forks = args.at is not None or args.scan
    for name, needed, allowed in (
        ("instead", "--at K", args.at is not None),
        ("save", "--at K", args.at is not None),
        ("subject", "--at K or --scan", forks),
        ("edit_prompt", "--at K or --scan", forks),
        ("trials", "--at K or --scan", forks),
    ):
        if getattr(args, name) and not allowed:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} needs {needed}\n  → add it, or leave {option} out")


def _save(args: argparse.Namespace, source: ForkSource) -> None:
    """Save the beginning of the trial beside its eval."""
    from demeanor.runner import save_prefix

    source.require_step(args.at)
    path = save_prefix(source.forked, args.at, args.save)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    sys.stderr.write(
        f"demeanor: saved {shown}: {source.record.trial} up to step {args.at}\n"
        f'  → start an eval with the same prompt and files from it: start=prefix("{args.save}")\n'
    )


def _print_steps(source: ForkSource, *, as_json: bool) -> None:
    import json

    from demeanor.plugins.lab.fork.render import steps_text
    from demeanor.render import screen_of

    if as_json:
        steps = [{"step": number, "did": did} for number, did in enumerate(source.did, 1)]
        print(json.dumps({"trial": source.record.trial, "run": source.run.name, "steps": steps}, indent=2))
    else:
        print(steps_text(source.record.trial, source.run.name, source.did, screen_of(sys.stdout)), end="")


def _forked(args: argparse.Namespace, source: ForkSource, catalog: Catalog, results: Path) -> ForkReport:
    from demeanor.cli import make_ui
    from demeanor.plugins.lab.fork.workflow import ForkOptions, fork_at, fork_scan, store_scan

    request = _request(args, source, catalog.config)
    instead = _instead(args, source)
    options = ForkOptions(
        request=request,
        environ=os.environ,
        results=results,
        instead=instead,
        changed=tuple(_changes(args, source, request)),
    )
    if args.at is not None:
        return fork_at(source, args.at, catalog, options, make_ui(quiet=args.json))
    report = fork_scan(
        source,
        catalog,
        options,
        make_ui(quiet=True),
        confidence=args.confidence,
        at_once=args.trials or _AT_ONCE,
        most=args.max_trials,
    )
    return store_scan(report, source, catalog)


def _instead(args: argparse.Namespace, source: ForkSource) -> Response | None:
    """The answer that is given at the step; None to ask the model."""
    if args.instead is None:
        return None
    from demeanor.plugins.lab.fork.instead import read_instead

    source.require_step(args.at)
    return read_instead(args.instead, source.forked.steps[args.at - 1].request)


def _request(args: argparse.Namespace, source: ForkSource, config: Config) -> RunRequest:
    """The request of the forks: that of the recorded run, with what is different."""
    recorded = source.run.request
    subject = args.subject or source.record.subject
    agent = source.record.subject.partition(":")[0]
    if subject.partition(":")[0] != agent:
        raise UsageError(
            f"--subject {subject}: the recorded agent is {agent}, and another one would not send its requests\n"
            f"  → name another model only: {agent}:MODEL"
        )
    return request_of(
        args,
        subjects=(subject,),
        trials=(args.trials or _TRIALS) if args.at is not None else 1,
        policy="all",
        build=builds_first(args, config),
        faults=recorded.faults,
        intervention=read_intervention(args).over(recorded.intervention),
    )


def _changes(args: argparse.Namespace, source: ForkSource, request: RunRequest) -> list[str]:
    """What differs from the recorded trial."""
    changes = [f"asked {request.subjects[0]}"] if request.subjects[0] != source.record.subject else []
    changes += [f"the prompt: {edit}" for edit in args.edit_prompt]
    return [*changes, f"the answer of {args.instead} at step {args.at}"] if args.instead else changes
