"""Stores a run in its folder and in the history.

The folder is written first: an attempt that is stored there can't be lost. A thread writes the history, many attempts
per transaction, so a slow or locked database neither delays nor voids a trial. Attempts that could not be written
during the run are written when it ends, by the next run in the same results folder, or by `demeanor store import`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError, StoreUnavailable
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.trial import Plan
from demeanor.store.captures.capture_store import CaptureStore, publish
from demeanor.store.history.connect import open_database
from demeanor.store.history.database import Database
from demeanor.store.history.rows import usage
from demeanor.store.history.run_writer import RunWriter, WrittenRecord, planned_cells
from demeanor.store.runs.run_dirs import address_of
from demeanor.store.runs.run_folder import RunFolder
from demeanor.store.runs.sync import PENDING, sync_pending, sync_run

_BATCH_SECONDS = 0.25
"""Seconds to collect attempts before a transaction, so that many short trials need few transactions."""

_CACHE_KIB = 2048
"""Memory for pages of the history. A run only appends, so a larger cache would grow with the run and be of no use."""

_MOST_WAITING = 1000
"""How many attempts wait in memory for a history that is not available; more are left to the end of the run."""


class RunStore:
    """Stores one run: in its folder, and in the history."""

    def __init__(
        self, run: RunFolder, address: str, *, captures: CaptureStore | None = None, timeout: float = 5.0
    ) -> None:
        """`address`: of the history. `timeout`: seconds to wait for another writer of the history."""
        self.run = run
        self.notes: tuple[str, ...] = ()
        """Messages for the user about what could not be written."""
        self._address = address
        self._captures = captures
        self._timeout = timeout
        self._database: Database | None = None
        self._writer: RunWriter | None = None
        self._queue: SimpleQueue[WrittenRecord | None] = SimpleQueue()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._waiting: list[WrittenRecord] = []
        self._failed = False

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.run.folder

    def records(self) -> tuple[Record, ...]:
        """The stored attempts, in order."""
        return self.run.records()

    def begin(self, run: RunInfo, plan: Plan) -> None:
        """Start the run, even if the history is unavailable. One that can't be used at all, such as that of a newer
        version, is an error now, before the run costs anything."""
        try:
            self._database = open_database(self._address, timeout=self._timeout, cache_kib=_CACHE_KIB)
            self._writer = RunWriter(self._database, run, source=address_of(self.folder))
            self._writer.write(planned_cells(plan), ())
        except StoreUnavailable:
            self._writer = None  # it is tried again when the run ends
        try:
            self.run.begin(run, plan)
        except BaseException:
            if self._database is not None:
                self._database.close()
            raise
        if self._writer is None:
            self._mark_pending()
        else:
            self._thread = threading.Thread(
                target=self._write_batches, args=(self._writer,), name="history", daemon=True
            )
            self._thread.start()

    def append(self, record: Record, capture: Capture, evidence: Evidence) -> Record:
        """Store one judged attempt; when this returns, a crash can't lose it."""
        stored = self.run.append(record, capture, evidence)
        self._queue.put(WrittenRecord(record=stored, usages=tuple(usage(exchange) for exchange in capture.exchanges)))
        return stored

    def close(self) -> None:
        """Close the folder, write what is missing in the history, and publish the captures."""
        self.run.close()
        self._queue.put(None)
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        try:
            if self._try("the history is missing a part of this run", self._sync):
                self._try("the history is missing a part of an earlier run", self._catch_up)
            else:
                self._mark_pending()
            if self._captures is not None:
                captures = self._captures
                self._try("captures were not published", lambda: publish(captures, self.run, self.run.records()))
        finally:
            if self._database is not None:
                self._database.close()

    def _sync(self) -> None:
        if self._database is not None and self._failed:
            self._database.close()  # reconnect: the server may be back
            self._database = None
        if self._database is None:
            self._database = open_database(self._address, timeout=self._timeout, cache_kib=_CACHE_KIB)
        sync_run(self._database, self.run)
        (self.folder / PENDING).unlink(missing_ok=True)

    def _mark_pending(self) -> None:
        with suppress(OSError):  # a note says that the run is missing; the mark only lets the next run add it
            (self.folder / PENDING).touch()

    def _catch_up(self) -> None:
        """Write earlier runs that could not be written when they ended."""
        if self._database is not None and (names := sync_pending(self._database, self.folder.parent)):
            self.notes += (f"added to the history, which was not available when they ran: {', '.join(names)}",)

    def _try(self, what: str, work: Callable[[], object]) -> bool:
        """Whether something was done that may fail: the run is safe in its folder, so a failure is only a note."""
        try:
            work()
        except StoreError as error:
            first, _, _ = str(error).partition("\n")
            self.notes += (f"{what}: {first}; → demeanor store import {self.folder}",)
            return False
        return True

    def _write_batches(self, writer: RunWriter) -> None:
        """Write attempts to the history in batches, until the end of the run, which is None in the queue."""
        waiting, more = self._waiting, True
        while more:
            batch = [self._queue.get()]
            self._ended.wait(_BATCH_SECONDS)
            with suppress(Empty):
                while True:
                    batch.append(self._queue.get_nowait())
            more = None not in batch
            waiting += [written for written in batch if written is not None]
            del batch  # it would stay in memory until the next one
            try:
                writer.write((), waiting)
                waiting.clear()
            except StoreError:
                self._failed = True
                if len(waiting) > _MOST_WAITING:
                    waiting.clear()  # they are in the ledger, which is compared with the history at the end
