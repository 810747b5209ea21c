"""One run as a folder that people and tools can read, written while the trials run.

    <run>/run.json                      the run (id, start, arguments, commit) and the plan
    <run>/build.log                     the output of the project's build command, if it has one
    <run>/ledger.jsonl                  one line per attempt, appended when it ends: the authoritative record
    <run>/captures.jsonl.gz             the raw capture of every attempt, one compressed line each (`zcat` reads it)
    <run>/judge_answers.jsonl           what judges answered when the run was judged again, if they were asked
    <run>/starts/<hash>.jsonl.gz        each starting state of a workspace, once; captures contain only changes
    <run>/<eval>/<subject>/trial-N.log  the verdict, and what the agent printed
    <run>/<eval>/<subject>/trial-N/     trajectory.jsonl, workspace.diff; logs/ with the native logs of a Harbor task
    <run>/<eval>/<subject>/workspace-trial-N/     what a failed trial left

A later attempt is in `trial-N/` under the same names: `attempt-2.log`, `attempt-2/`, `workspace-attempt-2/`.
Creating a file takes longer than many attempts, so an empty trajectory or diff is not written. The ledger line of an
attempt is written with one `write`, after all its other files, so `kill -9` loses at most the attempts that were
running. An incomplete last line (full disk, power failure) is removed when the run is resumed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import stat
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demeanor.core.text.codec import decode, encode
from demeanor.core.text.wording import printable, slug
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.trees.tree import Tree, changes, is_git, unified_diff
from demeanor.core.trees.tree_io import tree_path_problem
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError, UsageError
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.trajectory import Event, Trajectory
from demeanor.core.values.verdict import Fail
from demeanor.store.captures.capture_file import CaptureFile, append_whole
from demeanor.store.captures.document import capture_json, content_hash
from demeanor.store.captures.starting_states import StartingStates
from demeanor.store.runs.inert_names import inert_path
from demeanor.store.runs.ledger import LEDGER, count_lines, drop_incomplete_line, ledger_line, read_ledger

if TYPE_CHECKING:
    from demeanor.core.values.trial import Plan

RUN_FILE = "run.json"
CALL_LOGS = "logs"
SCHEMA = "demeanor-run/1"


class RunFolder:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes: tuple[str, ...] = ()
        self._ledger: int | None = None
        self._users = 0
        self._lock = threading.Lock()
        self._records: tuple[tuple[int, int, int], tuple[Record, ...]] | None = None
        self._captures = CaptureFile(folder / "captures.jsonl.gz")
        self.starts = StartingStates(folder)

    def begin(self, run: RunInfo, plan: Plan) -> None:
        """Write run.json and open the ledger. Resuming a run with other options updates request and plan."""
        refuse_shared_folders(plan)
        try:
            self._begin(run, plan)
        except OSError as error:
            raise StoreError(f"{self.folder}: can't store the run here: {error.strerror}") from error

    def _begin(self, run: RunInfo, plan: Plan) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / RUN_FILE
        if not path.exists() or (self._users == 0 and self.info().arguments != run.arguments):
            cells = [
                {
                    "eval": cell.eval.name,
                    "subject": str(cell.subject),
                    "policy": cell.eval.policy.value,
                    "layer": cell.layer,
                    "trials": len(cell.trials),
                    "skipped": cell.skipped,
                    **({} if cell.whole is None else {"whole": cell.whole, "numbers": [t.number for t in cell.trials]}),
                }
                for cell in plan.cells
            ]
            write_atomically(path, json.dumps({"schema": SCHEMA, "run": encode(run), "cells": cells}, indent=2) + "\n")
        with self._lock:
            self._users += 1
            if self._ledger is None:
                self._ledger = _open_ledger(self.folder / LEDGER)

    def info(self) -> RunInfo:
        """The information about the run."""
        try:
            info = decode(RunInfo, self._run_json()["run"])
            datetime.fromisoformat(info.started)
            if tree_path_problem(info.id) or "/" in info.id:
                raise ValueError(f"{info.id!r} is not the name of a run")  # noqa: TRY301 - like an error of decode
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._damaged(error) from None
        return info

    def _damaged(self, error: object) -> StoreError:
        return _unreadable(self.folder / RUN_FILE, error)

    def _run_json(self) -> Mapping[str, Any]:
        path = self.folder / RUN_FILE
        try:
            data: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
            if data.get("schema") != SCHEMA:
                raise StoreError(f"{path}: written by another version of Demeanor ({data.get('schema')!r})")
            return data
        except OSError as error:
            raise StoreError(f"{self.folder} is not a run: {error.strerror}: {path.name}") from None
        except (ValueError, AttributeError, RecursionError) as error:
            raise self._damaged(error) from None

    def records(self, *, evals: Collection[str] = ()) -> tuple[Record, ...]:
        """All stored attempts, in the order in which they ended; only those of `evals`, if any are named."""
        path = self.folder / LEDGER
        if not path.exists():
            return ()
        now = path.stat()
        state = (now.st_ino, now.st_size, now.st_mtime_ns)
        if self._records is not None and self._records[0] == state and not evals:
            return self._records[1]
        if evals:
            return tuple(read_ledger(path, evals=evals))
        records = tuple(read_ledger(path))
        self._records = (state, records)  # a run reads them several times at its end
        return records

    def count(self) -> int:
        """The number of stored attempts."""
        path = self.folder / LEDGER
        return count_lines(path) if path.exists() else 0

    def events(self, record: Record) -> tuple[Event, ...]:
        """The events of a stored attempt."""
        path = self.folder / record.folder / "trajectory.jsonl"
        if not record.steps:
            return ()
        try:
            events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            return decode(Trajectory, {"events": events}).events
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise _unreadable(path, error) from None

    def cells(self) -> tuple[Mapping[str, Any], ...]:
        """The plan in run.json: `eval`, `subject`, `policy`, `layer`, `trials` and `skipped` of each cell; in a shard
        also the `numbers` of its trials, and the number of trials in the `whole` run."""
        try:
            return tuple(map(_cell, self._run_json().get("cells", ())))
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(f"cells: {error!r}") from None

    def packed_capture(self, record: Record) -> bytes | None:
        """The compressed capture of an attempt; None if it is not in this folder."""
        if record.capture is None or not self._captures.path.is_file():
            return None
        return self._captures.packed(record.capture)

    def append(self, record: Record, capture: Capture, evidence: Evidence) -> Record:
        """Store one judged attempt; when this returns, a crash of Demeanor can't lose it."""
        if self._ledger is None:
            raise StoreError(f"{self.folder}: begin() was not called")
        if not os.fstat(self._ledger).st_nlink:
            raise StoreError(f"{self.folder}: the run's folder was removed while it ran; its attempts can't be stored")
        text = capture_json(capture, start="" if capture.breakdown else self.starts.keep(capture.before))
        stored = replace(
            record,
            folder=self._write_attempt(record, capture, evidence),
            steps=len(evidence.trajectory.events),
            capture=self._captures.append(text),
            capture_hash=content_hash(text),
        )
        self._append(stored)
        return stored

    def refer(self, record: Record) -> None:
        """Store the record of an attempt whose files are in another folder."""
        self._append(record)

    def take_over(self, attempts: Sequence[tuple[RunFolder, Record]]) -> None:
        """Copy attempts from the folders of shards of this run, with all that is stored of them."""
        for shard in reversed(dict.fromkeys(shard for shard, _ in attempts)):
            ignore = partial(_not_of_trials, shard.folder)
            shutil.copytree(shard.folder, self.folder, ignore=ignore, dirs_exist_ok=True)
        for shard, record in attempts:
            packed = shard.packed_capture(record)
            position = None if packed is None else self._captures.append_packed(packed)
            self._append(replace(record, folder=_attempt_folder(record), capture=position))

    def _append(self, record: Record) -> None:
        line = ledger_line(record)
        with self._lock:
            if self._ledger is None:
                raise StoreError(f"{self.folder}: begin() was not called")
            append_whole(self._ledger, line)

    def close(self) -> None:
        """Flush the ledger to disk and close it, once close() was called as often as begin()."""
        with self._lock:
            self._users -= 1
            if self._users > 0 or self._ledger is None:
                return
            os.fsync(self._ledger)
            os.close(self._ledger)
            self._ledger = None
            self._captures.close()

    def _write_attempt(self, record: Record, capture: Capture, evidence: Evidence) -> str:
        """Write the folder of an attempt; returns its name."""
        name = _attempt_folder(record)
        folder = os.path.join(self.folder, name)  # noqa: PTH118 - pathlib costs a millisecond per attempt
        _make_folder(folder)
        _write(f"{folder}.log", "".join(_log(record, capture)).encode("utf-8", "backslashreplace"))
        events = "".join(json.dumps(encode(event)) + "\n" for event in evidence.trajectory.events)
        if events:
            _write(f"{folder}/trajectory.jsonl", events.encode())
        diff = unified_diff(changes(evidence.before, evidence.after))
        if diff:
            _write(f"{folder}/workspace.diff", diff.encode("utf-8", "replace"))
        if isinstance(record.verdict, Fail):
            _keep_workspace(evidence.after, Path(folder))
        for path, file in capture.task_files.items():
            _write_task_log(Path(folder, "logs"), path, file.text)
        return name


