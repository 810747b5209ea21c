"""Wait for edits, and start one process per edit: a new process imports the edited evals afresh."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import TextIO

from demeanor.cli import load_config, log, make_ui, request_of
from demeanor.commands.rejudge.render import rejudgement_text
from demeanor.commands.rejudge.report import RejudgedTrial
from demeanor.commands.rejudge.workflow import RejudgeOptions, judge_again, make_report
from demeanor.config import Config
from demeanor.core.installation import install_extra
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.errors import BadInput, DemeanorError, UnknownName, UsageError
from demeanor.core.values.eval import Eval
from demeanor.render import screen_of
from demeanor.reports.run import run_and_report, terminal_report
from demeanor.results import StoredRun, runs_with_eval
from demeanor.runner import Catalog, collect_evals, eval_paths, plan_evals, select_evals

_WAIT_MS = 300
"""How long one call of the watcher waits for an edit."""


def watch(config: Config, args: argparse.Namespace, log: TextIO) -> None:
    """Judge the stored trials of edited evals until Ctrl-C, SIGTERM or SIGHUP."""
    paths = [Path(path.partition("::")[0]).resolve() for path in eval_paths(config, args.paths)]
    for path in paths:
        if not path.exists():
            raise BadInput("there is no such file or folder", where=path, remedy="name the evals to watch")
    _require_evals(config, args, log)
    left = args.budget.usd
    with _ends_on_signals(), suppress(KeyboardInterrupt):
        for files in _edits(config, args, paths, log):
            left = _in_a_process(Edit(files=tuple(files), args=args, budget_usd=left))


def _require_evals(config: Config, args: argparse.Namespace, log: TextIO) -> None:
    """Refuse options that select no eval. A file that can't be read is only reported: an edit may repair it."""
    try:
        evals = collect_evals(config, args.paths)
    except DemeanorError as error:
        log.write(f"demeanor: {error}\n")
        return
    select_evals(evals, request_of(args, policy="all"))


def _edits(config: Config, args: argparse.Namespace, paths: Sequence[Path], log: TextIO) -> Iterator[list[Path]]:
    """Yield the files of each edit, without those that runs write, and say when the first edit will be noticed."""
    try:
        import watchfiles
    except ImportError as error:
        raise UsageError(f"--watch needs a package: {error}\n  → {install_extra('watch')}") from None
    written = (args.results or config.root / config.results, config.root / config.cassettes)
    ignored = [str(folder.resolve()) for folder in written]
    chosen = watchfiles.DefaultFilter(ignore_paths=ignored)
    # A program that saves a file by renaming replaces it, so the folder is watched rather than the file.
    watched = {path if path.is_dir() else path.parent for path in paths}
    settings = [config.file] if config.file is not None else []
    ready = False
    for changes in watchfiles.watch(
        *watched, *settings, watch_filter=chosen, rust_timeout=_WAIT_MS, yield_on_timeout=True
    ):
        if not ready:
            log.write(f"demeanor: watching {', '.join(map(_shown, paths))}; Ctrl-C stops\n")
            log.flush()
            ready = True
        files = sorted({Path(name) for _, name in changes})
        # Editors write temporary files beside the file, which are gone by now.
        files = [file for file in files if file.exists()] or files
        if changed := [file for file in files if _is_watched(file, [*paths, *settings])]:
            yield changed


def _is_watched(file: Path, paths: Sequence[Path]) -> bool:
    return any(file == path or path in file.parents for path in paths)


def _in_a_process(edit: Edit) -> float | None:
    """Handle one edit in a new process, and return what is left of the budget."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=handle_edit, args=(edit, sender))
    process.start()
    sender.close()
    try:
        left: float | None = receiver.recv()
    except EOFError:  # it crashed, and has printed why; what it spent is unknown, so nothing more may be spent
        left = None if edit.budget_usd is None else 0.0
    except KeyboardInterrupt:
        _stop(process)
        raise
    process.join()
    return left


def _stop(process: BaseProcess) -> None:
    """Let a run end its agents. A second Ctrl-C forces it."""
    while process.is_alive():
        process.terminate()
        with suppress(KeyboardInterrupt):
            process.join()


@contextmanager
def _ends_on_signals() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C for the duration of the block."""

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


# One edit, in a process of its own: judge the stored trials of the edited evals, and run what can't be judged.


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
