"""Labels of people about the trials of an eval: from `demeanor trace --label`, or from a CSV file."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.values.errors import BadInput
from demeanor.core.values.notes import TrialNote
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Void

_COLUMNS = ("trial", "label")


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """What people say about a trial."""

    run: str
    """The name of the run."""

    subject: str
    """The subject, as `agent:model`."""

    number: int
    """The trial within its cell."""

    good: bool | None
    """Whether the agent behaved well; None if that follows from the verdict and `verdict_right`."""

    verdict_right: bool | None = None
    """Whether the verdict is right; None if `good` is known."""

    def is_good(self, record: Record) -> bool | None:
        """Whether the agent behaved well; None for a void trial, unless the label says it."""
        if self.good is not None:
            return self.good
        if isinstance(record.verdict, Void):
            return None
        return (record.verdict.outcome == "pass") is self.verdict_right

    def held_out(self, name: str) -> bool:
        """Whether it belongs to the held-out half: always the same one, drawn by a hash."""
        text = f"{name}/{self.run}/{self.subject}/{self.number}"
        return hashlib.sha256(text.encode()).digest()[0] % 2 == 0


def labels_of_notes(notes: Iterable[TrialNote]) -> Iterator[Label]:
    """The newest usable note of each trial: `real` says that the verdict is right, `eval-bug` that it is wrong."""
    seen: set[tuple[str, str, int]] = set()
    for note in notes:
        key = (note.run, note.subject, note.number)
        if note.label in {"real", "eval-bug"} and key not in seen:
            seen.add(key)
            yield Label(
                run=note.run,
                subject=note.subject,
                number=note.number,
                good=None,
                verdict_right=note.label == "real",
            )


def labels_of_file(path: Path, name: str, latest: str) -> Iterator[Label]:
    """The labels in a CSV file with the columns `trial` (EVAL/SUBJECT/N), `label` (good or bad) and, optionally, `run`.

    Trials of other evals are skipped; `latest` is the run of rows that name none.
    """
    try:
        rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"can't be read: {error}", where=path) from None
    for line, row in enumerate(rows, 2):
        missing = [column for column in _COLUMNS if not row.get(column)]
        if missing:
            raise BadInput(
                f"line {line} has no {missing[0]}", where=path, remedy="the columns are trial, label and run"
            )
        eval_, _, rest = row["trial"].partition("/")
        subject, _, number = rest.rpartition("/")
        if row["label"] not in {"good", "bad"}:
            raise BadInput(f"line {line}: unknown label {row['label']!r}", where=path, remedy="write good or bad")
        if not subject or not number.isdigit():
            raise BadInput(f"line {line}: {row['trial']!r} is not a trial", where=path, remedy="write EVAL/SUBJECT/N")
        if eval_ == name:
            run = row.get("run") or latest
            yield Label(run=run, subject=subject, number=int(number), good=row["label"] == "good")
