"""Does a call belong to a view? Yes, no, or unknown with the reason; see calls_view.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from demeanor.core.values.trajectory import Called, Kind
from demeanor.judge.effects.arguments import MEANINGS, expected, unknown_names, values
from demeanor.judge.effects.call_effects import CallFacts
from demeanor.judge.effects.effect import Effect
from demeanor.judge.shown_calls import shown_call

Match: TypeAlias = bool | str
"""Whether a call belongs to a view; a string says why that is unknown."""

WantedPath: TypeAlias = str | re.Pattern[str] | Callable[[str], bool]
"""A path, a pattern that matches somewhere in it, or a function that accepts it."""

_ON_FILES = frozenset({Kind.READ, Kind.EDIT, Kind.DELETE, Kind.SEARCH})
_EFFECT_TEXT = {"pattern": Kind.SEARCH, "content": Kind.EDIT}
_PRIMARY = {Kind.EXECUTE: "command", Kind.READ: "path", Kind.EDIT: "path", Kind.DELETE: "path"}
"""The argument that a call of this kind must have, whatever its name."""


def has_kind(call: Called, facts: CallFacts, kinds: Collection[str]) -> Match:
    """Whether a call has one of these kinds."""
    if facts.kind in kinds or facts.effects.of(kinds):
        return True
    unclear = facts.effects.unclear_for(kinds)
    return f"the effects of {shown_call(call)} are unknown: it {unclear[0].why}" if unclear else False


def has_argument(call: Called, facts: CallFacts, kinds: Collection[str] | None, name: str, asked: Any) -> Match:
    """Whether a call has this argument, under any name; `kinds` are those that the view is about."""
    literal = name in call.arguments and name != "path"
    if literal and _fits(call.arguments[name], asked):
        return True
    if name not in MEANINGS:
        return False
    answer = _path(call, facts, kinds, asked) if name == "path" else _text(call, facts, kinds, name, asked)
    if answer is not False or literal:
        return answer
    missing = expected(facts.kind, name) and not values(facts.arguments, name, facts.kind, facts.offered)
    unknown = unknown_names(facts.arguments, facts.kind, facts.offered) if missing else ()
    if unknown and not _effects(facts, kinds, facts.kind):
        return f"{shown_call(call)} has no argument that is known to be its {name}, but {', '.join(unknown)}"
    return False


def missing_argument(calls: Iterable[tuple[Called, CallFacts]], name: str) -> str | None:
    """Why nothing can be said about an argument that none of these calls has under any name; None if one has it."""
    names: dict[str, None] = {}
    tools: dict[str, None] = {}
    for call, facts in calls:
        properties = facts.offered.schema.get("properties") if facts.offered is not None else None
        if name in call.arguments or (isinstance(properties, Mapping) and name in properties):
            return None
        if name in MEANINGS and (_PRIMARY.get(facts.kind) != name or _has_value(facts, name)):
            return None
        names |= dict.fromkeys(map(str, call.arguments))
        tools[call.tool] = None
    if not tools:
        return None
    has = ", ".join(names) or "no arguments"
    return f"no call of {', '.join(tools)} has an argument {name!r} under any name; they have: {has}"


def _has_value(facts: CallFacts, name: str) -> bool:
    return bool(values(facts.arguments, name, facts.kind, facts.offered)) or any(
        effect.target is not None for effect in facts.effects.known if name == "path"
    )


def _effects(facts: CallFacts, kinds: Collection[str] | None, kind: Kind | None = None) -> tuple[Effect, ...]:
    """The effects that a view is about: those of its kinds; all of them for executed commands or without kinds."""
    effects = [effect for effect in facts.effects.known if effect.kind not in {Kind.EXECUTE, kind}]
    if kinds is None or Kind.EXECUTE in kinds:
        return tuple(effects)
    return tuple(effect for effect in facts.effects.known if effect.kind in kinds and effect.kind is not Kind.EXECUTE)


def _text(call: Called, facts: CallFacts, kinds: Collection[str] | None, name: str, expected: Any) -> Match:
    texts: list[str | None] = list(values(facts.arguments, name, facts.kind, facts.offered))
    if name == "url":
        texts += [effect.target for effect in _effects(facts, kinds) if effect.kind is Kind.FETCH]
    elif name in _EFFECT_TEXT:
        texts += [effect.text for effect in _effects(facts, kinds) if effect.kind is _EFFECT_TEXT[name]]
    elif facts.kind is Kind.EXECUTE and name in {"old", "new"}:
        texts += [None for effect in _effects(facts, kinds) if effect.kind is Kind.EDIT]
    if any(value is not None and _fits(value, expected) for value in texts):
        return True
    if None in texts and name not in {"command"}:
        return f"{shown_call(call)} does not say its {name}"
    return _unclear(call, facts, kinds) if name != "command" else False


def _path(call: Called, facts: CallFacts, kinds: Collection[str] | None, expected: WantedPath) -> Match:
    unknown = False
    for effect in _effects(facts, kinds):
        if effect.kind not in _ON_FILES:
            continue
        reached = _reaches(effect, expected)
        if reached is True:
            return True
        unknown = unknown or reached is None
    if facts.kind is not Kind.EXECUTE and (kinds is None or facts.kind in kinds):
        paths = values(facts.arguments, "path", facts.kind, facts.offered)
        if any(same_path(path, expected) for path in paths):
            return True
    if unknown:
        return f"{shown_call(call)} does not say which files it is about"
    return _unclear(call, facts, kinds)


def _unclear(call: Called, facts: CallFacts, kinds: Collection[str] | None) -> Match:
    unclear = facts.effects.unclear if facts.kind is Kind.EXECUTE else ()
    if unclear and (kinds is None or Kind.EXECUTE in kinds or facts.effects.unclear_for(kinds)):
        return f"the effects of {shown_call(call)} are unknown: it {unclear[0].why}"
    return False


def _reaches(effect: Effect, expected: WantedPath) -> bool | None:
    """Whether an effect concerns a path; None if unknown."""
    target = effect.target
    if target is None:
        return None
    if effect.reach == "glob":
        if not isinstance(expected, str):
            return None
        if not set("*?") & set(target) and same_path(target, expected):
            return True  # a shell takes [id] literally where it matches no other file
        return None if any(_may_match(path, target) for path in _with_parents(expected)) else False
    if same_path(target, expected):
        return True
    if effect.reach == "exact":
        return False
    if not isinstance(expected, str):
        return None
    return target in {".", ""} or any(same_path(target, parent) for parent in _with_parents(expected))


def _may_match(path: str, pattern: str) -> bool:
    """Whether a shell's pattern can mean this path; brackets may also mean themselves."""
    return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.replace("[", "[[]"))


