"""The cassette: a value, and the text of its file.

Every request repeats the conversation so far. In the file it does not: `same_messages` tells how many messages are
those of the exchange before, and `same_tools` that the tools are; so a person sees what was new in each turn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from demeanor.core.codec import DecodeError, decode, encode
from demeanor.core.exchange import Exchange
from demeanor.gateway.dialects.strict_json import loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demeanor.core.exchange import Request

SCHEMA = "demeanor-cassette/1"
_FAMILY = "demeanor-cassette/"
_MOST_EXCHANGES = 2000
_MOST_MESSAGES = 1_000_000
_SAME_MESSAGES, _SAME_TOOLS = "same_messages", "same_tools"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cassette:
    """The recorded exchanges of one trial."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    number: int
    """The trial's number within its cell."""

    scenario: str
    """The fingerprint of the scenario it was recorded with; another one makes it stale."""

    recorded: str
    """The day, as in `2026-11-15`."""

    exchanges: tuple[Exchange, ...]
    """What was asked and answered, in order; without times and costs."""


class BadCassette(ValueError):
    """A text that is no cassette; the message tells why."""


def write_cassette(cassette: Cassette) -> str:
    """The text of a cassette's file."""
    data = encode(replace(cassette, exchanges=()))
    data["exchanges"] = list(_shortened(cassette.exchanges))
    return json.dumps({"schema": SCHEMA, **data}, indent=1, ensure_ascii=False) + "\n"


def read_cassette(text: bytes) -> Cassette:
    """The cassette that a file's text describes; raises BadCassette."""
    try:
        data = loads(text)
    except ValueError as error:
        raise BadCassette(f"it is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise BadCassette(f"expected a table, found {type(data).__name__}")
    schema = data.pop("schema", None)
    if schema != SCHEMA:
        theirs = isinstance(schema, str) and schema.startswith(_FAMILY)
        what = "another version of Demeanor wrote it" if theirs else "it is no cassette"
        raise BadCassette(f"{what}: schema is {_short(schema)}, expected {SCHEMA!r}")
    exchanges = data.get("exchanges")
    if not isinstance(exchanges, list):
        raise BadCassette("exchanges: expected a list")
    if len(exchanges) > _MOST_EXCHANGES:
        raise BadCassette(f"exchanges: {len(exchanges)} are too many; at most {_MOST_EXCHANGES} are read")
    try:
        found = decode(Cassette, {**data, "exchanges": []})
        return replace(found, exchanges=tuple(_completed(exchanges)))
    except (DecodeError, TypeError) as error:
        raise BadCassette(str(error)) from None


def _shortened(exchanges: tuple[Exchange, ...]) -> Iterator[dict[str, Any]]:
    before: Request | None = None
    for exchange in exchanges:
        request = exchange.request
        same = 0
        if before is not None:
            pairs = zip(request.messages, before.messages, strict=False)
            same = next((n for n, (new, old) in enumerate(pairs) if new != old), len(before.messages))
            same = min(same, len(request.messages))
        same_tools = before is not None and bool(request.tools) and request.tools == before.tools
        data = encode(exchange)
        told = encode(
            replace(request, messages=request.messages[same:], tools=() if same_tools else request.tools),
        )
        told = {"model": told.pop("model"), **({_SAME_MESSAGES: same} if same else {}), **told}
        if same_tools:
            told[_SAME_TOOLS] = True
        data["request"] = told
        yield data
        before = request


def _completed(exchanges: list[Any]) -> Iterator[Exchange]:
    before: Request | None = None
    total = 0
    for index, data in enumerate(exchanges):
        at = f"exchanges[{index}]"
        if not isinstance(data, dict) or not isinstance(data.get("request"), dict):
            raise DecodeError(f"{at}.request: expected a table")
        told = dict(data["request"])
        same, same_tools = told.pop(_SAME_MESSAGES, 0), told.pop(_SAME_TOOLS, False)
        known = len(before.messages) if before else 0
        if type(same) is not int or not 0 <= same <= known:
            raise DecodeError(f"{at}.request.{_SAME_MESSAGES}: {_short(same)} is no number from 0 to {known}")
        if type(same_tools) is not bool or (same_tools and before is None):
            raise DecodeError(f"{at}.request.{_SAME_TOOLS}: {_short(same_tools)} makes no sense here")
        try:
            exchange = decode(Exchange, {**data, "request": told})
        except DecodeError as error:
            raise DecodeError(f"{at}.{error}") from None
        request = exchange.request
        if before is not None:
            tools = before.tools if same_tools else request.tools
            request = replace(request, messages=before.messages[:same] + request.messages, tools=tools)
        total += len(request.messages)
        if total > _MOST_MESSAGES:
            raise DecodeError(f"{at}: too many messages; at most {_MOST_MESSAGES} are read in all")
        if exchange.number != index + 1:
            raise DecodeError(f"{at}.number: {exchange.number} is out of order; expected {index + 1}")
        before = request
        yield replace(exchange, request=request)


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"
