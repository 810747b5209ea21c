"""Opens the history of a project, and stores decisions in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from demeanor.config import Config
from demeanor.core.values.errors import StoreUnavailable, UnknownName
from demeanor.core.values.history import KeptDecision
from demeanor.store.history import MEMORY, SqlHistory, history_address, open_history
from demeanor.store.runs import RunFolder, find_run, sync_run


def open_project_history(
    config: Config, environ: Mapping[str, str], *, results: Path | None = None, reading: bool = True
) -> SqlHistory:
    """The history of the project, wherever it is stored. Opening it only for reading creates no file."""
    return open_history(history_address(config, environ, results), reading=reading)


def open_history_of(name: str, config: Config, environ: Mapping[str, str], results: Path) -> SqlHistory:
    """A history that has a run of this name: of its folder, or else that of the project."""
    try:
        run = find_run(results, name)
    except UnknownName:
        return open_project_history(config, environ, results=results)
    return history_of_run(run)


def history_of_run(run: RunFolder) -> SqlHistory:
    """A history in memory that contains only the run of a folder."""
    history = open_history(str(MEMORY), reading=True)
    sync_run(history.database, run)
    return history


def keep_decisions(
    config: Config, environ: Mapping[str, str], results: Path, decisions: Iterable[KeptDecision]
) -> tuple[str, ...]:
    """Store decisions in the history, and tell the hooks. If the history is unavailable, or a hook fails, the returned
    notes say so: the trials were run already, and their result must not be lost."""
    from demeanor.runner import tell_decisions

    decisions = tuple(decisions)
    notes = tell_decisions(decisions)
    try:
        with open_project_history(config, environ, results=results, reading=False) as history:
            for decision in decisions:
                history.add_decision(decision)
    except StoreUnavailable as error:
        return (*notes, f"the decision is not in the history: {str(error).partition(chr(10))[0]}")
    return notes
