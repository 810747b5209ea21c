"""The ledger of a run: one line per attempt, as compact JSON.

A run reads all lines at its end and keeps the records for its report. Attempts of the same cell have most of their text
in common, so equal values become one object, which takes half the memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from demeanor.core.text.codec import DecodeError, decode, encode
from demeanor.core.trees.tree_io import tree_path_problem
from demeanor.core.values.errors import StoreError
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Verdict

LEDGER = "ledger.jsonl"
_REPEATED = (
    "eval", "subject", "chain", "eval_hash", "agent_version", "prompt_hash", "fingerprint", "model_hash",
    "settings_hash",
)  # fmt: skip
"""Fields that many attempts have in common."""
_OF_REJUDGED = "../../"
"""Trials that were judged again are two folders below their run."""
_BLOCK = 2**16
"""Bytes that are read at once, because a ledger may be large."""


class SharedValues:
    """Values of the records that were read, so that equal ones become one object."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._verdicts: dict[str, Verdict] = {}

    def share(self, data: dict[str, Any]) -> None:
        """Replace values of a record's JSON data by equal ones of records that were read before."""
        for name in _REPEATED:
            if type(text := data.get(name)) is str:
                data[name] = self._texts.setdefault(text, text)
        if "verdict" in data:
            key = repr(data["verdict"])
            if key not in self._verdicts:
                verdict: Any = Verdict
                self._verdicts[key] = decode(verdict, data["verdict"], at="verdict")
            data["verdict"] = self._verdicts[key]


def ledger_line(record: Record) -> bytes:
    """An attempt as a line."""
    return json.dumps(encode(record), separators=(",", ":")).encode() + b"\n"


def read_record(path: Path, number: int, line: bytes, shared: SharedValues | None = None) -> Record:
    """The attempt in one line of a ledger."""
    try:
        data: Any = json.loads(line)
        if shared is not None and isinstance(data, dict):
            shared.share(data)
        record = decode(Record, data)
        _check(record)
    except (DecodeError, ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"{path}: line {number} is damaged: {error}\n  → remove the line, or the run") from None
    return record


def _check(record: Record) -> None:
    """Raise ValueError for values that no run has written: others may have edited a run that is read here."""
    folder = record.folder.removeprefix(_OF_REJUDGED)
    if record.number < 1 or record.attempt < 1 or record.steps < 0 or min(record.capture or (0,)) < 0:
        raise ValueError("a number is too small")
    if record.ended:
        datetime.fromisoformat(record.ended)
    if folder and (problem := tree_path_problem(folder)):
        raise ValueError(f"folder: {record.folder!r} {problem}")


def read_ledger(path: Path, *, evals: Collection[str] = ()) -> Iterator[Record]:
    """The attempts in a ledger, in order; only those of `evals`, if any are named.

    An incomplete last line, which a power failure may leave, is left out.
    """
    names = [json.dumps(name)[1:-1].encode() for name in evals]
    shared = SharedValues()
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            # Reading a record is slow, so leave out the lines that do not contain a name at all.
            if not line.endswith(b"\n") or (names and not any(name in line for name in names)):
                continue
            record = read_record(path, number, line, shared)
            if not evals or record.eval in evals:
                yield record


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise StoreError(f"{path}: can't be read: {error.strerror}\n  → restore the file, or remove the run") from None


def count_lines(path: Path) -> int:
    """The number of complete lines of a ledger."""
    with _opened(path) as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


def drop_incomplete_line(ledger: int) -> None:
    """Cut off an incomplete last line of a ledger that is open for reading and writing."""
    size = end = os.fstat(ledger).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        newline = os.pread(ledger, end - start, start).rfind(b"\n")
        end = start + newline + 1 if newline >= 0 else start
        if newline >= 0:
            break
    if end < size:
        os.ftruncate(ledger, end)
