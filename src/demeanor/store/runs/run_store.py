"""A run that is kept in its folder and, as its trials end, in the history.

The folder comes first: when an attempt is kept there it can't be lost. The history is written behind it by a thread of
its own, many attempts in one transaction, so that a slow or locked database holds up no trial and voids none. What
could not be written while the run went on is written when it ends, or by `demeanor import` later.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from demeanor.core.capture import Capture
from demeanor.core.errors import StoreBusy, StoreError
from demeanor.core.evidence import Evidence
from demeanor.core.record import Record, RunInfo
from demeanor.core.trial import Plan
from demeanor.store.captures.capture_store import CaptureStore, publish
from demeanor.store.history.connect import open_database
from demeanor.store.history.database import Database
from demeanor.store.history.rows import usage
from demeanor.store.history.writing import RunWriter, WrittenRecord, planned_cells
from demeanor.store.runs.run_folder import RunFolder
from demeanor.store.runs.sync import catch_up

_GATHER = 0.25
"""Seconds to wait for more attempts before a transaction: a run of many short trials needs few of them."""


class RunStore:
    """The keep of one run: its folder, and the history behind it."""

    def __init__(self, run: RunFolder, place: str, *, vault: CaptureStore | None = None, patience: float = 5.0) -> None:
        """`patience`: seconds to wait for somebody else who is writing into the history."""
        self.run = run
        self.notes: tuple[str, ...] = ()
        """What a person should know of what could not be written."""
        self._place = place
        self._vault = vault
        self._patience = patience
        self._database: Database | None = None
        self._writer: RunWriter | None = None
        self._queue: queue.SimpleQueue[WrittenRecord | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._failed = False

    @property
    def folder(self) -> Path:
        """Where the run is kept."""
        return self.run.folder

    def records(self) -> tuple[Record, ...]:
        """What was kept already, in order."""
        return self.run.records()

    def begin(self, run: RunInfo, plan: Plan) -> None:
        """Note what is going to be run. A history that can't be used is an error now, before anything is spent."""
        try:
            self._database = open_database(self._place, patience=self._patience)
            self._writer = RunWriter(self._database, run, source=str(self.folder))
            self._writer.write(planned_cells(plan), ())
        except StoreBusy:
            self._writer = None  # somebody else is writing; there is time until the run ends
        except StoreError:
            with suppress(OSError):  # a run that never began leaves no folder; one that is resumed has its own
                self.folder.rmdir()
            raise
        try:
            self.run.begin(run, plan)
        except BaseException:
            if self._database is not None:
                self._database.close()
            raise
        if self._writer is not None:
            self._thread = threading.Thread(target=self._work, args=(self._writer,), name="history", daemon=True)
            self._thread.start()

    def append(self, record: Record, capture: Capture, evidence: Evidence) -> Record:
        """Keep one judged attempt; when this returns, a crash can't lose it."""
        kept = self.run.append(record, capture, evidence)
        self._queue.put(WrittenRecord(record=kept, usages=tuple(usage(one) for one in capture.exchanges)))
        return kept

    def close(self) -> None:
        """Make everything durable, catch up with what the history lacks, and publish the captures."""
        self.run.close()
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
        try:
            self._try("the history lacks a part of this run", self._catch_up)
            if self._vault is not None:
                vault = self._vault
                self._try("captures were not published", lambda: publish(vault, self.run, self.run.records()))
        finally:
            if self._database is not None:
                self._database.close()

    def _catch_up(self) -> None:
        if self._database is not None and self._failed:
            self._database.close()  # a server that went away may be back
            self._database = None
        if self._database is None:
            self._database = open_database(self._place, patience=self._patience)
        catch_up(self._database, self.run)

    def _try(self, what: str, work: Callable[[], object]) -> None:
        """The run is kept in its folder, so whatever fails here fails nothing."""
        try:
            work()
        except StoreError as error:
            first, _, _ = str(error).partition("\n")
            self.notes += (f"{what}: {first}; → demeanor import {self.folder}",)

    def _work(self, writer: RunWriter) -> None:
        """Write what comes, as much as there is at once, until there is no more to come."""
        waiting: list[WrittenRecord] = []
        more = True
        while more:
            more = self._gather(waiting)
            try:
                writer.write((), waiting)
                waiting.clear()
            except StoreError:
                self._failed = True  # it stays in the list, and in the ledger

    def _gather(self, waiting: list[WrittenRecord]) -> bool:
        """Wait for an attempt and for some more after it; False where none will come."""
        until = None
        while True:
            try:
                found = self._queue.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
            except queue.Empty:
                return True
            if found is None:
                return False
            waiting.append(found)
            until = until or time.monotonic() + _GATHER
