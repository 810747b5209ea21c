"""One edit, in a process of its own: judge the stored trials of the edited evals, and run what can't be judged."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shlex
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

from demeanor.cli import load_config, log, make_ui, request_of
from demeanor.commands.rejudge.render import rejudgement_text
from demeanor.commands.rejudge.report import RejudgedTrial
from demeanor.commands.rejudge.workflow import RejudgeOptions, judge_again, make_report
from demeanor.config import Config
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.errors import DemeanorError, UnknownName
from demeanor.core.values.eval import Eval
from demeanor.render import screen_of
from demeanor.reports.run import run_and_report, terminal_report
from demeanor.results import StoredRun, runs_with_eval
from demeanor.runner import Catalog, collect_evals, plan_evals, select_evals


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """Files that were edited at the same time, and what to do about it."""

    files: tuple[Path, ...]
    """The files, which may be deleted by now."""

    args: argparse.Namespace
    """The options of `demeanor rejudge --watch`."""

    budget_usd: float | None
    """What may still be spent; None if no agent may be started."""


def handle_edit(edit: Edit, result: Connection) -> None:
    """Handle an edit, print what was found, and send what is left of the budget.

    The process has a session of its own, so that Ctrl-C reaches only the one that watches, which then stops it. It
    stops also if that one was killed.
    """
    os.setsid()
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    left = edit.budget_usd
    try:
        left = _handle(edit)
    except DemeanorError as error:
        log(f"{error}\n  → more about this: demeanor help {error.slug}")
    except KeyboardInterrupt:
        sys.stderr.write("\n")
    result.send(left)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _stop_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _handle(edit: Edit) -> float | None:
    config = load_config(edit.args)
    results = edit.args.results or config.root / config.results
    evals = _edited(edit, config)
    if not evals:
        return edit.budget_usd
    names = ", ".join(file.name for file in edit.files[:3]) + (" …" if len(edit.files) > 3 else "")
    print(f"\n── {datetime.now():%H:%M:%S} {one_line(names)}: {count(len(evals), 'eval')}", flush=True)
    stored = _latest_runs(evals, config, results)
    trials = _judge(stored, config, edit.args)
    if trials:
        print(rejudgement_text(make_report(trials), screen_of(sys.stdout)), end="", flush=True)
    judged = {trial.before.eval for trial in trials if trial.after is not None}
    open_evals = [eval_ for eval_ in evals if eval_.name not in judged]
    if not open_evals:
        return edit.budget_usd
    if not edit.args.run:
        _say_what_to_run(open_evals, stored)
        return None
    return _run(open_evals, config, edit, results)


def _edited(edit: Edit, config: Config) -> Sequence[Eval]:
    """The selected evals that the edit may change: those defined in the files, or all if another file is among them,
    such as a helper module."""
    collected = collect_evals(config, edit.args.paths)
    selected = select_evals(collected, request_of(edit.args, policy="all"))
    if not all(any(_defines(file, eval_) for eval_ in collected) for file in edit.files):
        return selected
    return [eval_ for eval_ in selected if any(_defines(file, eval_) for file in edit.files)]


def _defines(file: Path, eval_: Eval) -> bool:
    source = eval_.source.path.resolve()
    return file == source or source in file.parents


def _latest_runs(evals: Sequence[Eval], config: Config, results: Path) -> dict[str, StoredRun]:
    """The latest run of each eval that has one, by the eval's name."""
    latest = {}
    for eval_ in evals:
        try:
            (latest[eval_.name],) = runs_with_eval(eval_.name, results, config, os.environ, last=1)
        except UnknownName:
            continue
    return latest


def _judge(stored: Mapping[str, StoredRun], config: Config, args: argparse.Namespace) -> list[RejudgedTrial]:
    """Judge the latest trials of the evals again, run by run."""
    by_run: dict[str, list[str]] = {}
    for name, run in stored.items():
        by_run.setdefault(run.name, []).append(name)
    trials: list[RejudgedTrial] = []
    for names in by_run.values():
        paths = [path.partition("::")[0] for path in args.paths]
        options = RejudgeOptions(evals=names, paths=paths, sandbox=args.sandbox)
        trials += judge_again([stored[names[0]]], config, os.environ, options)
    return trials


def _say_what_to_run(evals: Sequence[Eval], stored: Mapping[str, StoredRun]) -> None:
    never = all(eval_.name not in stored for eval_ in evals)
    what = "no trial is stored" if never else "no stored trial can be judged again"
    names = " ".join(f"--scenario {shlex.quote(eval_.name)}" for eval_ in evals[:5]) + (" …" if len(evals) > 5 else "")
    run = f"demeanor run {names}\n  → or demeanor rejudge --watch --run --budget 1usd"
    log(f"{count(len(evals), 'eval')}: {what}\n  → {run}")


def _run(evals: Sequence[Eval], config: Config, edit: Edit, results: Path) -> float | None:
    """Run evals within the budget, and return what is left of it."""
    left = edit.budget_usd
    if left is None or left <= 0:
        log(f"the budget is spent, so {count(len(evals), 'eval')} did not run")
        return left
    request = request_of(edit.args, policy="all", names=tuple(eval_.name for eval_ in evals), budget_usd=left)
    catalog = Catalog(config=config, environ=os.environ)
    plan = plan_evals(catalog, evals, request, os.environ)
    report = run_and_report(catalog, plan, request, results, ui=make_ui(quiet=False), environ=os.environ)
    print(terminal_report(report, screen_of(sys.stdout)), end="", flush=True)
    used = [record.spent for cell in report.cells for record in cell.records]
    if any(spent.cost_usd is None and spent.input_tokens for spent in used):
        return 0.0  # such as an attempt that the budget ended: its cost is unknown, so nothing more may be spent
    return left - (report.total.spent.cost_usd or 0.0)
