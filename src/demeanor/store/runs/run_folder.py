"""One run kept as a folder that people and tools can read, written as the trials end.

    <run>/run.json                      who ran what, when; the plan
    <run>/ledger.jsonl                  one line per attempt, appended as it ends: the truth
    <run>/captures.jsonl.gz             the raw capture of every attempt, one compressed line each (`zcat` reads it)
    <run>/starts/<hash>.jsonl.gz        each state that workspaces started from, once; captures hold what changed
    <run>/<eval>/<subject>/trial-N/     log.txt, trajectory.jsonl, workspace.diff; workspace/ where it failed;
                                        logs/ with the native logs of a Harbor task

To make a file costs more than many an agent's work, so an empty trajectory or difference is not written. A line of the
ledger is written with one `write` after everything else of its attempt, so that `kill -9` loses at most the attempts
that were running. Half a line at the end (a full disk, a lost machine) is cut off when the run is resumed.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from demeanor.core.capture import Capture
from demeanor.core.codec import DecodeError, decode, encode
from demeanor.core.errors import StoreError, UsageError
from demeanor.core.evidence import Evidence
from demeanor.core.record import Record, RunInfo
from demeanor.core.text import printable, slug
from demeanor.core.trajectory import Event, Trajectory
from demeanor.core.tree import Tree, changes, is_git, unified_diff
from demeanor.core.tree_io import tree_path_problem
from demeanor.core.trial import Plan
from demeanor.core.verdict import Fail
from demeanor.store.captures.capture_file import CaptureFile, append_whole
from demeanor.store.captures.capture_json import capture_json, content_hash
from demeanor.store.captures.starting_states import StartingStates

RUN_FILE = "run.json"
LEDGER = "ledger.jsonl"
SCHEMA = "demeanor-run/1"


class RunFolder:
    """The keep of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: tuple[str, ...] = ()
        self._ledger: int | None = None
        self._users = 0
        self._turn = threading.Lock()
        self._captures = CaptureFile(folder / "captures.jsonl.gz")
        self.starts = StartingStates(folder)

    def begin(self, run: RunInfo, plan: Plan) -> None:
        """Note what is going to be run. A run that was begun before keeps its first note."""
        _refuse_shared_folders(plan)
        try:
            self._begin(run, plan)
        except OSError as error:
            raise StoreError(f"{self.folder}: the run can't be kept here: {error.strerror}") from error

    def _begin(self, run: RunInfo, plan: Plan) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / RUN_FILE
        if not path.exists():
            cells = [
                {
                    "eval": cell.eval.name,
                    "subject": str(cell.subject),
                    "policy": cell.eval.policy.value,
                    "trials": len(cell.trials),
                    "skipped": cell.skipped,
                }
                for cell in plan.cells
            ]
            write_whole(path, json.dumps({"schema": SCHEMA, "run": encode(run), "cells": cells}, indent=2) + "\n")
        with self._turn:
            self._users += 1
            if self._ledger is None:
                self._ledger = _open_ledger(self.folder / LEDGER)

    def info(self) -> RunInfo:
        """Who ran what."""
        try:
            return decode(RunInfo, self._note()["run"])
        except (ValueError, KeyError) as error:
            raise StoreError(f"{self.folder / RUN_FILE}: can't be read: {error}") from None

    def _note(self) -> Mapping[str, Any]:
        path = self.folder / RUN_FILE
        try:
            data: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
            if data.get("schema") != SCHEMA:
                raise StoreError(f"{path}: written by another version of Demeanor ({data.get('schema')!r})")
            return data
        except OSError as error:
            raise StoreError(f"{self.folder} is no run: {error.strerror}: {path.name}") from None
        except (ValueError, AttributeError) as error:
            raise StoreError(f"{path}: can't be read: {error}") from None

    def records(self) -> tuple[Record, ...]:
        """Every attempt that was kept, in the order in which they ended."""
        path = self.folder / LEDGER
        if not path.exists():
            return ()
        *lines, last = path.read_bytes().split(b"\n")
        del last  # nothing, or half a line that was being written when the machine went down
        return tuple(_read_record(path, number, line) for number, line in enumerate(lines, 1))

    def count(self) -> int:
        """How many attempts were kept."""
        path = self.folder / LEDGER
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def events(self, record: Record) -> tuple[Event, ...]:
        """What happened in an attempt that was kept."""
        path = self.folder / record.folder / "trajectory.jsonl"
        if not record.steps:
            return ()
        try:
            events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            return decode(Trajectory, {"events": events}).events
        except (OSError, ValueError) as error:
            raise StoreError(f"{path}: can't be read: {error}") from None

    def cells(self) -> tuple[Mapping[str, Any], ...]:
        """The plan as it was noted: `eval`, `subject`, `policy`, `trials` and `skipped` of each cell."""
        return tuple(self._note().get("cells", ()))

    def packed_capture(self, record: Record) -> bytes | None:
        """An attempt's capture as it lies in this folder, compressed; None where it does not."""
        if record.capture is None or not self._captures.path.is_file():
            return None
        return self._captures.packed(record.capture)

    def append(self, record: Record, capture: Capture, evidence: Evidence) -> Record:
        """Keep one judged attempt; when this returns, a crash of Demeanor can't lose it."""
        if self._ledger is None:
            raise StoreError(f"{self.folder}: the run was not begun")
        if not os.fstat(self._ledger).st_nlink:
            raise StoreError(f"{self.folder}: the run's folder was removed while it ran; nothing more is kept")
        text = capture_json(capture, start="" if capture.breakdown else self.starts.keep(capture.before))
        kept = replace(
            record,
            folder=self._leave(record, capture, evidence),
            steps=len(evidence.trajectory.events),
            capture=self._captures.append(text),
            capture_hash=content_hash(text),
        )
        self._note_down(kept)
        return kept

    def refer(self, record: Record) -> None:
        """Keep the record of an attempt whose leavings lie elsewhere."""
        self._note_down(record)

    def _note_down(self, record: Record) -> None:
        line = json.dumps(encode(record)).encode() + b"\n"
        with self._turn:
            if self._ledger is None:
                raise StoreError(f"{self.folder}: the run was not begun")
            append_whole(self._ledger, line)

    def close(self) -> None:
        """Make what was kept durable, and close the ledger when everybody who began the run is done."""
        with self._turn:
            self._users -= 1
            if self._users > 0 or self._ledger is None:
                return
            os.fsync(self._ledger)
            os.close(self._ledger)
            self._ledger = None
            self._captures.close()

    def _leave(self, record: Record, capture: Capture, evidence: Evidence) -> str:
        """Write the attempt's folder and give its name."""
        name = f"{_cell_folder(record.eval, record.subject)}/trial-{record.number}"
        if record.attempt > 1:
            name += f"/attempt-{record.attempt}"
        folder = os.path.join(self.folder, name)  # noqa: PTH118 - once per attempt, where pathlib costs a millisecond
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        _write(folder, "log.txt", "".join(_log(record, capture)).encode("utf-8", "backslashreplace"))
        events = "".join(json.dumps(encode(event)) + "\n" for event in evidence.trajectory.events)
        if events:
            _write(folder, "trajectory.jsonl", events.encode())
        difference = unified_diff(changes(evidence.before, evidence.after))
        if difference:
            _write(folder, "workspace.diff", difference.encode("utf-8", "replace"))
        if isinstance(record.verdict, Fail):
            restore(evidence.after, Path(folder, "workspace"))
        for path, left in capture.task_files.items():
            _leave_log(Path(folder, "logs"), path, left.text)
        return name