def _attempt_folder(record: Record) -> str:
    """The folder of an attempt within that of its run."""
    name = f"{_cell_folder(record.eval, record.subject)}/trial-{record.number}"
    return f"{name}/attempt-{record.attempt}" if record.attempt > 1 else name


def _not_of_trials(run: Path, folder: str, names: list[str]) -> list[str]:
    """The files of a run that belong to no trial, and links: a machine that someone else controls may have made it."""
    modes = {name: (Path(folder) / name).lstat().st_mode for name in names}
    kept = {name for name, mode in modes.items() if stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and Path(folder) != run)}
    return [name for name in names if name not in kept]


def _keep_workspace(after: Tree, trial: Path) -> None:
    """Write what a trial left beside its folder; if that is nothing, a file says so."""
    folder = trial.with_name(f"workspace-{trial.name}")
    restore(after, folder)
    if not folder.is_dir() or not any(folder.iterdir()):
        folder.mkdir(exist_ok=True)
        (folder / "EMPTY").write_text("The trial left no file in its workspace.\n", "utf-8")


def log_file(trial: Path) -> Path:
    """The file with what the agent printed, of the folder of an attempt."""
    return trial.with_name(f"{trial.name}.log")


def _write_task_log(folder: Path, path: str, text: str) -> None:
    """Write a log as text, never outside its folder, under a name that no program runs by itself."""
    kept = inert_path(path)
    if kept is not None and tree_path_problem(path) is None:
        target = folder / kept
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8", "backslashreplace")


