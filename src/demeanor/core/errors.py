"""Every error that a person can meet.

    DemeanorError
    ├── UsageError            what was asked for can't be done as asked; exit code 2
    │   ├── BadInput          a file or table that is not what it should be (file, key, value, remedy)
    │   ├── UnknownName       a name that is not known, with the nearest one that is
    │   └── NothingToRun      no eval was left after all filters
    ├── WorldError            something outside failed; the trial is void, with a cause
    │   └── CassetteError     a replay that can't be answered
    │       ├── CassetteAbsent      there is no recording of the trial
    │       ├── CassetteUnreadable  there is one, but it can't be read
    │       └── CassetteUnmatched   it can be read, but holds no such request
    └── StoreError            what was kept can't be read or written; exit code 70
        └── StoreBusy         somebody else has been writing for too long

Each carries a slug, which is the anchor of its section in docs/errors.md.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from demeanor.core.verdict import VoidCause


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be, if any is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


class DemeanorError(Exception):
    """Base of all errors that Demeanor raises on purpose."""

    slug: ClassVar[str] = "error"


class UsageError(DemeanorError):
    """What was asked for can't be done as asked."""

    slug: ClassVar[str] = "usage"


class BadInput(UsageError):
    """A file, a table or an argument that is not what it should be."""

    slug: ClassVar[str] = "bad-input"

    def __init__(self, problem: str, *, where: Path | str, key: str | None = None, remedy: str | None = None) -> None:
        self.problem = problem
        self.where = where
        self.key = key
        self.remedy = remedy
        place = f"{where}: {key}" if key else str(where)
        super().__init__(f"{place}: {problem}" + (f"\n  → {remedy}" if remedy else ""))


class UnknownName(UsageError):
    """A name that is not known, with the nearest one that is."""

    slug: ClassVar[str] = "unknown-name"

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: Path | str | None = None) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        close = nearest(name, self.known)
        remedy = f"did you mean {close!r}?" if close else f"known: {', '.join(self.known) or '(none)'}"
        place = f"{where}: " if where else ""
        super().__init__(f"{place}unknown {kind} {name!r}\n  → {remedy}")


class NothingToRun(UsageError):
    """No eval was left after all filters."""

    slug: ClassVar[str] = "nothing-to-run"


class WorldError(DemeanorError):
    """Something outside failed while a trial ran: the trial is void with this cause."""

    slug: ClassVar[str] = "void"

    def __init__(self, cause: VoidCause, detail: str) -> None:
        self.cause = cause
        self.detail = detail
        super().__init__(f"{cause.value}: {detail}")


class CassetteError(WorldError):
    """A replay that can't be answered."""

    slug: ClassVar[str] = "cassette"

    def __init__(self, detail: str) -> None:
        from demeanor.core.verdict import VoidCause

        super().__init__(VoidCause.CASSETTE, detail)


class CassetteAbsent(CassetteError):
    """There is no recording of the trial."""

    slug: ClassVar[str] = "cassette-absent"


class CassetteUnreadable(CassetteError):
    """There is a recording, but it can't be read; it is left as it is."""

    slug: ClassVar[str] = "cassette-unreadable"


class CassetteUnmatched(CassetteError):
    """The recording can be read, but holds no such request."""

    slug: ClassVar[str] = "cassette-unmatched"


class StoreError(DemeanorError):
    """What was kept can't be read or written."""

    slug: ClassVar[str] = "store"


class StoreBusy(StoreError):
    """Somebody else has been writing for too long; what was to be written can be written later."""

    slug: ClassVar[str] = "store-busy"
