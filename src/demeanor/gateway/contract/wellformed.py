"""Checks that a stream has the format that the official clients of its dialect expect.

What a specification demands and clients rely on is a problem if it is missing. Where providers differ and clients
tolerate it, the difference is a `Note`: clients read different ones of the fields that say something twice. The rules
of each dialect are a module of the package stream_rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from demeanor.core.text.json_values import as_whole

LOOKS_COMPLETE = "the stream broke off, but ends as if it were complete"

Json: TypeAlias = dict[str, Any]
Events: TypeAlias = Sequence[Json]


class Note(str):
    """A difference between providers that clients tolerate."""

    __slots__ = ()


def stream_problems(dialect: str, events: Events, *, broke: bool = False) -> list[str]:
    """The problems with the format of a stream, and notes; a stream that broke off needs no end."""
    if not events:
        return ["there are no events"]
    bad = [f"event {at}: the data is not a JSON object" for at, event in enumerate(events) if _is_not_object(event)]
    if bad:
        return bad
    rules = import_module(f"demeanor.gateway.contract.stream_rules.{dialect.replace('-', '_')}")
    return list(dict.fromkeys((*rules.problems(events, broke), *map(Note, rules.differences(data_of(events))))))


def _is_not_object(event: Json) -> bool:
    return not isinstance(event["data"], dict) and event["data"] != "[DONE]"


def data_of(events: Events) -> list[Json]:
    """The data of the events, without the mark of the end."""
    return [event["data"] for event in events if event["data"] != "[DONE]"]


def missing(what: str, data: Json, fields: Sequence[str]) -> Iterator[str]:
    """The fields that something does not have."""
    yield from (f"{what} has no {field}" for field in fields if field not in data)


def vary(what: str, values: Sequence[Any]) -> Iterator[str]:
    """That values which should be the same are not."""
    if any(value != values[0] for value in values):
        yield f"{what} differ"


def total(counts: Mapping[str, Any], *names: str) -> int:
    """The sum of some counts."""
    return sum(as_whole(counts.get(name)) or 0 for name in names)
