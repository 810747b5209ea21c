"""Wait for edits, and start one process per edit: a new process imports the edited evals afresh."""

from __future__ import annotations

import argparse
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import TextIO

from demeanor.cli import request_of
from demeanor.commands.rejudge.one_edit import Edit, handle_edit
from demeanor.config import Config
from demeanor.core.installation import install_extra
from demeanor.core.values.errors import BadInput, DemeanorError, UsageError
from demeanor.runner import collect_evals, eval_paths, select_evals

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