def _with_parents(path: str) -> Iterator[str]:
    pure = PurePosixPath(path)
    yield str(pure)
    yield from (str(parent) for parent in pure.parents if parent.name)


def same_path(path: str, expected: WantedPath) -> bool:
    """Whether a path is the wanted one; an absolute path also matches by its last parts."""
    if not isinstance(expected, str):
        return _fits(path, expected)
    there, here = PurePosixPath(path), PurePosixPath(expected)
    if there.is_absolute() and not here.is_absolute():
        return bool(here.parts) and there.parts[-len(here.parts) :] == here.parts
    return there == here


def _fits(value: Any, expected: Any) -> bool:
    if isinstance(expected, re.Pattern):
        return expected.search(value if isinstance(value, str) else repr(value)) is not None
    return bool(expected(value)) if callable(expected) else bool(value == expected)


def has_success(call: Called, success: bool) -> Match:
    """Whether a call succeeded, or failed, as far as it is recorded."""
    unknown = f"it is not recorded whether {call.tool} succeeded"
    return unknown if call.succeeded is None else call.succeeded is success


def has_result(call: Called, text: str | re.Pattern[str]) -> Match:
    """Whether the result of a call contains a text or matches a pattern, as far as it is recorded."""
    if call.result is None:
        return f"the result of {shown_call(call)} is not recorded"
    return text in call.result if isinstance(text, str) else text.search(call.result) is not None


def has_permission(call: Called, permissions: Collection[str]) -> Match:
    """Whether the answer to the request for permission is one of these, as far as it is recorded."""
    unknown = f"it is not recorded whether permission was requested for {call.tool}"
    return unknown if call.permission is None else call.permission in permissions
