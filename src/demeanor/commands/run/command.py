"""`demeanor run`: run evals and decide."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.commands.options import (
    choice_arguments,
    config_argument,
    load_config,
    model_of,
    pace_arguments,
    positive_int,
    task_arguments,
    who_arguments,
)
from demeanor.core.codec import DecodeError, decode
from demeanor.core.errors import BadInput, StoreError
from demeanor.core.exit_code import ExitCode
from demeanor.core.fault import parse_faults
from demeanor.core.run_request import RunRequest

if TYPE_CHECKING:
    from demeanor.commands.run.report import RunReport
    from demeanor.config.config import Config
    from demeanor.store.runs.run_folder import RunFolder

_NOTHING_GATES = """\
demeanor: none of the chosen evals is ALWAYS_PASSES, so nothing was run and nothing is gated
  → run all of them with --policy all, or with RUN_EVALS=1
"""
_NO_MODEL = """\
demeanor: no subject is named, and no language model is here: native:scripted is tried, which is no model
  {why}
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    how = run_arguments(parser)
    how.add_argument(
        "--policy",
        choices=("always", "all"),
        help="which policies run (default: always, or all where evals are named or RUN_EVALS is set)",
    )
    how.add_argument(
        "--kind", choices=("local", "ci", "nightly"), default="local", help="why it is run (default: local)"
    )
    how.add_argument(
        "--resume", metavar="RUN", help="do only what is missing of an earlier run ('latest', a name or a path)"
    )


def run_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The options of every command that runs evals; the group that says how, for more of them."""
    choice_arguments(parser)
    who_arguments(parser)
    task_arguments(parser)
    how = parser.add_argument_group("how")
    how.add_argument("--trials", type=positive_int, metavar="N", help="trials per eval and subject (default: 3)")
    pace_arguments(how)
    how.add_argument("--fail-fast", action="store_true", help="start nothing more after the first failure")
    how.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[@WHEN][:OPTION=VALUE]",
        help="break answers of the model on purpose, such as 429@1, cut@2-3 or 500@30%%; repeatable (docs/faults.md)",
    )
    wire = how.add_mutually_exclusive_group()
    wire.add_argument(
        "--record", nargs="?", const="", metavar="DIR", help="keep a cassette of each trial (default: evals/cassettes)"
    )
    wire.add_argument(
        "--replay",
        nargs="?",
        const="",
        metavar="DIR",
        help="answer from cassettes: no model is asked, nothing is spent",
    )
    how.add_argument("--update-snapshots", action="store_true", help="write prompt snapshots instead of comparing them")
    out = parser.add_argument_group("output")
    out.add_argument("--dry-run", action="store_true", help="print the plan and run nothing")
    out.add_argument("--out", type=Path, metavar="DIR", help="folder that runs are kept in (default: results)")
    out.add_argument("--json", action="store_true", help="print the report as JSON, and nothing else")
    out.add_argument("--junit", type=Path, metavar="FILE", help="also write a JUnit report")
    out.add_argument("--plug-in", action="store_true", help="show the plug-in forms of pass@k and pass^k (labelled)")
    config_argument(parser)
    return how


def run(args: argparse.Namespace) -> ExitCode:
    """Plan, run, report."""
    from demeanor.commands.interrupts import make_ui
    from demeanor.commands.run.outputs import make_report, publish
    from demeanor.runner.catalog import Catalog
    from demeanor.runner.execute import execute, prepare
    from demeanor.runner.plan import plan_run
    from demeanor.runner.tasks import task_environment
    from demeanor.store.runs.run_dirs import find_run

    config = load_config(args)
    results = args.out or config.root / config.results
    earlier = find_run(results, args.resume) if args.resume else None
    request = _earlier_request(earlier, jobs=args.jobs) if earlier else _request(args, config)
    config = config.at_night() if request.kind == "nightly" else config
    catalog = Catalog(config=config, environ=os.environ, replaying=request.replay is not None)
    plan = plan_run(catalog, request, os.environ)
    if not (earlier or request.subjects or request.model or config.subjects) and catalog.no_local_model:
        sys.stderr.write(_NO_MODEL.format(why=catalog.no_local_model))
    if not plan.cells:
        sys.stderr.write(_NOTHING_GATES)
        return ExitCode.ACCEPTED
    if args.dry_run:
        from demeanor.commands.run.plan_text import plan_json, plan_text

        print(plan_json(plan) if args.json else plan_text(plan, task_environment(config, request, plan)))
        return ExitCode.ACCEPTED
    run = prepare(catalog, plan, request, earlier or results, info=earlier.info() if earlier else None)
    result = execute(run, ui=make_ui(quiet=args.json))
    report = make_report(result, plug_in=args.plug_in)
    publish(report, result.folder, environ=os.environ, redactor=catalog.redactor, junit=args.junit)
    _print(report, as_json=args.json)
    return report.exit_code


def _print(report: RunReport, *, as_json: bool) -> None:
    if as_json:
        from demeanor.commands.run.to_json import json_report

        print(json_report(report), end="")
    else:
        from demeanor.commands.run.terminal import terminal
        from demeanor.render.terminal import screen_of

        print(terminal(report, screen_of(sys.stdout)), end="")


def _cassettes(given: str | None, config: Config, option: str, *, must_exist: bool) -> str | None:
    """The folder that an option names; a path of evals that it took by mistake is told from one."""
    if given is None:
        return None
    folder = Path(given).resolve() if given else config.root / config.cassettes
    remedy = f"write the paths of evals first: demeanor run PATH {option}, or {option}=DIR"
    if folder.exists() and not folder.is_dir():
        raise BadInput("is no folder of cassettes", where=given or folder, key=option, remedy=remedy)
    if given and (any(folder.glob("*.py")) or (folder / "scenario.toml").is_file()):
        raise BadInput("is a folder of evals, not of cassettes", where=given, key=option, remedy=remedy)
    if must_exist and not folder.is_dir():
        raise BadInput(
            "there is no such folder", where=folder, key=option, remedy="record first: demeanor run --record"
        )
    return str(folder)


def _request(args: argparse.Namespace, config: Config) -> RunRequest:
    return RunRequest(
        paths=tuple(args.paths),
        subjects=tuple(args.subject),
        model=model_of(args),
        names=tuple(args.scenario),
        keyword=args.keyword,
        suites=tuple(args.suite),
        tags=tuple(args.tag),
        tasks=tuple(args.tasks),
        env=args.env,
        trials=args.trials,
        policy=args.policy or ("all" if os.environ.get("RUN_EVALS") else None),
        jobs=args.jobs,
        timeout=args.timeout,
        budget_usd=args.budget_usd,
        kind=args.kind,
        sandbox=args.sandbox,
        fail_fast=args.fail_fast,
        update_snapshots=args.update_snapshots,
        faults=parse_faults(args.fault, where="--fault"),
        seed=args.seed,
        record=_cassettes(args.record, config, "--record", must_exist=False),
        replay=_cassettes(args.replay, config, "--replay", must_exist=True),
    )


def _earlier_request(store: RunFolder, *, jobs: int | None) -> RunRequest:
    """What the earlier run was asked to do."""
    try:
        return replace(decode(RunRequest, store.info().arguments), jobs=jobs)
    except DecodeError as error:
        raise StoreError(f"{store.folder}: what the run was asked to do can't be read: {error}") from None
