"""What `demeanor run` and `demeanor nightly` share: their options, and the run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli.intervention import read_intervention
from demeanor.cli.options import (
    build_argument,
    builds_first,
    choice_arguments,
    config_argument,
    env_argument,
    load_config,
    on_argument,
    positive_int,
    request_of,
    shard_part,
    subject_arguments,
    trial_arguments,
)
from demeanor.cli.output_path import can_be_written, new_file
from demeanor.cli.plan import print_plan
from demeanor.core.text.wording import count
from demeanor.core.values.errors import BadInput
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.core.values.run_request import RunRequest
    from demeanor.core.values.trial import Plan
    from demeanor.reports.run import RunReport
    from demeanor.runner import Catalog
    from demeanor.store.runs import RunFolder

_NOTHING_RUN = """\
demeanor: no eval is ALWAYS_PASSES ({defined} collected), so nothing was run
  → only these run in CI and with --policy always: use --policy all or RUN_EVALS=1, or name the ones to run
"""


_NO_MODEL = """\
demeanor: no subject is named and this machine has no language model, so native:scripted is run, which is not a model
  {why}
"""


def run_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options of `run` and `nightly`; returns the group `how`, so that each can add its own."""
    choice_arguments(parser)
    subject_arguments(parser)
    how = parser.add_argument_group("how")
    how.add_argument("--trials", type=positive_int, metavar="N", help="trials per eval and subject (default: 3)")
    trial_arguments(how)
    on_argument(how)
    how.add_argument(
        "--shard",
        type=shard_part,
        metavar="K/N",
        help="run part K of N of the trials, without a verdict; join the parts: demeanor store import DIR",
    )
    env_argument(how)
    build_argument(how)
    how.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[@WHEN][:OPTION=VALUE]",
        help="inject a fault into the model's answers: 429@1, cut@2-3, 500@30%%, …; repeatable (demeanor help gateway)",
    )
    wire = how.add_mutually_exclusive_group()
    wire.add_argument(
        "--record",
        nargs="?",
        const="",
        metavar="DIR",
        help="record a cassette of each trial (default: evals/cassettes)",
    )
    wire.add_argument(
        "--replay",
        nargs="?",
        const="",
        metavar="DIR",
        help="replay cassettes: no model is asked, nothing is spent",
    )
    out = parser.add_argument_group("output")
    out.add_argument("--dry-run", action="store_true", help="print the plan and run nothing")
    out.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    told = "print the report as JSON, and progress events as lines of JSON on standard error"
    out.add_argument("--json", action="store_true", help=told)
    out.add_argument("--junit", type=new_file, metavar="FILE", help="also write a JUnit report")
    config_argument(parser)
    return how


def run_evals(args: argparse.Namespace) -> ExitCode:
    """Plan, run, report."""
    from demeanor.cli.interrupts import make_ui
    from demeanor.reports.run import compare_collection, planned_shard, run_and_report
    from demeanor.results import find_stored_run, resumed_request
    from demeanor.runner import SCRIPTED, Catalog, plan_evals, select_evals, usable_evals

    config = load_config(args, near=Path(args.resume) if args.resume else None)
    results = args.results or config.root / config.results
    earlier = find_stored_run(args.resume, results, config, os.environ).local_folder() if args.resume else None
    request = _request(args, config)
    if earlier:
        request = resumed_request(earlier, request)
    elif os.environ.get("RUN_EVALS") or request.kind != "ci":
        request = replace(request, policy=request.policy or "all")
    paths = [str(config.root / path) for path in request.paths]
    config = config.at_night() if request.kind == "nightly" else config
    catalog = Catalog(config=config, environ=os.environ, replaying=request.replay is not None)
    evals, lacking = usable_evals(config, paths)
    request = replace(request, unread=tell_skipped(lacking))
    plan = plan_evals(catalog, select_evals(evals, request), request, os.environ)
    scripted = any(cell.subject.model == SCRIPTED for cell in plan.cells)
    if scripted and not (earlier or request.subjects or request.model or config.subjects) and catalog.no_local_model:
        sys.stderr.write(_NO_MODEL.format(why=catalog.no_local_model))
    if not plan.cells:
        sys.stderr.write(_NOTHING_RUN.format(defined=count(len(evals), "eval")))
        return ExitCode.UNDECIDED
    plan, request = planned_shard(catalog, plan, request, results, earlier)
    if args.dry_run:
        print_plan(plan, request, catalog, results, as_json=args.json)
        return ExitCode.ACCEPTED
    if request.shard is not None:
        return run_part(args, catalog, plan, request, results, earlier=earlier)
    report = run_and_report(
        catalog,
        plan,
        request,
        earlier or results,
        ui=make_ui(events=args.json),
        environ=os.environ,
        collection=compare_collection(config, evals, paths, os.environ, results),
        junit=args.junit,
    )
    _print(report, as_json=args.json)
    return report.exit_code


