"""Reads `user`: who answers after the agent's turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.config import Table, describe
from demeanor.core.values.user import ScriptedUser, SimulatedUser, User, UserReply
from demeanor.define.field import (
    BOOLEAN,
    STRING,
    Field,
    Schema,
    read_fields,
    require_function,
    required_text,
    text,
)

_EXAMPLE = "write a list of replies, a function of the rig, a ScriptedUser or a SimulatedUser"


def read_user(table: Table, key: str) -> User:
    """The user in Python: a value, a function, or replies."""
    value = table.anything(key)
    if isinstance(value, ScriptedUser | SimulatedUser):
        if isinstance(value, ScriptedUser) and value.reply is not None:
            _require_reply(table, key, value.reply)
        return value
    if callable(value):
        _require_reply(table, key, value)
        return ScriptedUser(reply=value)
    if isinstance(value, str | UserReply):
        value = [value]
    if not isinstance(value, list | tuple) or not all(isinstance(reply, str | UserReply) for reply in value):
        table.fail(key, f"expected a user, found {describe(value)}", _EXAMPLE)
    try:
        return ScriptedUser(replies=tuple(value))
    except ValueError as error:
        table.fail(key, str(error), _EXAMPLE)


def read_user_table(table: Table, key: str) -> User:
    """The user in scenario.toml: a table, or a list of replies."""
    value = table.anything(key)
    if isinstance(value, list):
        value = {"replies": value}
    if not isinstance(value, Mapping):
        table.fail(key, f"expected a table or a list of replies, found {describe(value)}", "see: demeanor help users")
    nested = table.nested(value, key)
    simulated = any(name in value for name in ("goal", "persona", "opening", "model"))
    fields = read_fields(nested, SIMULATED_FIELDS if simulated else SCRIPTED_FIELDS)
    try:
        return SimulatedUser(**fields) if simulated else ScriptedUser(**fields)
    except ValueError as error:
        table.fail(key, str(error), "see: demeanor help users")


def _require_reply(table: Table, key: str, function: Any) -> None:
    require_function(table, key, function, of=", the rig", example="def reply(rig):")


def _replies(table: Table, key: str) -> tuple[UserReply, ...]:
    value = table.anything(key)
    several = value if isinstance(value, list | tuple) else [value]
    return tuple(_reply(table, f"{key}[{index}]", reply) for index, reply in enumerate(several))


def _reply(table: Table, key: str, value: Any) -> UserReply:
    if isinstance(value, UserReply):
        return value
    fields = {"text": value} if isinstance(value, str) else read_fields(table.nested(value, key), USER_REPLY_FIELDS)
    try:
        return UserReply(fields.pop("text"), **fields)
    except ValueError as error:
        table.fail(key, str(error), "give it a text")


def _number(table: Table, key: str) -> int | None:
    return table.whole(key, least=1)


_NUMBER: Schema = {"type": "integer", "minimum": 1}
USER_REPLY_FIELDS = (
    Field(name="text", doc_of=UserReply, schema=STRING, toml=required_text, required=True),
    Field(name="when", doc_of=UserReply, schema=STRING, toml=text),
    Field(name="times", doc_of=UserReply, schema=_NUMBER, toml=_number),
)
"""The keys of a reply."""


_REPLIES: Schema = {"type": "array", "items": {"anyOf": [STRING, USER_REPLY_FIELDS]}}

SCRIPTED_FIELDS = (
    Field(name="replies", doc_of=ScriptedUser, schema=_REPLIES, toml=_replies),
    Field(name="answers", doc_of=ScriptedUser, schema=_REPLIES, toml=_replies),
    Field(name="max_turns", doc_of=ScriptedUser, schema=_NUMBER, toml=_number, default="10"),
)
"""The keys of `[user]` for a user who follows rules."""

SIMULATED_FIELDS = (
    Field(name="goal", doc_of=SimulatedUser, schema=STRING, toml=required_text, required=True),
    Field(name="persona", doc_of=SimulatedUser, schema=STRING, toml=text),
    Field(name="opening", doc_of=SimulatedUser, schema=STRING, toml=text),
    Field(name="model", doc_of=SimulatedUser, schema=STRING, toml=text),
    Field(name="answers", doc_of=SimulatedUser, schema=_REPLIES, toml=_replies),
    Field(name="max_turns", doc_of=SimulatedUser, schema=_NUMBER, toml=_number, default="10"),
    Field(name="check_role", doc_of=SimulatedUser, schema=BOOLEAN, toml=Table.flag, default="true"),
    Field(name="instructions", doc_of=SimulatedUser, schema=STRING, toml=text),
)
"""The keys of `[user]` for a user whom a model plays."""

USER: Schema = {"anyOf": [_REPLIES, SCRIPTED_FIELDS, SIMULATED_FIELDS]}
"""The schema of `user`."""
