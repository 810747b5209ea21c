"""The fields about what was said before the trial, and what the user says while the agent works."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.config import Table, describe
from demeanor.core.values.scenario import PriorCall, PriorMessage, Scenario
from demeanor.core.values.steering import Steer
from demeanor.define.field import (
    BOOLEAN,
    OBJECT,
    STRING,
    Field,
    Schema,
    read_fields,
    required_text,
    text,
)

_ROLES = ("user", "assistant")
_REMEDY = 'write Steer(after="edit", say="…"), a pair ("edit", "…"), or a table with these keys'


def _role(table: Table, key: str) -> str:
    table.text(key, required=True)
    return table.choice(key, _ROLES) or ""


def _calls(table: Table, key: str) -> tuple[PriorCall, ...]:
    values: list[Any] = (
        list(table.anything(key)) if isinstance(table.anything(key), list | tuple) else table.tables(key)
    )
    return tuple(
        value
        if isinstance(value, PriorCall)
        else PriorCall(**read_fields(table.nested(value, f"{key}[{index}]"), PRIOR_CALL_FIELDS))
        for index, value in enumerate(values)
    )


def _messages(table: Table, key: str) -> tuple[PriorMessage, ...]:
    values: list[Any] = table.take(key, list) or []
    return tuple(_message(table, f"{key}[{index}]", value) for index, value in enumerate(values))


def _message(table: Table, key: str, value: Any) -> PriorMessage:
    if isinstance(value, PriorMessage):
        return value
    try:
        return PriorMessage(**read_fields(table.nested(value, key), MESSAGE_FIELDS))
    except ValueError as error:
        place = "calls" if value.get("calls") else "text"
        table.fail(f"{key}.{place}", str(error), "give it `text`, or `calls` of the assistant")


def _steer(table: Table, key: str) -> tuple[Steer, ...]:
    value = table.anything(key)
    if not isinstance(value, list | tuple) or not value:
        table.fail(key, f"expected a list of messages, found {describe(value)}", _REMEDY)
    return tuple(_one_steer(table, f"{key}[{index}]", item) for index, item in enumerate(value))


def _one_steer(table: Table, key: str, value: Any) -> Steer:
    if isinstance(value, Steer):
        return value
    if isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(word, str) for word in value):
        value = {"after": value[0], "say": value[1]}
    if not isinstance(value, Mapping):
        table.fail(key, f"expected a message of the user, found {describe(value)}", _REMEDY)
    try:
        return Steer(**read_fields(table.nested(value, key), STEER_FIELDS))
    except ValueError as error:
        table.fail(key, str(error), _REMEDY)


PRIOR_CALL_FIELDS = (
    Field(name="tool", doc_of=PriorCall, schema=STRING, toml=text, required=True),
    Field(name="arguments", doc_of=PriorCall, schema=OBJECT, toml=Table.mapping),
    Field(name="result", doc_of=PriorCall, schema=STRING, toml=required_text),
    Field(name="failed", doc_of=PriorCall, schema=BOOLEAN, toml=Table.flag, default="false"),
)
"""The keys of one entry of `calls` of a message."""

MESSAGE_FIELDS = (
    Field(name="role", doc_of=PriorMessage, schema={"enum": list(_ROLES)}, toml=_role, required=True),
    Field(name="text", doc_of=PriorMessage, schema=STRING, toml=required_text),
    Field(
        name="calls",
        doc_of=PriorMessage,
        schema={"type": "array", "items": PRIOR_CALL_FIELDS},
        toml=_calls,
    ),
)
"""The keys of `[[messages]]`."""

STEER_FIELDS = (
    Field(name="after", doc_of=Steer, schema=STRING, toml=text, default='`"call"`'),
    Field(name="say", doc_of=Steer, schema=STRING, toml=text),
    Field(
        name="nth",
        doc_of=Steer,
        schema={"type": "integer", "minimum": 1},
        toml=lambda table, key: table.whole(key, least=1),
        default="1",
    ),
    Field(name="interrupt", doc_of=Steer, schema=BOOLEAN, toml=Table.flag, default="false"),
)
"""The keys of `[[steer]]`."""

_STEERS: Schema = {"type": "array", "minItems": 1, "items": STEER_FIELDS}


CONVERSATION_FIELDS = (
    Field(
        name="messages",
        doc_of=Scenario,
        schema={"type": "array", "items": {"$ref": "#/$defs/message"}},
        toml=_messages,
        python=_messages,
    ),
    Field(name="steer", doc_of=Scenario, schema=_STEERS, toml=_steer, python=_steer),
)
"""`messages` and `steer`."""
