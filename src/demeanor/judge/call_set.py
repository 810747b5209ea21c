"""Some tool calls of a trial, as far as they are certain: truth, number, items. calls_view.py adds the filters.

A view has calls that certainly belong to it, and calls that possibly do, such as a program whose effects are unknown.
If the trajectory is incomplete, others may be missing. A view answers only what the certain calls prove, and raises
Unknowable otherwise: see unknowable.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Self, overload

from demeanor.core.values.trajectory import Called
from demeanor.judge.call_context import CallContext, Position, Possible
from demeanor.judge.call_matching import Match
from demeanor.judge.shown_calls import shown_call
from demeanor.judge.unknowable import UncertainCount, unknowable

_MAX_REASONS = 3


class NoSuchCall(AssertionError):
    """There is no call at the requested index."""


class CallSet:
    """Some of a trial's tool calls, in order."""

    def __init__(
        self,
        seen: Iterable[Called],
        *,
        gaps: tuple[str, ...] = (),
        title: str = "calls",
        possible: Iterable[Possible] = (),
        context: CallContext | None = None,
        kinds: frozenset[str] | None = None,
        settled: bool = True,
    ) -> None:
        """`settled` is False if, because of gaps, it is uncertain whether the recorded calls belong to this view."""
        self.seen = tuple(seen)
        """The calls that certainly belong to this view."""
        self.possible = tuple(possible)
        """The recorded calls that may belong to it, each with the reason."""
        self.gaps = gaps
        """Why calls may be missing; empty if all were recorded."""
        self._title = title
        self._settled = settled
        self._kinds = kinds
        self._context = context or CallContext({id(call): index for index, call in enumerate(self.seen)})

    def count(self) -> int:
        """The number of calls; if there may be others, a number that compares only if the result is certain."""
        self._ask("how many")
        self._context.last_asked = self
        if self._complete:
            return len(self.seen)
        most = None if self.gaps else len(self.seen) + len(self.possible)
        return UncertainCount(len(self.seen), self._reasons, most=most)

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, in the order of the calls."""
        return tuple(call.tool for call in self)

    def __bool__(self) -> bool:
        self._ask("whether there are any")
        self._context.last_asked = self
        if not self.seen and not self._complete:
            raise unknowable(f"that there are no {self._title}", self._reasons)
        return bool(self.seen)

    def __len__(self) -> int:
        if not self._complete:
            raise unknowable(f"how many {self._title} there are (.count() may be enough)", self._reasons)
        self._context.last_asked = self
        return len(self.seen)

    def __iter__(self) -> Iterator[Called]:
        self._ask("which")
        yield from self.seen
        if not self._complete:
            raise unknowable(f"that these are all {self._title}", self._reasons)

    def __contains__(self, call: object) -> bool:
        return any(call == called for called in self)

    @overload
    def __getitem__(self, index: int) -> Called: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Called, ...]: ...
    def __getitem__(self, index: int | slice) -> Called | tuple[Called, ...]:
        self._ask("which is where")
        if isinstance(index, slice):
            return tuple(self)[index]
        recorded = [*self._recorded()]
        if -len(recorded) <= index < len(recorded):
            passed = recorded[: index + 1] if index >= 0 else recorded[index:]
            if all(reason is None for _, reason in passed):
                return recorded[index][0]
        if not self._complete:
            raise unknowable(f"the call at index {index} of the {self._title}", self._reasons)
        raise NoSuchCall(f"there is no call at index {index}: {self!r}")

    def __repr__(self) -> str:
        return f"<{self._title}: {self._members}>"

    @property
    def _members(self) -> str:
        """The first calls, as they would be written."""
        shown = [shown_call(call) for call in self.seen[:10]]
        if len(self.seen) > len(shown):
            shown.append(f"… {len(self.seen) - len(shown)} more")
        shown += [f"perhaps {shown_call(possible.call)}" for possible in self.possible[:_MAX_REASONS]]
        if self.gaps:
            shown.append("perhaps more")
        return ", ".join(shown) or "none"

    @property
    def _complete(self) -> bool:
        return not self.gaps and not self.possible

    @property
    def _reasons(self) -> tuple[str, ...]:
        """Why the members are uncertain."""
        reasons = tuple(dict.fromkeys((*self.gaps, *(possible.reason for possible in self.possible))))
        if len(reasons) > _MAX_REASONS:
            reasons = (*reasons[:_MAX_REASONS], f"and {len(reasons) - _MAX_REASONS} more")
        return reasons

    def _recorded(self) -> list[tuple[Called, str | None]]:
        """The recorded calls in order, each with the reason why it is uncertain, or None."""
        pairs = [
            *((call, None) for call in self.seen),
            *((possible.call, possible.reason) for possible in self.possible),
        ]
        return sorted(pairs, key=lambda pair: self._context.order[id(pair[0])])

    def _decided(self, match: Callable[[Called], Match]) -> tuple[list[Called], list[Possible]]:
        """The calls that match, and those that possibly do."""
        kept: list[Called] = []
        possible: list[Possible] = []
        for call, reason in self._recorded():
            answer = match(call)
            if answer is True and reason is None:
                kept.append(call)
            elif answer is not False:
                possible.append(Possible(call, reason or str(answer)))
        return kept, possible

    def _narrow(self, match: Callable[[Called], Match], title: str) -> Self:
        kept, possible = self._decided(match)
        return self._view(kept, title, gaps=self.gaps, possible=possible)

    def _uncertain_view(
        self, kept: Iterable[Called], title: str, gaps: tuple[str, ...], possible: Iterable[Possible]
    ) -> Self:
        """A view whose members depend on calls that may be missing."""
        return self._view(kept, title, gaps=gaps, possible=possible, settled=self._settled and not gaps)

    def _view(
        self,
        kept: Iterable[Called],
        title: str,
        *,
        gaps: tuple[str, ...],
        possible: Iterable[Possible] = (),
        settled: bool | None = None,
    ) -> Self:
        sure, title = self._settled if settled is None else settled, f"{self._title} {title}"
        return type(self)(
            kept, gaps=gaps, title=title, possible=possible, context=self._context, kinds=self._kinds, settled=sure
        )

    def _gaps_with(self, other: CallSet | Called) -> tuple[str, ...]:
        return self.gaps if isinstance(other, Called) else tuple(dict.fromkeys((*self.gaps, *other.gaps)))

    def _position(self, call: Called, *, first: bool) -> Position:
        """The position of the first or last effect that this view is about."""
        effects = self._context.facts(call).effects
        steps = [effect.step for effect in (effects.of(self._kinds) if self._kinds else effects.known)]
        steps = steps or ([part.step for part in effects.unclear] if self._kinds else []) or [0]
        return self._context.order[id(call)], min(steps) if first else max(steps)

    def _positions(self, other: CallSet | Called, *, first: bool) -> tuple[list[Position], list[Position]]:
        """The positions of the certain and of the possible calls of `other`."""
        if isinstance(other, Called):
            return [(self._context.order[id(other)], float("-inf") if first else float("inf"))], []
        certain = [other._position(call, first=first) for call in other.seen]
        return certain, [
            position for possible in other.possible for position in other._unclear_positions(possible.call)
        ]

    def _all_positions(self) -> list[Position]:
        """Where the certain and the possible calls begin."""
        certain = [self._position(call, first=True) for call in self.seen]
        return [
            *certain,
            *(position for possible in self.possible for position in self._unclear_positions(possible.call)),
        ]

    def _unclear_positions(self, call: Called) -> list[Position]:
        steps = [part.step for part in self._context.facts(call).effects.unclear]
        return [(self._context.order[id(call)], step) for step in steps or [0]]

    def _ask(self, question: str) -> None:
        if not self._settled:
            raise unknowable(f"{question} {self._title}", self.gaps)


@dataclass(frozen=True, slots=True)
class AskedCalls:
    """The view that a failing assert is about, in words."""

    title: str
    """Which calls, such as `calls of kind edit with path='a.txt'`."""

    members: str
    """The first of them, as they would be written."""

    number: int
    """How many certainly belong to it."""


def last_asked(calls: CallSet) -> AskedCalls | None:
    """The view of a trial that was last asked whether it has calls, or how many; `calls` is any view of the trial."""
    view = calls._context.last_asked
    return AskedCalls(view._title, view._members, len(view.seen)) if view is not None else None
