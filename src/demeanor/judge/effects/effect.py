"""Values: one effect of a tool call, and all that is known about the effects of a call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.values.trajectory import Kind

Reach: TypeAlias = Literal["exact", "below", "glob"]
"""`below`: the target and everything in it; `glob`: whatever the target matches as a pattern."""

UNCERTAIN_KINDS = frozenset({Kind.READ, Kind.EDIT, Kind.DELETE, Kind.SEARCH, Kind.FETCH})
"""The kinds that a program with unknown effects may have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """One effect of a call."""

    kind: Kind
    """What it does."""

    target: str | None = None
    """The path, or for `fetch` the URL; None if the command does not say which."""

    reach: Reach = "exact"
    """How much the target stands for."""

    text: str | None = None
    """The text that is written, or the pattern that is searched for; None if unknown, empty if there is none."""

    replaces: bool = False
    """Whether another file is moved onto the target, which is then deleted if it existed."""

    step: int = 0
    """Its position within the call: a shell command can do several things in order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unclear:
    """A part of a call whose effects can't be read from it."""

    why: str
    """The reason, such as `runs python3`."""

    step: int = 0
    """Its position within the call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Effects:
    """The effects of one call."""

    known: tuple[Effect, ...] = ()
    """What it certainly does, or tries to do."""

    unclear: tuple[Unclear, ...] = ()
    """Where it may do anything."""

    def of(self, kinds: Iterable[str]) -> tuple[Effect, ...]:
        """The known effects of these kinds."""
        return tuple(effect for effect in self.known if effect.kind in set(kinds))

    def unclear_for(self, kinds: Iterable[str]) -> tuple[Unclear, ...]:
        """The unclear parts that may have an effect of these kinds."""
        return self.unclear if UNCERTAIN_KINDS & {Kind(kind) for kind in kinds} else ()