def _cell(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A cell of run.json, whose values have their types; raises ValueError, KeyError or TypeError."""
    names = data["eval"], data["subject"], *(() if data["skipped"] is None else (data["skipped"],))
    numbers = data["layer"], data["trials"], data.get("whole", 0), *data.get("numbers", ())
    Policy(data["policy"])
    if not all(isinstance(name, str) for name in names) or not all(type(n) is int and 0 <= n < 2**31 for n in numbers):
        raise ValueError(f"invalid values: {data}")
    return data


def _cell_folder(name: str, subject: str) -> str:
    return f"{slug(name)}/{slug(subject)}"


def refuse_shared_folders(plan: Plan) -> None:
    """Refuse cells that would overwrite each other, because their names differ only in characters that a slug drops."""
    taken: dict[str, str] = {}
    for cell in plan.cells:
        folder = _cell_folder(cell.eval.name, str(cell.subject)).lower()
        other = taken.setdefault(folder, cell.id)
        if other != cell.id:
            raise UsageError(f"{cell.id!r} and {other!r} would have the same folder\n  → rename one of them")


def restore(tree: Tree, folder: Path) -> None:
    """Write a tree as files that no program runs by itself, without `.git`. Symbolic links become text files, so that
    none leads out of the folder. A file whose path is too long here is left out.
    """
    for path, entry in tree.entries.items():
        content = entry.read() if entry.kind == "file" else f"(link to {entry.target})".encode()
        kept = inert_path(path)
        if entry.kind == "other" or content is None or is_git(path) or kept is None or tree_path_problem(path):
            continue
        target = folder / kept
        try:
            if entry.kind == "folder":
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            continue
        if entry.executable:
            target.chmod(0o755)


def _make_folder(folder: str) -> None:
    try:
        os.mkdir(folder)  # noqa: PTH102 - the folder of the cell is there, except for its first trial
    except FileExistsError:
        return
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103


def _write(path: str, content: bytes) -> None:
    """Write a file with as few system calls as possible, because every attempt has some."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(file, left) :]
    finally:
        os.close(file)


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
        for name, output in (("stdout", end.stdout), ("stderr", end.stderr)):
            if output.total_bytes:
                yield f"### {name} ({output.total_bytes} bytes)\n{printable(output.text)}\n"
        if not end.stdout.total_bytes and not end.stderr.total_bytes:
            yield "no output\n"


def _open_ledger(path: Path) -> int:
    """Open and lock the ledger for appending, and remove an incomplete last line."""
    ledger = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(ledger, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(ledger)
        raise StoreError(
            f"{path}: another Demeanor process is writing this run\n  → wait for it or stop it, then resume"
        ) from None
    drop_incomplete_line(ledger)
    return ledger


def is_call_log(path: Path) -> bool:
    """Whether a file is one that `write_call_log` writes."""
    return path.parent.name == CALL_LOGS and path.match("*.trial-*.log")


def write_call_log(source: Path, record: Record) -> Path:
    """Write the verdict and call chain of a trial to `logs/` beside the eval's source, for evals with `log=True`.

    A link in a stranger's repository is not followed: the agent has a say in what is written.
    """
    folder = source.parent / CALL_LOGS
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link, and the logs of calls are not written through it\n  → make it a folder")
    folder.mkdir(exist_ok=True)
    path = folder / f"{slug(record.eval)}.{slug(record.subject)}.trial-{record.number}.log"
    write_atomically(path, f"{record.verdict.outcome}\n{record.chain}\n")
    return path


def _unreadable(path: Path, error: object) -> StoreError:
    problem = "can't be read" if isinstance(error, OSError) else "is damaged"
    return StoreError(f"{path}: {problem}: {error}\n  → restore the file, or remove the run")
