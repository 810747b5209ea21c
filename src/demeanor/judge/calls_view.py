"""`rig.calls`: the tool calls of a trial, with filters.

A filter returns a narrower view; a view is true if it contains a call. A view has calls that certainly belong to it,
and calls that possibly do, such as a program whose effects are unknown. If the trajectory is incomplete, others may be
missing. A view answers only what the certain calls prove, and raises Unknowable otherwise: see unknowable.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, overload

from demeanor.core.errors import UnknownName
from demeanor.core.trajectory import Called, Kind
from demeanor.judge.call_chain import shown_call
from demeanor.judge.call_context import CallContext, Position, Possible
from demeanor.judge.call_matching import (
    Match,
    has_argument,
    has_kind,
    has_permission,
    has_success,
    missing_argument,
)
from demeanor.judge.effects.effect import Effect
from demeanor.judge.unknowable import UncertainCount, unknowable

_MAX_REASONS = 3


class NoSuchCall(AssertionError):
    """There is no call at the requested index."""


class Calls:
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

    def named(self, *names: str) -> Calls:
        """The calls of tools with these exact names."""
        return self._narrow(lambda call: call.tool in names, "/".join(names))

    def of_kind(self, *kinds: str) -> Calls:
        """The calls with one of these kinds: read, edit, delete, search, execute, fetch, think, other.

        A call can have several: `rm a.txt` in a shell is executed and deletes. docs/judge.md says what is certain.
        """
        known = [kind.value for kind in Kind]
        for kind in kinds:
            if kind not in known:
                raise UnknownName("kind of tool", kind, known)
        found = self._narrow(lambda call: has_kind(call, self._context.facts(call), kinds), "/".join(kinds))
        found._kinds = frozenset(kinds)  # a path is then one that is read, edited, …
        return found

    def where(
        self,
        *,
        predicate: Callable[[Called], bool] | None = None,
        path: str | re.Pattern[str] | None = None,
        **args: Any,
    ) -> Calls:
        """The calls with these arguments: equal values or, for a compiled regular expression, a match somewhere.

        `path`, `command`, `pattern`, `url`, `content`, `old` and `new` match the argument with this meaning, whatever
        its name; `./notes.txt` and `/any/where/notes.txt` match `notes.txt`. `predicate` gets the whole call.
        """
        wanted = {**({} if path is None else {"path": path}), **args}

        def fits(call: Called) -> Match:
            facts = self._context.facts(call)
            found: Match = predicate is None or bool(predicate(call))
            for name, value in wanted.items():
                one = has_argument(call, facts, self._kinds, name, value) if found else False
                found = one if one is False or found is True else found
            return found

        narrowed = self._narrow(fits, ", ".join(f"{name}={want!r}" for name, want in wanted.items()) or "chosen")
        recorded = [(call, self._context.facts(call)) for call in (*self.seen, *(one.call for one in self.possible))]
        for name in wanted if not narrowed.seen else ():
            if reason := missing_argument(recorded, name):
                more = (*(Possible(call, reason) for call in self.seen), *self.possible)
                return self._view((), f"{name}={wanted[name]!r}", possible=more, gaps=self.gaps)
        return narrowed

    def effects_of(self, call: Called) -> tuple[Effect, ...]:
        """What a call certainly does, step by step: each effect has `.kind` and `.target`."""
        return self._context.facts(call).effects.known

    def succeeded(self) -> Calls:
        """The calls that are known to have succeeded."""
        return self._narrow(lambda call: has_success(call, True), "succeeded")

    def failed(self) -> Calls:
        """The calls that are known to have failed."""
        return self._narrow(lambda call: has_success(call, False), "failed")

    def asked(self) -> Calls:
        """The calls for which the agent asked permission first, whatever the answer."""
        return self._narrow(lambda call: has_permission(call, ("allow", "deny")), "asked for")

    def denied(self) -> Calls:
        """The calls for which the agent asked permission and was denied it."""
        return self._narrow(lambda call: has_permission(call, ("deny",)), "denied")

    def unasked(self) -> Calls:
        """The calls that the agent made without asking for permission."""
        return self._narrow(lambda call: has_permission(call, ("unasked",)), "unasked")

    def by_main(self) -> Calls:
        """The calls of the agent itself, without those of its sub-agents."""
        return self._narrow(lambda call: not call.by_sub_agent, "by the agent itself")

    def by_sub_agents(self, number: int | None = None) -> Calls:
        """The calls of all sub-agents, or of the one with this number."""
        return self._narrow(lambda call: call.by_sub_agent and number in (None, call.sub_agent), "by sub-agents")

    def in_turn(self, turn: int) -> Calls:
        """The calls that the model requested in its answer number `turn`: 1, 2, 3 …"""
        return self._narrow(lambda call: call.turn == turn, f"in turn {turn}")

    def first(self, k: int) -> Calls:
        """The first `k` of these calls."""
        kept: list[Called] = []
        possible: list[Possible] = []
        certain = 0
        for recorded, (call, reason) in enumerate(self._recorded()):
            if reason is None and recorded < k:
                kept.append(call)
            elif certain < k:
                possible.append(Possible(call, reason or self.possible[0].reason))
            certain += reason is None
        return self._uncertain_view(kept, f"first {k}", self.gaps, possible)

    def before(self, other: Calls | Called) -> Calls:
        """The calls before the first of `other`; empty if `other` is. A shell command has several steps."""
        certain, perhaps = self._positions(other, first=True)

        def match(call: Called) -> Match:
            position = self._position(call, first=True)
            if certain and position < min([*certain, *perhaps]):
                return True
            return bool(certain or perhaps) and position < min(certain or [max(perhaps)]) and _reason(other)

        return self._ordered(match, "before", other)

    def after(self, other: Calls | Called) -> Calls:
        """The calls after the last of `other`; empty if `other` is. A shell command has several steps."""
        certain, perhaps = self._positions(other, first=False)

        def match(call: Called) -> Match:
            position = self._position(call, first=False)
            if certain and position > max(certain) and (not perhaps or position >= max(perhaps)):
                return True
            return bool(certain or perhaps) and position > max(certain or [min(perhaps)]) and _reason(other)

        return self._ordered(match, "after", other)

    def in_same_turn(self, other: Calls | Called) -> Calls:
        """The calls that were requested in the same turn as another call, one of `other`."""
        others = (other,) if isinstance(other, Called) else other.seen
        perhaps = () if isinstance(other, Called) else [one.call for one in other.possible]

        def together(call: Called, with_these: Iterable[Called]) -> bool:
            return any(call.turn == one.turn and call is not one for one in with_these)

        def match(call: Called) -> Match:
            return together(call, others) or (together(call, perhaps) and _reason(other))

        kept, possible = self._decided(match)
        return self._view(kept, "in the same turn", gaps=self._gaps_with(other), possible=possible)

    def in_order(self, *names: str) -> bool:
        """Whether these tools were called in this order, with any calls in between."""
        left = list(names)
        for call in self:
            if left and call.tool == left[0]:
                left.pop(0)
            if not left:
                return True
        return not left

    def count(self) -> int:
        """The number of calls; if there may be others, a number that compares only if the result is certain."""
        self._ask("how many")
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
        if not self.seen and not self._complete:
            raise unknowable(f"that there are no {self._title}", self._reasons)
        return bool(self.seen)

    def __len__(self) -> int:
        if not self._complete:
            raise unknowable(f"how many {self._title} there are (.count() may be enough)", self._reasons)
        return len(self.seen)

    def __iter__(self) -> Iterator[Called]:
        self._ask("which")
        yield from self.seen
        if not self._complete:
            raise unknowable(f"that these are all {self._title}", self._reasons)

    def __contains__(self, call: object) -> bool:
        return any(call == one for one in self)

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
            raise unknowable(f"{self._title}[{index}]", self._reasons)
        raise NoSuchCall(f"there is no {self._title}[{index}]: {self!r}")

    def __repr__(self) -> str:
        shown = [shown_call(call) for call in self.seen[:10]]
        if len(self.seen) > len(shown):
            shown.append(f"… {len(self.seen) - len(shown)} more")
        shown += [f"perhaps {shown_call(one.call)}" for one in self.possible[:_MAX_REASONS]]
        if self.gaps:
            shown.append("perhaps more")
        return f"<{self._title}: {', '.join(shown) or 'none'}>"

    @property
    def _complete(self) -> bool:
        return not self.gaps and not self.possible

    @property
    def _reasons(self) -> tuple[str, ...]:
        """Why the members are uncertain."""
        reasons = tuple(dict.fromkeys((*self.gaps, *(one.reason for one in self.possible))))
        if len(reasons) > _MAX_REASONS:
            reasons = (*reasons[:_MAX_REASONS], f"and {len(reasons) - _MAX_REASONS} more")
        return reasons

    def _recorded(self) -> list[tuple[Called, str | None]]:
        """The recorded calls in order, each with the reason why it is uncertain, or None."""
        found = [*((call, None) for call in self.seen), *((one.call, one.reason) for one in self.possible)]
        return sorted(found, key=lambda pair: self._context.order[id(pair[0])])

    def _decided(self, match: Callable[[Called], Match]) -> tuple[list[Called], list[Possible]]:
        """The calls that match, and those that possibly do."""
        kept: list[Called] = []
        possible: list[Possible] = []
        for call, reason in self._recorded():
            found = match(call)
            if found is True and reason is None:
                kept.append(call)
            elif found is not False:
                possible.append(Possible(call, reason or str(found)))
        return kept, possible

    def _narrow(self, match: Callable[[Called], Match], title: str) -> Calls:
        kept, possible = self._decided(match)
        return self._view(kept, title, gaps=self.gaps, possible=possible)

    def _uncertain_view(
        self, kept: Iterable[Called], title: str, gaps: tuple[str, ...], possible: Iterable[Possible]
    ) -> Calls:
        """A view whose members depend on calls that may be missing."""
        return self._view(kept, title, gaps=gaps, possible=possible, settled=self._settled and not gaps)

    def _ordered(self, match: Callable[[Called], Match], title: str, other: Calls | Called) -> Calls:
        kept, possible = self._decided(match)
        return self._uncertain_view(kept, title, self._gaps_with(other), possible)

    def _view(
        self,
        kept: Iterable[Called],
        title: str,
        *,
        gaps: tuple[str, ...],
        possible: Iterable[Possible] = (),
        settled: bool | None = None,
    ) -> Calls:
        sure, title = self._settled if settled is None else settled, f"{self._title} {title}"
        return Calls(
            kept, gaps=gaps, title=title, possible=possible, context=self._context, kinds=self._kinds, settled=sure
        )

    def _gaps_with(self, other: Calls | Called) -> tuple[str, ...]:
        return self.gaps if isinstance(other, Called) else tuple(dict.fromkeys((*self.gaps, *other.gaps)))

    def _position(self, call: Called, *, first: bool) -> Position:
        """The position of the first or last effect that this view is about."""
        effects = self._context.facts(call).effects
        steps = [effect.step for effect in (effects.of(self._kinds) if self._kinds else effects.known)]
        steps = steps or ([part.step for part in effects.unclear] if self._kinds else []) or [0]
        return self._context.order[id(call)], min(steps) if first else max(steps)

    def _positions(self, other: Calls | Called, *, first: bool) -> tuple[list[Position], list[Position]]:
        """The positions of the certain and of the possible calls of `other`."""
        if isinstance(other, Called):
            return [(self._context.order[id(other)], float("-inf") if first else float("inf"))], []
        certain = [other._position(call, first=first) for call in other.seen]
        return certain, [position for one in other.possible for position in other._unclear_positions(one.call)]

    def _unclear_positions(self, call: Called) -> list[Position]:
        steps = [part.step for part in self._context.facts(call).effects.unclear]
        return [(self._context.order[id(call)], step) for step in steps or [0]]

    def _ask(self, question: str) -> None:
        if not self._settled:
            raise unknowable(f"{question} {self._title}", self.gaps)


def _reason(other: Calls | Called) -> Match:
    """Why the order is uncertain."""
    return other.possible[0].reason if isinstance(other, Calls) and other.possible else True
