"""MCP servers that an eval gives its agent: tools with scripted replies, or real server programs.

The values are plain data, so that they can be hashed, written in scenario.toml, and served in the sandbox without any
code of the eval. demeanor/mcp/ serves them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from demeanor.core.text.codec import decode
from demeanor.core.text.wildcards import matches_whole

MCP_FOLDER = ".demeanor/mcp"
"""Where in HOME the description and the record of each server are."""

MCP_LOGS = "mcp"
"""The folder of the records in `Capture.task_files`."""

LISTED = "listed"
"""The key of the line that says that a client asked for the tools."""

SERVER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
Transport: TypeAlias = Literal["stdio", "http"]
"""How an agent reaches a server: it starts a program, or it connects to an address."""

_TYPES = ("string", "number", "integer", "boolean", "array", "object")


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted reply of a tool."""

    text: str = ""
    """The result; `{query}` becomes the value of the argument `query`."""

    _: KW_ONLY

    when: Mapping[str, Any] = field(default_factory=dict)
    """The arguments that it answers; in a string, `*` matches anything. Empty for all calls."""

    error: bool = False
    """Whether the result is an error of the tool."""

    times: int | None = None
    """How many calls it answers; None for any number."""

    def __post_init__(self) -> None:
        """Reject a reply that could never be given."""
        if self.times is not None and self.times < 1:
            raise ValueError(f"times={self.times}: expected 1 or more")

    def answers(self, arguments: Mapping[str, Any]) -> bool:
        """Whether it answers a call with these arguments."""
        return all(name in arguments and _matches(arguments[name], value) for name, value in self.when.items())

    def filled(self, arguments: Mapping[str, Any]) -> str:
        """The text with the arguments of the call."""
        return _PLACEHOLDER.sub(
            lambda match: str(arguments[match[1]]) if match[1] in arguments else match[0], self.text
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class FixtureTool:
    """One tool of a fixture."""

    description: str = ""
    """What the tool does, for the model."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments: a JSON schema, or just `{"query": "string"}`, all of which are then required."""

    replies: tuple[Reply, ...] = ()
    """Its replies: the first that answers the call and is not used up is given. Also a text, a reply, or a list."""

    def __post_init__(self) -> None:
        """Accept a text or a single reply, and replies in any sequence."""
        replies: Any = self.replies
        several = [replies] if isinstance(replies, str | Reply) else list(replies)
        object.__setattr__(
            self, "replies", tuple(Reply(reply) if isinstance(reply, str) else reply for reply in several)
        )

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        if self.schema.get("type") == "object" or not self.schema:
            return dict(self.schema) or {"type": "object", "properties": {}}
        properties = {
            name: {"type": kind} if isinstance(kind, str) else dict(kind) for name, kind in self.schema.items()
        }
        return {"type": "object", "properties": properties, "required": list(properties)}

    def reply(self, arguments: Mapping[str, Any], used: dict[int, int]) -> Reply | None:
        """The reply to a call, which is then counted in `used`; None if there is none."""
        for index, reply in enumerate(self.replies):
            if reply.answers(arguments) and (reply.times is None or used.get(index, 0) < reply.times):
                used[index] = used.get(index, 0) + 1
                return reply
        return None


@dataclass(frozen=True, slots=True)
class Fixture:
    """An MCP server whose tools give scripted replies."""

    tools: Mapping[str, FixtureTool]
    """Its tools, by name."""

    _: KW_ONLY

    transport: Transport = field(default="stdio", repr=False)
    """How the agent reaches it: `stdio` or `http`. Not in the hashed text: `identity` adds it."""

    def __post_init__(self) -> None:
        """Reject a fixture that no client could use."""
        if not self.tools:
            raise ValueError("a fixture needs at least one tool")
        if self.transport not in get_args(Transport):
            raise ValueError(f"transport={self.transport!r}: expected 'stdio' or 'http'")
        for name, tool in self.tools.items():
            if not _TOOL_NAME.fullmatch(name):
                raise ValueError(f"{name!r} can't be a tool's name: use letters, digits, - and _")
            if not tool.replies:
                raise ValueError(f"{name}: has no replies, so that every call would be void")
            kinds = (
                [value for value in tool.schema.values() if isinstance(value, str)] if "type" not in tool.schema else []
            )
            if unknown := [kind for kind in kinds if kind not in _TYPES]:
                raise ValueError(f"{name}: unknown type {unknown[0]!r} in its schema; known: {', '.join(_TYPES)}")


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A real server program that the agent reaches over HTTP."""

    command: tuple[str, ...]
    """Its command, with `{port}` for the port of 127.0.0.1 that it must listen at."""

    _: KW_ONLY

    path: str = "/mcp"
    """The path of its address."""

    def __post_init__(self) -> None:
        """Reject a program that could not be reached."""
        command: Any = self.command
        if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
            raise ValueError(f"command={command!r}: expected a list of strings")
        object.__setattr__(self, "command", tuple(command))
        if not any("{port}" in word for word in self.command):
            raise ValueError("its command has no {port}: write it where the program expects its port")
        if not self.path.startswith("/"):
            raise ValueError(f"path={self.path!r}: must begin with /")


McpServer: TypeAlias = Fixture | HttpServer | tuple[str, ...]
"""A fixture, or a real server program: over HTTP, or the command of one over standard input and output."""


def over_http(server: McpServer) -> bool:
    """Whether the agent reaches it over HTTP."""
    return isinstance(server, HttpServer) or (isinstance(server, Fixture) and server.transport == "http")


def identity(servers: Mapping[str, McpServer]) -> str:
    """What an eval's hash says about its servers; that of servers without HTTP has always been the same."""
    return repr(servers) + "".join(f" {name}:http" for name, server in servers.items() if over_http(server))


@dataclass(frozen=True, kw_only=True, slots=True)
class McpCall:
    """One call that a server received; a line of its record."""

    server: str
    """The server's name."""

    tool: str
    """The tool's name, as the server knows it."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The arguments."""

    result: str | None = None
    """The result; None if none was sent."""

    succeeded: bool | None = None
    """Whether the tool succeeded; None if it sent no result."""

    unanswered: bool = False
    """Whether the fixture had no reply to it."""

    fault: str = ""
    """The fault that was injected."""

    @property
    def name(self) -> str:
        """`server.tool`."""
        return f"{self.server}.{self.tool}"


def _matches(value: Any, pattern: Any) -> bool:
    if isinstance(pattern, str) and isinstance(value, str):
        return matches_whole(value, pattern)
    return bool(value == pattern)


def shown_arguments(arguments: Mapping[str, Any]) -> str:
    """Arguments for a message."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def read_record(text: str) -> Iterator[McpCall]:
    """The calls in a server's record; lines that the agent's side did not finish are left out."""
    for line in text.splitlines():
        try:
            data = json.loads(line)
            if isinstance(data, dict) and "tool" in data:
                yield decode(McpCall, data)
        except (ValueError, RecursionError):
            continue


def was_listed(text: str) -> bool:
    """Whether a client asked the server for its tools."""
    return f'"{LISTED}"' in text
