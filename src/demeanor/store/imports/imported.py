"""What every import comes to, and how files that others wrote are read: strictly, and as hostile as they may be."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from demeanor.core.errors import BadInput
from demeanor.core.record import RunInfo, RunKind
from demeanor.store.history.writing import PlannedCell, WrittenRecord

_MOST_BYTES = 512 * 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportOptions:
    """What the files don't say."""

    kind: RunKind | None = None
    """Why it was run; None means the format's own guess."""

    subject: str | None = None
    """The subject, where the format names none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """A run that somebody else made."""

    run: RunInfo
    """Who ran what."""

    origin: str
    """The format."""

    source: Path
    """Where it was read."""

    cells: tuple[PlannedCell, ...] = ()
    """The plan, as far as it can be told."""

    kept: tuple[WrittenRecord, ...] = ()
    """The attempts."""

    notes: tuple[str, ...] = field(default=())
    """What a person should know of it."""


def read_bytes(path: Path) -> bytes:
    """A file's content, unless it is far too large."""
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise BadInput(f"is too large ({size / 2**20:.0f} MB)", where=path, remedy="split it")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", where=path) from None


def read_json(path: Path, content: bytes | None = None) -> Any:
    """A JSON file; what is wrong with it is told with its line."""
    try:
        return json.loads(read_bytes(path) if content is None else content)
    except json.JSONDecodeError as error:
        raise BadInput(f"is no JSON: {error}", where=path, remedy="is it cut off? fetch it again") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"is no JSON: {type(error).__name__}", where=path) from None


def expect(data: Any, kind: type | tuple[type, ...], path: Path, key: str) -> Any:
    """A value of the right type, or an error that names its place."""
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        wanted = kind.__name__ if isinstance(kind, type) else " or ".join(one.__name__ for one in kind)
        raise BadInput(
            f"expected {wanted}, found {type(data).__name__}",
            where=path,
            key=key,
            remedy="this is not the format that it looks like",
        )
    return data


def text(value: Any) -> str:
    """Whatever stands where a text should."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def number(value: Any) -> float | None:
    """A number, if it is one."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def whole(value: Any) -> int | None:
    """A whole number, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def moment(value: Any) -> str | None:
    """A time as ISO 8601 in UTC: from such a text, or from milliseconds since 1970."""
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
    """How long something took; 0 where nobody says."""
    first, last = moment(start), moment(end)
    if first is None or last is None:
        return 0.0
    return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())


def uid(*parts: str | bytes) -> str:
    """Sixteen hex digits by which the same import is known again."""
    hashed = sha256()
    for part in parts:
        hashed.update(part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part)
        hashed.update(b"\n")
    return hashed.hexdigest()[:16]


def run_name(origin: str, started: str) -> str:
    """What people will call an imported run."""
    return f"{origin}-{started[:19].replace(':', '-')}"


def planned(kept: Iterable[WrittenRecord], skipped: Iterable[PlannedCell] = ()) -> tuple[PlannedCell, ...]:
    """The cells of some attempts, and of those that were skipped and nowhere tried."""
    numbers: dict[tuple[str, str], set[int]] = {}
    for one in kept:
        numbers.setdefault((one.record.eval, one.record.subject), set()).add(one.record.number)
    tried = [PlannedCell(eval=e, subject=s, planned=len(found)) for (e, s), found in numbers.items()]
    left = {(cell.eval, cell.subject): cell for cell in skipped if (cell.eval, cell.subject) not in numbers}
    return (*tried, *left.values())
