"""The cassette as a value, and its file format.

Every request repeats the conversation so far, but the file does not: `same_messages` is the number of leading messages
that equal those of the previous exchange, and `same_tools` means the same for the tools. So a reader of the file sees
what was new in each turn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from demeanor.core.text.codec import DecodeError, decode, encode
from demeanor.core.text.wording import shortened
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.intervention import Intervention
from demeanor.gateway.dialects.strict_json import loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demeanor.core.values.exchange import Request

SCHEMA = "demeanor-cassette/1"
_SCHEMA_PREFIX = "demeanor-cassette/"
_MAX_EXCHANGES = 2000
_MAX_MESSAGES = 1_000_000
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
    """The fingerprint of the scenario it was recorded with; if the eval's differs, the cassette is stale."""

    recorded: str
    """The day, as in `2026-11-15`."""

    exchanges: tuple[Exchange, ...]
    """The exchanges in order, without times and costs."""

    step: int = 0
    """Of a prefix: the step that a model is asked for; see core/values/prefix.py."""

    cut: int = 0
    """Of a prefix: the number of the exchange of that step; 0 for a cassette that is replayed as a whole."""

    intervention: Intervention = field(default_factory=Intervention)
    """Of a prefix: the instructions that were changed when it was recorded."""

    digest: str = ""
    """Of a prefix: the hash of its exchanges and its cut, so that an edited file is noticed."""


class BadCassette(ValueError):
    """A text that is not a valid cassette; the message says why."""


def write_cassette(cassette: Cassette) -> str:
    """The text of a cassette's file."""
    data = encode(replace(cassette, exchanges=()))
    data["exchanges"] = list(_shorten(cassette.exchanges))
    return json.dumps({"schema": SCHEMA, **data}, indent=1, ensure_ascii=False) + "\n"


def read_cassette(text: bytes) -> Cassette:
    """Read the text of a cassette's file; raises BadCassette."""
    try:
        data = loads(text)
    except ValueError as error:
        raise BadCassette(f"it is not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise BadCassette(f"expected a table, found {type(data).__name__}")
    schema = data.pop("schema", None)
    if schema != SCHEMA:
        other_version = isinstance(schema, str) and schema.startswith(_SCHEMA_PREFIX)
        what = "another version of Demeanor wrote it" if other_version else "it is not a cassette"
        raise BadCassette(f"{what}: schema is {_short(schema)}, expected {SCHEMA!r}")
    exchanges = data.get("exchanges")
    if not isinstance(exchanges, list):
        raise BadCassette("exchanges: expected a list")
    if len(exchanges) > _MAX_EXCHANGES:
        raise BadCassette(f"exchanges: {len(exchanges)} are too many; at most {_MAX_EXCHANGES} are read")
    try:
        cassette = decode(Cassette, {**data, "exchanges": []})
        return replace(cassette, exchanges=tuple(_complete(exchanges)))
    except (DecodeError, TypeError) as error:
        raise BadCassette(str(error)) from None


def _shorten(exchanges: tuple[Exchange, ...]) -> Iterator[dict[str, Any]]:
    previous: Request | None = None
    for exchange in exchanges:
        request = exchange.request
        same = 0
        if previous is not None:
            pairs = zip(request.messages, previous.messages, strict=False)
            same = next((n for n, (new, old) in enumerate(pairs) if new != old), len(previous.messages))
            same = min(same, len(request.messages))
        same_tools = previous is not None and bool(request.tools) and request.tools == previous.tools
        data = encode(exchange)
        short = encode(
            replace(request, messages=request.messages[same:], tools=() if same_tools else request.tools),
        )
        short = {"model": short.pop("model"), **({_SAME_MESSAGES: same} if same else {}), **short}
        if same_tools:
            short[_SAME_TOOLS] = True
        data["request"] = short
        yield data
        previous = request


def _complete(exchanges: list[Any]) -> Iterator[Exchange]:
    previous: Request | None = None
    total = 0
    for index, data in enumerate(exchanges):
        at = f"exchanges[{index}]"
        if not isinstance(data, dict) or not isinstance(data.get("request"), dict):
            raise DecodeError(f"{at}.request: expected a table")
        short = dict(data["request"])
        same, same_tools = short.pop(_SAME_MESSAGES, 0), short.pop(_SAME_TOOLS, False)
        count = len(previous.messages) if previous else 0
        if type(same) is not int or not 0 <= same <= count:
            raise DecodeError(f"{at}.request.{_SAME_MESSAGES}: {_short(same)} is not a number from 0 to {count}")
        if type(same_tools) is not bool or (same_tools and previous is None):
            raise DecodeError(f"{at}.request.{_SAME_TOOLS}: {_short(same_tools)} is not allowed here")
        try:
            exchange = decode(Exchange, {**data, "request": short})
        except DecodeError as error:
            raise DecodeError(f"{at}.{error}") from None
        request = exchange.request
        if previous is not None:
            tools = previous.tools if same_tools else request.tools
            request = replace(request, messages=previous.messages[:same] + request.messages, tools=tools)
        total += len(request.messages)
        if total > _MAX_MESSAGES:
            raise DecodeError(f"{at}: too many messages; at most {_MAX_MESSAGES} are read in all")
        if exchange.number != index + 1:
            raise DecodeError(f"{at}.number: {exchange.number} is out of order; expected {index + 1}")
        previous = request
        yield replace(exchange, request=request)


def _short(value: object) -> str:
    return shortened(repr(value), 60)
