"""Reads `mcp`: the MCP servers that an eval gives its agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.config import Table, describe
from demeanor.core.values.mcp_fixture import SERVER_NAME, Fixture, FixtureTool, HttpServer, McpServer, Reply, Transport
from demeanor.define.field import BOOLEAN, OBJECT, STRING, STRINGS, Field, Schema, read_fields, text

_EXAMPLE = 'write a Fixture, or the command of a server: ["python3", "{workspace}/server.py"]'


def read_mcp(table: Table, key: str) -> dict[str, McpServer]:
    """The servers by name."""
    return {name: _server(table, f"{key}.{name}", name, value) for name, value in table.mapping(key).items()}


def _server(table: Table, key: str, name: str, value: Any) -> McpServer:
    if not SERVER_NAME.fullmatch(name):
        table.fail(key, "is not a name of letters, digits, - and _", "choose a short name, such as 'github'")
    if isinstance(value, Fixture | HttpServer):
        return value
    if isinstance(value, Mapping):
        nested = table.nested(value, key)
        fields = read_fields(nested, SERVER_FIELDS)
        if ("tools" in fields) == ("command" in fields):
            table.fail(key, "expected either command or tools", "see: demeanor help users")
        return _from_fields(nested, fields)
    if not isinstance(value, list | tuple) or not value or not all(isinstance(word, str) for word in value):
        table.fail(key, f"expected an MCP server, found {describe(value)}", _EXAMPLE)
    return tuple(value)


def _from_fields(table: Table, fields: Mapping[str, Any]) -> McpServer:
    transport = fields.get("transport", "stdio")
    if "path" in fields and ("tools" in fields or transport != "http"):
        table.fail("path", "is only for a command over HTTP", 'add transport = "http", or remove the key')
    if "tools" in fields:
        return _fixture(table, fields["tools"], transport)
    if transport != "http":
        return tuple(fields["command"]) or table.fail("command", "is empty", _EXAMPLE)
    try:
        return HttpServer(fields["command"], **({"path": fields["path"]} if "path" in fields else {}))
    except ValueError as error:
        table.fail("command", str(error))


def _fixture(table: Table, tools: Mapping[str, Any], transport: Transport) -> Fixture:
    fixture_tools = {}
    for name, value in tools.items():
        nested = table.nested(value, f"tools.{name}")
        fixture_tools[name] = FixtureTool(**read_fields(nested, TOOL_FIELDS))
    try:
        return Fixture(fixture_tools, transport=transport)
    except ValueError as error:
        table.fail("tools", str(error))


def _replies(table: Table, key: str) -> tuple[Reply, ...]:
    value = table.anything(key)
    several = value if isinstance(value, list | tuple) else [value]
    return tuple(_reply(table, f"{key}[{index}]", reply) for index, reply in enumerate(several))


def _reply(table: Table, key: str, value: Any) -> Reply:
    if isinstance(value, str):
        return Reply(value)
    return Reply(**read_fields(table.nested(value, key), REPLY_FIELDS))


REPLY_FIELDS = (
    Field(name="text", doc_of=Reply, schema=STRING, toml=Table.text),
    Field(name="when", doc_of=Reply, schema=OBJECT, toml=Table.mapping),
    Field(name="error", doc_of=Reply, schema=BOOLEAN, toml=Table.flag, default="false"),
    Field(
        name="times",
        doc_of=Reply,
        schema={"type": "integer", "minimum": 1},
        toml=lambda table, key: table.whole(key, least=1),
    ),
)
"""The keys of a reply."""


_REPLY: Schema = {"anyOf": [STRING, REPLY_FIELDS]}
_REPLIES: Schema = {"anyOf": [_REPLY, {"type": "array", "minItems": 1, "items": _REPLY}]}

TOOL_FIELDS = (
    Field(name="description", doc_of=FixtureTool, schema=STRING, toml=text),
    Field(name="schema", doc_of=FixtureTool, schema=OBJECT, toml=Table.mapping),
    Field(name="replies", doc_of=FixtureTool, schema=_REPLIES, toml=_replies, required=True),
)
"""The keys of a tool."""

SERVER_FIELDS = (
    Field(
        name="tools",
        text="A fixture: its tools, by name.",
        schema={"type": "object", "additionalProperties": TOOL_FIELDS},
        toml=Table.mapping,
    ),
    Field(
        name="command",
        text="The command of a server program; `{workspace}` and `{home}` are filled in, and `{port}` over HTTP.",
        schema=STRINGS,
        toml=Table.texts,
    ),
    Field(
        name="transport",
        text="How the agent reaches it: it starts a program (`stdio`), or connects to an address (`http`).",
        schema={"enum": ["stdio", "http"]},
        toml=lambda table, key: table.choice(key, ("stdio", "http")),
        default="stdio",
    ),
    Field(
        name="path", text="The path of a command's address, over HTTP.", schema=STRING, toml=Table.text, default="/mcp"
    ),
)
"""The keys of `[mcp.NAME]`: `tools` or `command`, and how the agent reaches it."""

MCP: Schema = {"type": "object", "additionalProperties": {"anyOf": [STRINGS, SERVER_FIELDS]}}
"""The schema of `mcp`."""