def _leave_log(folder: Path, path: str, text: str) -> None:
    """Write a log as text, never out of its folder."""
    if tree_path_problem(path) is None:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8", "backslashreplace")


def _cell_folder(name: str, subject: str) -> str:
    return f"{slug(name)}/{slug(subject)}"


def _refuse_shared_folders(plan: Plan) -> None:
    """Two cells whose names differ only in signs that no folder's name can hold would overwrite each other."""
    taken: dict[str, str] = {}
    for cell in plan.cells:
        folder = _cell_folder(cell.eval.name, str(cell.subject)).lower()
        other = taken.setdefault(folder, cell.id)
        if other != cell.id:
            raise UsageError(f"{cell.id!r} and {other!r} would be kept in the same folder\n  → rename one of them")


def restore(tree: Tree, folder: Path) -> None:
    """Lay a tree out as files, `.git` left out. Links are written down as text: none leads out."""
    for path, entry in tree.entries.items():
        content = entry.read() if entry.kind == "file" else f"(link to {entry.target})".encode()
        if entry.kind == "other" or content is None or is_git(path):
            continue
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        if entry.executable:
            place.chmod(0o755)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_text(text, "utf-8")
    half.replace(path)


def _write(folder: str, name: str, content: bytes) -> None:
    with open(f"{folder}/{name}", "wb", buffering=0) as file:  # noqa: PTH123
        file.write(content)


def _log(record: Record, capture: Capture) -> Iterator[str]:
    yield f"# {record.trial}, attempt {record.attempt}\n"
    yield f"verdict: {record.verdict.outcome}\n"
    yield f"seconds: {capture.seconds:.3f}\n"
    for finding in record.verdict.findings:
        yield f"[{finding.answer}] {finding.check}\n"
        if finding.answer != "yes":
            yield "".join(f"    {line}\n" for line in printable(finding.reason).splitlines())
    for note in record.notes:
        yield f"note: {note}\n"
    for number, end in enumerate(capture.ends, 1):
        how = f"signal {end.signal}" if end.signal is not None else f"exit code {end.exit_code}"
        yield f"\n## process {number}: {how}, ended by {end.ended_by}, {end.seconds:.3f} s\n"
        yield f"### stdout ({end.stdout.total_bytes} bytes)\n{printable(end.stdout.text)}\n"
        yield f"### stderr ({end.stderr.total_bytes} bytes)\n{printable(end.stderr.text)}\n"


def _open_ledger(path: Path) -> int:
    """Open for appending, for one writer at a time; half a line at the end is cut off first."""
    ledger = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(ledger, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(ledger)
        raise StoreError(
            f"{path}: another Demeanor is writing this run\n  → let it end, or stop it; then resume"
        ) from None
    size = os.fstat(ledger).st_size
    whole = path.read_bytes().rfind(b"\n") + 1
    if whole < size:
        os.ftruncate(ledger, whole)
    return ledger


def _read_record(path: Path, number: int, line: bytes) -> Record:
    try:
        data: Any = json.loads(line)
        return decode(Record, data)
    except (DecodeError, ValueError) as error:
        raise StoreError(f"{path}: line {number} can't be read: {error}\n  → remove the line, or the run") from None
