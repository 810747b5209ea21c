"""`rig.calls`: the tool calls of a trial, with filters.

A filter returns a narrower view; a view is true if it contains a call. call_set.py says what is certain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from demeanor.core.values.errors import UnknownName
from demeanor.core.values.trajectory import Called, Kind, KindName
from demeanor.judge.call_context import Position, Possible
from demeanor.judge.call_matching import (
    Match,
    has_argument,
    has_kind,
    has_permission,
    has_result,
    has_success,
    missing_argument,
)
from demeanor.judge.call_set import CallSet
from demeanor.judge.effects.effect import Effect
from demeanor.judge.shown_calls import shown_call
from demeanor.judge.unknowable import UncertainCount, unknowable


class Calls(CallSet):
    """Some of a trial's tool calls, in order."""

    def named(self, *names: str) -> Calls:
        """The calls of tools with these exact names; `github.search` is the tool `search` of the MCP server github."""
        kept, possible = self._decided(lambda call: call.tool in names or (bool(call.mcp) and call.mcp in names))
        recorded = bool(names) and all(name.partition(".")[0] in self._context.servers for name in names)
        return self._view(kept, f"of {_either(names)}", gaps=() if recorded else self.gaps, possible=possible)

    def of_kind(self, *kinds: KindName) -> Calls:
        """The calls with one of these kinds: read, edit, delete, search, execute, fetch, think, other.

        A call can have several: `rm a.txt` in a shell is executed and deletes. docs/checks.md says what is certain.
        """
        kind_names = [kind.value for kind in Kind]
        for kind in kinds:
            if kind not in kind_names:
                raise UnknownName("kind of tool", kind, kind_names)
        calls = self._narrow(lambda call: has_kind(call, self._context.facts(call), kinds), f"of kind {_either(kinds)}")
        calls._kinds = frozenset(kinds)  # a path is then one that is read, edited, …
        return calls

    def where(
        self,
        *,
        predicate: Callable[[Called], bool] | None = None,
        path: str | re.Pattern[str] | Callable[[str], bool] | None = None,
        **args: Any,
    ) -> Calls:
        """The calls with these arguments: equal, matched somewhere by a compiled pattern, or accepted by a function.

        `path`, `command`, `pattern`, `url`, `content`, `old` and `new` match the argument with this meaning, whatever
        its name; `./notes.txt` and `/any/where/notes.txt` match `notes.txt`. `predicate` gets the whole call.
        """
        arguments = {**({} if path is None else {"path": path}), **args}

        def fits(call: Called) -> Match:
            facts = self._context.facts(call)
            fits_call: Match = predicate is None or bool(predicate(call))
            for name, value in arguments.items():
                answer = has_argument(call, facts, self._kinds, name, value) if fits_call else False
                fits_call = answer if answer is False or fits_call is True else fits_call
            return fits_call

        narrowed = self._narrow(fits, _with(arguments, predicate))
        recorded = [
            (call, self._context.facts(call)) for call in (*self.seen, *(possible.call for possible in self.possible))
        ]
        for name in arguments if not narrowed.seen else ():
            if reason := missing_argument(recorded, name):
                more = (*(Possible(call, reason) for call in self.seen), *self.possible)
                return self._view((), _with({name: arguments[name]}), possible=more, gaps=self.gaps)
        return narrowed

    def effects_of(self, call: Called) -> tuple[Effect, ...]:
        """What a call certainly does, step by step: each effect has `.kind` and `.target`."""
        return self._context.facts(call).effects.known

    def succeeded(self) -> Calls:
        """The calls that are known to have succeeded."""
        return self._narrow(lambda call: has_success(call, True), "that succeeded")

    def failed(self, text: str | re.Pattern[str] | None = None) -> Calls:
        """The calls that are known to have failed; with `text`, those whose error contains or matches it."""
        failed = self._narrow(lambda call: has_success(call, False), "that failed")
        return failed if text is None else failed._narrow(lambda call: has_result(call, text), f"with {_shown(text)}")

    def returned(self, text: str | re.Pattern[str]) -> Calls:
        """The calls whose result contains a text or matches a compiled pattern."""
        return self._narrow(lambda call: has_result(call, text), f"that returned {_shown(text)}")

    def asked(self) -> Calls:
        """The calls for which the agent asked permission first, whatever the answer."""
        return self._narrow(lambda call: has_permission(call, ("allow", "deny")), "that the agent asked permission for")

    def denied(self) -> Calls:
        """The calls for which the agent asked permission and was denied it."""
        return self._narrow(lambda call: has_permission(call, ("deny",)), "that were denied")

    def unasked(self) -> Calls:
        """The calls that the agent made without asking for permission."""
        return self._narrow(lambda call: has_permission(call, ("unasked",)), "made without asking permission")

    def by_main(self) -> Calls:
        """The calls of the agent itself, without those of its sub-agents."""
        return self._narrow(lambda call: not call.by_sub_agent, "by the agent itself")

    def by_sub_agents(self, number: int | None = None) -> Calls:
        """The calls of all sub-agents, or of the one with this number."""
        return self._narrow(lambda call: call.by_sub_agent and number in (None, call.sub_agent), "by sub-agents")

    def in_turn(self, turn: int) -> Calls:
        """The calls that the model requested in its answer number `turn`: 1, 2, 3 …"""
        return self._narrow(lambda call: call.turn == turn, f"in turn {turn}")

    def in_turns(self, first: int, last: int) -> Calls:
        """The calls of the turns from `first` to `last`, both included."""
        return self._narrow(lambda call: first <= call.turn <= last, f"in turns {first} to {last}")

    def first(self, k: int = 1) -> Calls:
        """The first `k` of these calls."""
        return self._end(self._recorded(), k, f"(first {k})")

    def last(self, k: int = 1) -> Calls:
        """The last `k` of these calls."""
        return self._end(self._recorded()[::-1], k, f"(last {k})")

    def _end(self, recorded: list[tuple[Called, str | None]], k: int, title: str) -> Calls:
        kept: list[Called] = []
        possible: list[Possible] = []
        certain = 0
        for number, (call, reason) in enumerate(recorded):
            if reason is None and number < k:
                kept.append(call)
            elif certain < k:
                possible.append(Possible(call, reason or self.possible[0].reason))
            certain += reason is None
        kept.sort(key=lambda call: self._context.order[id(call)])
        return self._uncertain_view(kept, title, self.gaps, possible)

    def before(self, other: Calls | Called) -> Calls:
        """The calls before the first of `other`; empty if `other` is. A shell command has several steps."""
        certain, perhaps = self._positions(other, first=True)

        def match(call: Called) -> Match:
            position = self._position(call, first=True)
            if certain and position < min([*certain, *perhaps]):
                return True
            return bool(certain or perhaps) and position < min(certain or [max(perhaps)]) and _reason(other)

        return self._ordered(match, "before the first of", other)

    def after(self, other: Calls | Called) -> Calls:
        """The calls after the last of `other`; empty if `other` is. A shell command has several steps."""
        certain, perhaps = self._positions(other, first=False)

        def match(call: Called) -> Match:
            position = self._position(call, first=False)
            if certain and position > max(certain) and (not perhaps or position >= max(perhaps)):
                return True
            return bool(certain or perhaps) and position > max(certain or [min(perhaps)]) and _reason(other)

        return self._ordered(match, "after the last of", other)

    def after_first(self, other: Calls | Called) -> Calls:
        """The calls after the first of `other`: `not edits.after_first(commits)` says that none came after a commit."""
        certain, perhaps = self._positions(other, first=True)

        def match(call: Called) -> Match:
            position = self._position(call, first=False)
            if certain and position > min(certain):
                return True
            return bool(perhaps) and position > min(perhaps) and _reason(other)

        return self._added(match, "after the first of", other)

    def before_last(self, other: Calls | Called) -> Calls:
        """The calls before the last of `other`."""
        certain, perhaps = self._positions(other, first=False)

        def match(call: Called) -> Match:
            position = self._position(call, first=True)
            if certain and position < max(certain):
                return True
            return bool(perhaps) and position < max(perhaps) and _reason(other)

        return self._added(match, "before the last of", other)

    def directly_after(self, other: Calls | Called) -> Calls:
        """The calls that follow one of `other` with no call in between: `not plans.directly_after(plans)`."""
        order = self._context.order
        certain = {order[id(call)] for call in ((other,) if isinstance(other, Called) else other.seen)}
        perhaps = set() if isinstance(other, Called) else {order[id(possible.call)] for possible in other.possible}

        def match(call: Called) -> Match:
            before = order[id(call)] - 1
            return before in certain or (before in perhaps and _reason(other))

        return self._ordered(match, "directly after", other)

    def in_same_turn(self, other: Calls | Called) -> Calls:
        """The calls that were requested in the same turn as another call, one of `other`."""
        others = (other,) if isinstance(other, Called) else other.seen
        perhaps = () if isinstance(other, Called) else [possible.call for possible in other.possible]

        def together(call: Called, with_these: Iterable[Called]) -> bool:
            return any(call.turn == other_call.turn and call is not other_call for other_call in with_these)

        def match(call: Called) -> Match:
            return together(call, others) or (together(call, perhaps) and _reason(other))

        return self._added(match, "in the same turn as", other)

    def in_order(self, *steps: str | Calls) -> bool:
        """Whether these happened in this order, with any calls in between: names of tools, or views of calls."""
        views = [self.named(step) if isinstance(step, str) else step for step in steps]
        self._ask_order(views)
        if _has_sequence([[view._position(call, first=True) for call in view.seen] for view in views]):
            return True
        unsure = [view for view in views if not view._complete]
        if any(view.gaps for view in views) or _has_sequence([view._all_positions() for view in views]):
            reasons = tuple(dict.fromkeys(reason for view in unsure for reason in view._reasons))
            raise unknowable("whether these calls were made in this order", reasons)
        return False

    def _ask_order(self, views: list[Calls]) -> None:
        calls_by_id = {id(call): call for view in views for call in view.seen}
        title = ", then ".join(view._title for view in views)
        calls = sorted(calls_by_id.values(), key=lambda call: self._context.order[id(call)])
        self._context.last_asked = Calls(calls, title=title, context=self._context)

    def most_in_one_turn(self) -> int:
        """The largest number of these calls that the model requested in one turn."""
        self._ask("how many in one turn of")
        self._context.last_asked = self
        certain = Counter(call.turn for call in self.seen)
        most = max(certain.values(), default=0)
        if self._complete:
            return most
        perhaps = certain + Counter(possible.call.turn for possible in self.possible)
        return UncertainCount(most, self._reasons, most=None if self.gaps else max(perhaps.values()))

    def _ordered(self, match: Callable[[Called], Match], title: str, other: Calls | Called) -> Calls:
        """The calls that match; a missing call of `other` could remove some."""
        kept, possible = self._decided(match)
        return self._uncertain_view(kept, f"{title} {_named(other)}", self._gaps_with(other), possible)

    def _added(self, match: Callable[[Called], Match], title: str, other: Calls | Called) -> Calls:
        """The calls that match; a missing call of `other` could only add some."""
        kept, possible = self._decided(match)
        return self._view(kept, f"{title} {_named(other)}", gaps=self._gaps_with(other), possible=possible)


def _has_sequence(steps: list[list[Position]]) -> bool:
    """Whether increasing positions can be chosen, one of each step."""
    last: Position = (-1, -1)
    for positions in steps:
        later = [position for position in positions if position > last]
        if not later:
            return False
        last = min(later)
    return True


def _reason(other: Calls | Called) -> Match:
    """Why the order is uncertain."""
    return other.possible[0].reason if isinstance(other, Calls) and other.possible else True


def _named(other: Calls | Called) -> str:
    return shown_call(other) if isinstance(other, Called) else f"({other._title})"


def _either(names: Iterable[str]) -> str:
    return " or ".join(names)


def _with(arguments: Mapping[str, Any], predicate: Callable[..., Any] | None = None) -> str:
    parts = [f"with {' and '.join(f'{name}={_shown(want)}' for name, want in arguments.items())}"] if arguments else []
    if predicate is not None:
        parts.append(f"accepted by {_shown(predicate)}")
    return " ".join(parts)


def _shown(value: Any) -> str:
    """A wanted value as a reader would write it."""
    if isinstance(value, re.Pattern):
        return f"/{value.pattern}/"
    return getattr(value, "__name__", "a function") if callable(value) else repr(value)
