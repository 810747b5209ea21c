"""Checks the store: the history, runs that are missing in it, and the store of published captures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from demeanor.config import Config
from demeanor.core.text.wording import count
from demeanor.core.values.errors import DemeanorError
from demeanor.store.captures import open_capture_store, read_start
from demeanor.store.history import history_address, inspect_history
from demeanor.store.runs import PENDING


def check_store(config: Config, environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield what was checked, what was found, and the problem; the latter is empty if it works."""
    try:
        yield "store", _history(config, environ), ""
    except DemeanorError as error:
        yield "store", "", str(error)
    results = config.root / config.results
    pending = sorted(marker.parent.name for marker in results.glob(f"*/{PENDING}"))
    if pending:
        yield "store", "", f"not in the history: {', '.join(pending)}\n  → demeanor store import {results}"
    if config.captures:
        try:
            yield "captures", _captures(config), ""
        except DemeanorError as error:
            yield "captures", "", str(error)


def _history(config: Config, environ: Mapping[str, str]) -> str:
    """The number of runs. A check changes nothing: the first run creates the tables."""
    history = inspect_history(history_address(config, environ))
    if history.empty:
        return f"{history.label}: empty; the first run creates the tables"
    latest = f"; the latest is {history.latest}" if history.latest else ""
    waiting = f"; the next run applies {count(history.missing, 'migration')}" if history.missing else ""
    return f"{history.label}: {count(history.runs, 'run')}{latest}{waiting}"


def _captures(config: Config) -> str:
    captures = open_capture_store(config)
    read_start("0" * 64, captures=captures)  # does not exist, but the store must be able to say so
    return config.captures
