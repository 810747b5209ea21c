"""The result of an import, and helpers to read files of other tools, which are untrusted input."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from demeanor.core.values.errors import BadInput
from demeanor.core.values.record import RunInfo, RunKind
from demeanor.store.history.run_writer import PlannedCell, WrittenRecord

_MAX_BYTES = 512 * 2**20

OUTPUT_LINES = 100
"""Lines of an agent's output that are kept: as many as pattern files are searched in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportOptions:
    """What the imported files do not say."""

    kind: RunKind | None = None
    """The kind of the run; None means the default of the format."""

    subject: str | None = None
    """The subject, for formats without one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnloadedFile:
    """A test file of one report that could not be loaded, or whose set-up (`beforeAll`) failed."""

    subject: str
    """The subject of the report."""

    number: int
    """The number of the trial that the report is."""

    path: str
    """The file, as the report names it."""

    reason: str
    """The error."""

    tests: tuple[str, ...] = ()
    """The tests that other reports of the same run have of this file."""

    skipped: tuple[str, ...] = ()
    """If the file was loaded, but its set-up failed: the tests that Vitest skipped for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """A run of another tool or another machine."""

    run: RunInfo
    """The information about the run."""

    origin: str
    """The format."""

    source: Path
    """The file or folder that it was read from."""

    cells: tuple[PlannedCell, ...] = ()
    """The plan, as far as it is known."""

    records: tuple[WrittenRecord, ...] = ()
    """The attempts."""

    notes: tuple[str, ...] = field(default=())
    """Messages for the user."""

    unloaded: tuple[UnloadedFile, ...] = ()
    """Test files that could not be loaded."""


def read_bytes(path: Path) -> bytes:
    """The content of a file, up to a maximum size."""
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise BadInput(f"is too large ({size / 2**20:.0f} MB)", where=path, remedy="split it")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", where=path) from None


def read_json(path: Path, content: bytes | None = None) -> Any:
    """The content of a JSON file; an error names the line."""
    try:
        return json.loads(read_bytes(path) if content is None else content)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"is not valid JSON: {error}", where=path, remedy="if it is incomplete, download it again"
        ) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"is not valid JSON: {type(error).__name__}", where=path) from None


def expect(data: Any, kind: type | tuple[type, ...], path: Path, key: str) -> Any:
    """The value if it has the right type, else an error that names its key."""
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        expected = kind.__name__ if isinstance(kind, type) else " or ".join(type_.__name__ for type_ in kind)
        raise BadInput(
            f"expected {expected}, found {type(data).__name__}",
            where=path,
            key=key,
            remedy="the file is damaged, or of another format than it seems",
        )
    return data


def as_text(value: Any) -> str:
    """The value as text; anything but a string becomes JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def as_number(value: Any) -> float | None:
    """The value if it is a number, else None."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_integer(value: Any) -> int | None:
    """The value if it is an integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def iso_time(value: Any) -> str | None:
    """A time in ISO 8601, UTC, from such a text or from milliseconds since 1970; None if it is neither."""
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value)
            when = when if when.tzinfo else when.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            when = datetime.fromtimestamp(value / 1000, UTC)
        else:
            return None
        return when.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return None


def seconds_between(start: Any, end: Any) -> float:
    """The time between two moments; 0 if one is unknown."""
    first, last = iso_time(start), iso_time(end)
    if first is None or last is None:
        return 0.0
    return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())


def import_uid(*parts: str | bytes) -> str:
    """A hash that identifies an imported run, so that importing it again adds nothing."""
    hashed = sha256()
    for part in parts:
        hashed.update(part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part)
        hashed.update(b"\n")
    return hashed.hexdigest()[:16]


def imported_run(
    origin: str, *, started: str, uid: str, kind: RunKind, commit: str | None = None, dirty: bool | None = None
) -> RunInfo:
    """The information about an imported run; its name is the same wherever it is imported."""
    name = f"{origin}-{started[:19].replace(':', '-')}-{uid[:5]}"
    return RunInfo(id=name, started=started, uid=uid, kind=kind, commit=commit, dirty=dirty)


def cells_of(
    records: Iterable[WrittenRecord], skipped: Iterable[PlannedCell] = (), *, layer: int = 2
) -> tuple[PlannedCell, ...]:
    """The cells of some attempts, and the skipped cells without attempts."""
    numbers: dict[tuple[str, str], set[int]] = {}
    for record in records:
        numbers.setdefault((record.record.eval, record.record.subject), set()).add(record.record.number)
    tried = [PlannedCell(eval=e, subject=s, planned=len(number), layer=layer) for (e, s), number in numbers.items()]
    untried = {(cell.eval, cell.subject): cell for cell in skipped if (cell.eval, cell.subject) not in numbers}
    return (*tried, *untried.values())
