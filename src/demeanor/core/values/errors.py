"""Every error that a user can meet.

    DemeanorError
    ├── UsageError            the command or its input is invalid; exit code 2
    │   ├── BadInput          an invalid file, table or argument (file, key, value, remedy)
    │   ├── UnknownName       an unknown name, with the nearest known one
    │   └── NothingToRun      no eval is left after filtering
    ├── WorldError            something outside Demeanor failed; the trial is void with a cause
    │   └── CassetteError     a replay has no answer to a request
    │       ├── CassetteAbsent      the trial was not recorded
    │       ├── CassetteUnreadable  the recording can't be read
    │       └── CassetteUnmatched   the recording has no such request
    └── StoreError            the store can't be read or written; exit code 70
        └── StoreUnavailable  the database is locked or can't be reached

Each class has a slug: the anchor of its section in docs/errors.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from demeanor.core.values.verdict import VoidCause


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """The known name that is closest to `name`, if any is close enough."""
    import difflib

    close = difflib.get_close_matches(name, list(choices), n=1, cutoff=0.6)
    return close[0] if close else None


def surely_meant(word: str, choices: Iterable[str]) -> str | None:
    """The known word or option that was surely meant, because few letters differ; None if none was."""
    import difflib

    names = {name.lstrip("-"): name for name in choices}
    plain = word.lstrip("-")
    close = [name for name in names if sorted(name) == sorted(plain)]
    close += difflib.get_close_matches(plain, names, n=1, cutoff=0.8)
    close += [name for name in names if plain.startswith(f"{name}-")]
    longer = [name for name in names if name.startswith(plain)]
    if len(longer) == 1:
        close += longer
    return names[close[0]] if close else None


def did_you_mean(name: str, choices: Iterable[str], otherwise: str) -> str:
    """The remedy for an unknown name: the known name that was probably meant, or `otherwise`."""
    close = nearest(name, choices)
    return f"did you mean {close!r}?" if close else otherwise


class DemeanorError(Exception):
    """Base of all errors that Demeanor raises on purpose."""

    slug: ClassVar[str] = "error"


class UsageError(DemeanorError):
    """The command or its input is invalid."""

    slug: ClassVar[str] = "usage"


class BadInput(UsageError):
    """An invalid file, table or argument."""

    slug: ClassVar[str] = "bad-input"

    def __init__(self, problem: str, *, where: Path | str, key: str | None = None, remedy: str | None = None) -> None:
        self.problem = problem
        self.where = where
        self.key = key
        self.remedy = remedy
        place = f"{where}: {key}" if key else str(where)
        super().__init__(f"{place}: {problem}" + (f"\n  → {remedy}" if remedy else ""))


class Unusable(BadInput):
    """Evals that can't be read on this machine: a package, a variable or a file of cases is missing."""


class UnknownName(UsageError):
    """An unknown name, with the nearest known one."""

    slug: ClassVar[str] = "unknown-name"

    def __init__(
        self, kind: str, name: str, choices: Iterable[str], *, where: Path | str | None = None, hint: str = ""
    ) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(choices))
        remedy = did_you_mean(name, self.known, _known(kind, self.known))
        self.without_place = f"unknown {kind} {name!r}\n  → {remedy}" + (f"\n  → {hint}" if hint else "")
        """The message without the file or store that was searched."""
        super().__init__(f"{where}: {self.without_place}" if where else self.without_place)


_MOST_KNOWN = 20
"""Known names that a message lists, at most."""


def _known(kind: str, choices: Sequence[str]) -> str:
    """The known names, or how to get the first one."""
    if choices:
        more = f" and {len(choices) - _MOST_KNOWN} more" if len(choices) > _MOST_KNOWN else ""
        return f"known: {', '.join(choices[:_MOST_KNOWN])}{more}"
    if "run" in kind.split():
        return "there is no run yet; `demeanor run` or `demeanor nightly` starts the first"
    return f"there is no {kind} yet"


class NothingToRun(UsageError):
    """No eval is left after filtering."""

    slug: ClassVar[str] = "nothing-to-run"


class WorldError(DemeanorError):
    """Something outside Demeanor failed during a trial, which is void with this cause."""

    slug: ClassVar[str] = "void"

    def __init__(self, cause: VoidCause, detail: str) -> None:
        self.cause = cause
        self.detail = detail
        super().__init__(f"{cause.value}: {detail}")


class CassetteError(WorldError):
    """A replay has no answer to a request."""

    slug: ClassVar[str] = "cassette"

    def __init__(self, detail: str) -> None:
        from demeanor.core.values.verdict import VoidCause

        super().__init__(VoidCause.CASSETTE, detail)


class CassetteAbsent(CassetteError):
    """The trial was not recorded."""

    slug: ClassVar[str] = "cassette-absent"


class CassetteUnreadable(CassetteError):
    """The recording can't be read; it is not modified."""

    slug: ClassVar[str] = "cassette-unreadable"


class CassetteUnmatched(CassetteError):
    """The recording has no such request."""

    slug: ClassVar[str] = "cassette-unmatched"


class StoreError(DemeanorError):
    """The store can't be read or written."""

    slug: ClassVar[str] = "store"


class StoreUnavailable(StoreError):
    """The database is locked by another process or can't be reached; the write can be repeated later."""

    slug: ClassVar[str] = "store-unavailable"