def tell_skipped(lacking: Sequence[str]) -> tuple[str, ...]:
    """Print which definitions are skipped on this machine, and why; returns the lines."""
    lines = tuple(f"skipped {problem}" for problem in lacking)
    sys.stderr.writelines(f"demeanor: {line}\n" for line in lines)
    return lines


def run_part(
    args: argparse.Namespace,
    catalog: Catalog,
    plan: Plan,
    request: RunRequest,
    results: Path,
    *,
    earlier: RunFolder | None = None,
) -> ExitCode:
    """Run a shard and print what it has run."""
    from demeanor.cli.interrupts import make_ui
    from demeanor.core.text.codec import encode
    from demeanor.reports.run import run_shard

    if args.junit is not None:
        raise BadInput(
            "a shard has no verdict",
            where="--junit",
            remedy="leave it out; the joined run has one: demeanor report --format junit --output FILE",
        )
    done = run_shard(catalog, plan, request, results, ui=make_ui(events=args.json), earlier=earlier)
    print(json.dumps(encode(done), indent=2) + "\n" if args.json else done.text, end="")
    return done.exit_code


def _print(report: RunReport, *, as_json: bool) -> None:
    if as_json:
        from demeanor.reports.run import json_pieces

        for piece in json_pieces(report):
            sys.stdout.write(piece)
    else:
        from demeanor.render import screen_of
        from demeanor.reports.run import terminal_report

        print(terminal_report(report, screen_of(sys.stdout)), end="")


def _cassettes(value: str | None, config: Config, option: str, *, must_exist: bool) -> str | None:
    """The folder that an option names; raises BadInput if it took a path of evals by mistake."""
    if value is None:
        return None
    folder = Path(value).resolve() if value else config.root / config.cassettes
    remedy = f"put the paths of evals first (demeanor run PATH {option}), or write {option}=DIR"
    if folder.exists() and not folder.is_dir():
        raise BadInput("is not a folder of cassettes", where=value or folder, key=option, remedy=remedy)
    if value and (any(folder.glob("*.py")) or (folder / "scenario.toml").is_file()):
        raise BadInput("is a folder of evals, not of cassettes", where=value, key=option, remedy=remedy)
    if must_exist and not folder.is_dir():
        raise BadInput(
            "there is no such folder", where=folder, key=option, remedy="record first: demeanor run --record"
        )
    if not must_exist and not can_be_written(folder):
        remedy = f"give a folder that you can write to: {option}=DIR"
        raise BadInput("no cassette can be written here", where=value or folder, key=option, remedy=remedy)
    return str(folder)


def _from_root(path: str, config: Config) -> str:
    """A path of the command line, relative to the project, so that the run can be resumed from another folder."""
    whole = Path.cwd() / path
    return str(whole.relative_to(config.root)) if whole.is_relative_to(config.root) else str(whole)


def _request(args: argparse.Namespace, config: Config) -> RunRequest:
    from demeanor.core.values.fault import parse_faults

    return request_of(
        args,
        paths=tuple(_from_root(path, config) for path in args.paths),
        trials=args.trials,
        build=builds_first(args, config),
        policy=args.policy,
        fail_fast=args.fail_fast,
        update_snapshots=args.update_snapshots,
        faults=parse_faults(args.fault, where="--fault"),
        record=_cassettes(args.record, config, "--record", must_exist=False),
        replay=_cassettes(args.replay, config, "--replay", must_exist=True),
        intervention=read_intervention(args),
    )
