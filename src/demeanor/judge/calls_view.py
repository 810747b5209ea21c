"""`rig.calls`: the tool calls of a trial, with filters.

A filter returns a narrower view; a view is true if it contains a call. If the trajectory is incomplete, a view answers
only what the recorded calls prove, and raises Unknowable otherwise: see unknowable.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, overload

from demeanor.core.errors import UnknownName
from demeanor.core.trajectory import Called, Kind
from demeanor.judge.call_chain import shown_call
from demeanor.judge.unknowable import LowerBound, unknowable

_PATH_NAMES = ("path", "file_path", "filepath", "filename", "file", "absolute_path", "target_file", "notebook_path")


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
        order: Mapping[int, int] | None = None,
        settled: bool = True,
    ) -> None:
        """`settled` is False if, because of gaps, it is uncertain whether the recorded calls belong to this view."""
        self.seen = tuple(seen)
        """The recorded calls, whether or not there may be others."""
        self.gaps = gaps
        """Why there may be others; empty if these are all."""
        self._title = title
        self._settled = settled
        self._order = order or {id(call): index for index, call in enumerate(self.seen)}

    def named(self, *names: str) -> Calls:
        """The calls of tools with these exact names."""
        return self._narrow(lambda call: call.tool in names, "/".join(names))

    def of_kind(self, *kinds: str) -> Calls:
        """The calls of these kinds: read, edit, delete, search, execute, fetch, think, other."""
        known = [kind.value for kind in Kind]
        for kind in kinds:
            if kind not in known:
                raise UnknownName("kind of tool", kind, known)
        return self._narrow(lambda call: call.kind in kinds, "/".join(kinds))

    def where(
        self,
        *,
        predicate: Callable[[Called], bool] | None = None,
        path: str | re.Pattern[str] | None = None,
        **args: Any,
    ) -> Calls:
        """The calls with these arguments: equal values or, for a compiled regular expression, a match somewhere.

        `path` matches the argument that names a file, whatever its name (`path`, `file_path`, …); `./notes.txt` and
        `/any/where/notes.txt` match `notes.txt`. `predicate` gets the whole call.
        """

        def fits(call: Called) -> bool:
            return (
                (path is None or any(_same_path(given, path) for given in _paths(call)))
                and all(name in call.arguments and _fits(call.arguments[name], want) for name, want in args.items())
                and (predicate is None or bool(predicate(call)))
            )

        wanted = {**({} if path is None else {"path": path}), **args}
        return self._narrow(fits, ", ".join(f"{name}={want!r}" for name, want in wanted.items()) or "chosen")

    def succeeded(self) -> Calls:
        """The calls that are known to have succeeded."""
        return self._by_success(True, "succeeded")

    def failed(self) -> Calls:
        """The calls that are known to have failed."""
        return self._by_success(False, "failed")

    def asked(self) -> Calls:
        """The calls for which the agent asked permission first, whatever the answer."""
        return self._by_permission(("allow", "deny"), "asked for")

    def denied(self) -> Calls:
        """The calls for which the agent asked permission and was denied it."""
        return self._by_permission(("deny",), "denied")

    def unasked(self) -> Calls:
        """The calls that the agent made without asking for permission."""
        return self._by_permission(("unasked",), "unasked")

    def in_turn(self, turn: int) -> Calls:
        """The calls that the model requested in its answer number `turn`: 1, 2, 3 …"""
        return self._narrow(lambda call: call.turn == turn, f"in turn {turn}")

    def first(self, k: int) -> Calls:
        """The first `k` of these calls."""
        return self._uncertain_view(self.seen[:k], f"first {k}", self.gaps)

    def before(self, other: Calls | Called) -> Calls:
        """The calls before the first of `other`; empty if `other` is."""
        positions = self._positions(other)
        kept = [call for call in self.seen if positions and self._order[id(call)] < min(positions)]
        return self._uncertain_view(kept, "before", self._gaps_with(other))

    def after(self, other: Calls | Called) -> Calls:
        """The calls after the last of `other`; empty if `other` is."""
        positions = self._positions(other)
        kept = [call for call in self.seen if positions and self._order[id(call)] > max(positions)]
        return self._uncertain_view(kept, "after", self._gaps_with(other))

    def in_same_turn(self, other: Calls | Called) -> Calls:
        """The calls that were requested in the same turn as another call, one of `other`."""
        others = (other,) if isinstance(other, Called) else other.seen
        kept = [call for call in self.seen if any(call.turn == one.turn and call is not one for one in others)]
        return self._view(kept, "in the same turn", gaps=self._gaps_with(other), settled=self._settled)

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
        """The number of calls; if there may be others, a lower bound that compares only if the result is certain."""
        self._ask("how many")
        return LowerBound(len(self.seen), self.gaps) if self.gaps else len(self.seen)

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, in the order of the calls."""
        return tuple(call.tool for call in self)

    def __bool__(self) -> bool:
        self._ask("whether there are any")
        if self.gaps and not self.seen:
            raise unknowable(f"that there are no {self._title}", self.gaps)
        return bool(self.seen)

    def __len__(self) -> int:
        if self.gaps:
            raise unknowable(f"how many {self._title} there are (.count() may be enough)", self.gaps)
        return len(self.seen)

    def __iter__(self) -> Iterator[Called]:
        self._ask("which")
        yield from self.seen
        if self.gaps:
            raise unknowable(f"that these are all {self._title}", self.gaps)

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
        if -len(self.seen) <= index < len(self.seen):
            return self.seen[index]
        if self.gaps:
            raise unknowable(f"{self._title}[{index}]", self.gaps)
        raise NoSuchCall(f"there is no {self._title}[{index}]: {self!r}")

    def __repr__(self) -> str:
        shown = [shown_call(call) for call in self.seen[:10]]
        if len(self.seen) > len(shown):
            shown.append(f"… {len(self.seen) - len(shown)} more")
        if self.gaps:
            shown.append("perhaps more")
        return f"<{self._title}: {', '.join(shown) or 'none'}>"

    def _narrow(self, keep: Callable[[Called], bool], title: str) -> Calls:
        kept = [call for call in self.seen if keep(call)]
        return self._view(kept, title, gaps=self.gaps, settled=self._settled)

    def _uncertain_view(self, kept: Iterable[Called], title: str, gaps: tuple[str, ...]) -> Calls:
        """A view whose members depend on calls that may be missing."""
        return self._view(kept, title, gaps=gaps, settled=self._settled and not gaps)

    def _by_success(self, wanted: bool, title: str) -> Calls:
        kept = [call for call in self.seen if call.succeeded is wanted]
        unknown = [call.tool for call in self.seen if call.succeeded is None]
        gaps = (f"it is not recorded whether {', '.join(dict.fromkeys(unknown))} succeeded",) if unknown else ()
        return self._view(kept, title, gaps=self.gaps + gaps, settled=self._settled)

    def _by_permission(self, wanted: tuple[str, ...], title: str) -> Calls:
        kept = [call for call in self.seen if call.permission in wanted]
        unknown = [call.tool for call in self.seen if call.permission is None]
        tools = ", ".join(dict.fromkeys(unknown))
        gaps = (f"it is not recorded whether permission was requested for {tools}",) if unknown else ()
        return self._view(kept, title, gaps=self.gaps + gaps, settled=self._settled)

    def _view(self, kept: Iterable[Called], title: str, *, gaps: tuple[str, ...], settled: bool) -> Calls:
        return Calls(kept, gaps=gaps, title=f"{self._title} {title}", order=self._order, settled=settled)

    def _gaps_with(self, other: Calls | Called) -> tuple[str, ...]:
        return self.gaps if isinstance(other, Called) else tuple(dict.fromkeys((*self.gaps, *other.gaps)))

    def _positions(self, other: Calls | Called) -> list[int]:
        others = (other,) if isinstance(other, Called) else other.seen
        return [self._order[id(call)] for call in others]

    def _ask(self, question: str) -> None:
        if not self._settled:
            raise unknowable(f"{question} {self._title}", self.gaps)


def _paths(call: Called) -> list[str]:
    return [value for name in _PATH_NAMES if isinstance(value := call.arguments.get(name), str)]


def _same_path(given: str, wanted: str | re.Pattern[str]) -> bool:
    if isinstance(wanted, re.Pattern):
        return wanted.search(given) is not None
    there, here = PurePosixPath(given), PurePosixPath(wanted)
    if there.is_absolute() and not here.is_absolute():
        return there.parts[-len(here.parts) :] == here.parts
    return there == here


def _fits(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, re.Pattern):
        return wanted.search(given if isinstance(given, str) else repr(given)) is not None
    return bool(given == wanted)
