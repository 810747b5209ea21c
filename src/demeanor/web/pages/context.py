"""What every page of the dashboard needs: the history, the evals, the captures, and a cache."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from demeanor.config import Config
from demeanor.core.values.errors import DemeanorError, StoreError
from demeanor.core.values.eval import Eval
from demeanor.core.values.history import RunCell
from demeanor.runner import choose_evals
from demeanor.store.captures import CaptureStore, open_capture_store
from demeanor.store.history import SqlHistory, history_address, open_history, run_states
from demeanor.store.runs import LedgerProgress, LedgerReader

T = TypeVar("T")
_CACHED = 256
_SLOW = 0.5
"""Seconds from which on a value takes long to make."""

_REST = 10
"""A value that takes long is made again after this many times as long."""


@dataclass(slots=True)
class _CacheEntry:
    """A value that was made for a page."""

    value: Any = None
    state: Hashable = None
    filled: bool = False
    made: float = 0.0
    seconds: float = 0.0
    making: threading.Lock = field(default_factory=threading.Lock)

    def fresh(self, state: Hashable) -> bool:
        """Whether the value can be shown."""
        if not self.filled or self.state == state:
            return self.filled
        return self.seconds > _SLOW and time.monotonic() - self.made < _REST * self.seconds


@dataclass(slots=True)
class PageContext:
    """What every page needs. Used by several threads; each has its own connection to the history."""

    config: Config
    """The configuration of the project."""

    environ: Mapping[str, str]
    """The environment."""

    results: Path
    """The folder of the runs."""

    form_token: str = ""
    """What a form contains that writes a note; empty if notes can't be written from the browser."""

    made: int = 0
    """The number of values that were made in the background."""

    _own: threading.local = field(default_factory=threading.local)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _cache: OrderedDict[Hashable, _CacheEntry] = field(default_factory=OrderedDict)
    _ledgers: dict[Path, LedgerReader] = field(default_factory=dict)
    _evals: tuple[Mapping[str, Eval], str] | None = None

    @property
    def address(self) -> str:
        """The address of the history."""
        return history_address(self.config, self.environ, self.results)

    def history(self) -> SqlHistory:
        """The history, with the connection of this thread. A file that does not exist yet is looked for each time."""
        connection: SqlHistory | None = getattr(self._own, "history", None)
        if connection is not None:
            return connection
        opened = open_history(self.address, reading=True)
        if "://" in self.address or Path(self.address).exists():
            self._own.history = opened
        return opened

    def forget_connection(self) -> None:
        """Open a new connection with the next query: the old one may be broken."""
        connection: SqlHistory | None = getattr(self._own, "history", None)
        if connection is not None:
            self._own.history = None
            connection.close()

    def captures(self) -> CaptureStore | None:
        """The store of published captures, if there is one."""
        return open_capture_store(self.config)

    def cached(self, key: Hashable, state: Hashable, make: Callable[[], T]) -> T:
        """The value of `make`, made anew when `state` differs from last time.

        Only one thread makes it; the others wait, or take the last one. A value that takes long to make is a while old
        during a run: else every reader would have it made anew for every trial that ends.
        """
        entry = self._entry(key)
        if entry.fresh(state) or (entry.filled and entry.making.locked()):
            return entry.value  # type: ignore[no-any-return]
        with entry.making:
            if not entry.fresh(state):
                started = time.monotonic()
                entry.value = make()
                entry.made, entry.filled, entry.state = time.monotonic(), True, state
                entry.seconds = entry.made - started
            return entry.value  # type: ignore[no-any-return]

    def in_background(self, key: Hashable, state: Hashable, make: Callable[[], T]) -> T | None:
        """The last value of `make`, or None before the first: a thread of its own makes it anew when `state` differs.

        `made` counts the values made so.
        """
        entry = self._entry(key)
        if not entry.fresh(state) and not entry.making.locked():
            threading.Thread(target=self._make, args=(key, state, make), daemon=True).start()
        return entry.value  # type: ignore[no-any-return]

    def _make(self, key: Hashable, state: Hashable, make: Callable[[], Any]) -> None:
        try:
            self.cached(key, state, make)
        except StoreError as error:
            sys.stderr.write(f"demeanor: {error}\n")
        finally:
            self.forget_connection()
            self.made += 1

    def _entry(self, key: Hashable) -> _CacheEntry:
        with self._lock:
            entry = self._cache.setdefault(key, _CacheEntry())
            self._cache.move_to_end(key)
            while len(self._cache) > _CACHED:
                self._cache.popitem(last=False)
        return entry

    def state(self, runs: Sequence[str]) -> Hashable:
        """A value that changes with the attempts of some runs; counted anew only if the database has changed."""
        history = self.history()
        return self.cached(
            ("state", *runs), history.database.version(), lambda: tuple(run_states(history, runs).items())
        )

    def ledger(self, folder: Path) -> LedgerProgress:
        """How far the run in a folder is; of its ledger, only what is new is read."""
        with self._lock:
            reader = self._ledgers.setdefault(folder, LedgerReader(folder))
        return reader.read()

    def cells(self, run: str) -> tuple[RunCell, ...]:
        """The cells of a run."""
        return self.cached(("cells", run), self.state([run]), lambda: self.history().cells(run))

    def evals(self) -> tuple[Mapping[str, Eval], str]:
        """The evals of the project by name, read once, and why they could not be read, if so."""
        if self._evals is None:
            try:
                evals = choose_evals(self.config, paths=(), names=(), keyword="", suites=())
                self._evals = {eval_.name: eval_ for eval_ in evals}, ""
            except DemeanorError as error:
                self._evals = {}, str(error)
        return self._evals
