"""How far a run is, read from its ledger while another process writes it.

The ledger is the first place where an attempt is recorded: the history follows, or not at all while its database is
unavailable.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.text.codec import decode, encode
from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record
from demeanor.core.values.usage import RunningTotal
from demeanor.store.runs.ledger import LEDGER, read_record
from demeanor.store.runs.run_dirs import list_runs

_LOCKS = Path("/proc/locks")
_RUNNING = "running.json"
_NEWEST = 8
"""Folders that are looked at: as many runs may be in progress at the same time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerProgress:
    """What a ledger contains so far."""

    outcomes: tuple[str, ...]
    """The outcome of every trial that has ended: `pass`, `fail` or `void`."""

    spent: Spent
    """What all attempts used."""

    unpriced: int
    """Attempts of unknown cost."""

    uncounted: int
    """Attempts whose tokens are not known in full."""

    last: tuple[Record, ...]
    """The attempts that ended last, the newest first. Much of it is hostile text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningTrial:
    """A trial that a run is making now."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject."""

    number: int
    """The trial's number within its cell."""

    attempt: int
    """1, 2, 3 …"""

    began: str
    """When the attempt began: ISO 8601, UTC."""

    step: str = ""
    """What its model asked for last. Hostile text."""


def write_running(run: Path, trials: Sequence[RunningTrial]) -> None:
    """Write what a run is making now, for pages about it; without trials, the file is removed."""
    path, new = run / _RUNNING, run / f".{_RUNNING}.new"
    if not trials:
        path.unlink(missing_ok=True)
        return
    new.write_text(json.dumps(encode(tuple(trials))), "utf-8")
    new.replace(path)


def read_running(run: Path) -> tuple[RunningTrial, ...]:
    """What a run is making now, as far as it says so."""
    try:
        return decode(tuple[RunningTrial, ...], json.loads((run / _RUNNING).read_text("utf-8")))
    except (OSError, ValueError):
        return ()  # it has ended, or another version of Demeanor writes it


def stop_run(run: Path) -> bool:
    """Ask the process that writes a run to end it, as Ctrl-C does; False if none of this user and machine writes it."""
    owner = _owner(run) or 0
    try:
        if owner > 0:
            os.kill(owner, signal.SIGINT)
    except OSError:  # it has just ended, or belongs to another user
        return False
    return owner > 0


class LedgerReader:
    """Reads a growing ledger; each time only what was added since. Used by several threads."""

    def __init__(self, folder: Path, *, keep: int = 20) -> None:
        self._path = folder / LEDGER
        self._lock = threading.Lock()
        self._offset = self._lines = 0
        self._outcomes: dict[str, str] = {}
        self._total = RunningTotal()
        self._last: deque[Record] = deque(maxlen=keep)

    def read(self) -> LedgerProgress:
        """The progress up to now; raises StoreError if a line can't be read."""
        with self._lock:
            for record in self._added():
                self._add(record)
            spent, unpriced, uncounted = self._total.value
            return LedgerProgress(
                outcomes=tuple(self._outcomes.values()),
                spent=spent,
                unpriced=unpriced,
                uncounted=uncounted,
                last=tuple(reversed(self._last)),
            )

    def _added(self) -> Iterable[Record]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                *lines, _incomplete = file.read().split(b"\n")
        except FileNotFoundError:
            return
        for line in lines:
            record = read_record(self._path, self._lines + 1, line)
            self._lines += 1
            self._offset += len(line) + 1
            yield record

    def _add(self, record: Record) -> None:
        if record.final:
            self._outcomes[record.trial] = record.verdict.outcome
        self._last.append(record)
        self._total.add(record.spent)


def is_being_written(run: Path) -> bool | None:
    """Whether a process holds the lock of a run's ledger; None where the system does not tell.

    Trying to lock the ledger would answer too, but could make a run that is just starting fail.
    """
    owner = _owner(run)
    return None if owner is None else owner != 0


def _owner(run: Path) -> int | None:
    """The process that holds the lock of a run's ledger: -1 for one of another container or machine, 0 if none does,
    None where the system does not tell."""
    try:
        inode = (run / LEDGER).stat().st_ino
        lines = [line.split() for line in _LOCKS.read_text("ascii").splitlines() if "FLOCK" in line]
    except OSError:
        return None
    owners = [int(line[4]) for line in lines if len(line) > 5 and line[5].endswith(f":{inode}")]
    if not owners:
        return 0
    return owners[0] if owners[0] > 0 else -1


def runs_in_progress(results: Path) -> tuple[Path, ...]:
    """The folders of runs that a process on this machine is writing now, the newest first."""
    return tuple(path for path in reversed(list_runs(results)[-_NEWEST:]) if is_being_written(path))


def ledgers_state(results: Path) -> str:
    """A text that changes when a run in `results` begins, or when an attempt is added to one of the newest."""
    sizes = []
    for folder in list_runs(results)[-_NEWEST:]:
        try:
            sizes.append(f"{folder.name}:{(folder / LEDGER).stat().st_size}")
        except OSError:
            sizes.append(folder.name)
    return ",".join(sizes)
