"""Serves a fixture with the official SDK, over standard input and output or over HTTP."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from jsonschema import Draft202012Validator
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from demeanor.core.values.fault import FaultKind
from demeanor.core.values.mcp_fixture import Fixture, Reply, shown_arguments
from demeanor.mcp.probe import Resumed
from demeanor.mcp.record import CallRecorder


class FixtureServer:
    """Answers the requests of one client."""

    def __init__(self, fixture: Fixture, record: CallRecorder) -> None:
        self._fixture = fixture
        self._record = record
        self._used: dict[str, dict[int, int]] = {}
        for call in record.earlier:
            if call.tool in fixture.tools and not call.fault:
                self._reply(call.tool, call.arguments)

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        """The tools."""
        self._record.listed()
        tools = [
            types.Tool(name=name, description=tool.description, input_schema=tool.input_schema)
            for name, tool in self._fixture.tools.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """The scripted reply to a call. A wrong name or argument is the agent's mistake; a missing reply is ours."""
        name, arguments = params.name, dict(params.arguments or {})
        tool = self._fixture.tools.get(name)
        if tool is None:
            return self._answer(name, arguments, f"unknown tool: {name}", error=True)
        if (fault := self._record.fault(name)) is not None:
            return await self._fault(fault.kind, name, arguments, str(fault))
        problem = next(iter(Draft202012Validator(tool.input_schema).iter_errors(arguments)), None)
        if problem is not None:
            return self._answer(name, arguments, f"invalid arguments: {problem.message}", error=True)
        reply = self._reply(name, arguments)
        if reply is None:
            text = f"the fixture has no reply to {name}({shown_arguments(arguments)})"
            return self._answer(name, arguments, text, error=True, unanswered=True)
        return self._answer(name, arguments, reply.filled(arguments), error=reply.error)

    def _reply(self, name: str, arguments: Mapping[str, Any]) -> Reply | None:
        """The reply to a call with valid arguments; it may be used up then."""
        tool = self._fixture.tools[name]
        valid = Draft202012Validator(tool.input_schema).is_valid(dict(arguments))
        return tool.reply(arguments, self._used.setdefault(name, {})) if valid else None

    def _answer(
        self, name: str, arguments: Mapping[str, Any], text: str, *, error: bool, **more: Any
    ) -> types.CallToolResult:
        self._record.called(name, dict(arguments), result=text, succeeded=not error, **more)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=error)

    async def _fault(self, kind: FaultKind, name: str, arguments: Mapping[str, Any], rule: str) -> types.CallToolResult:
        if kind is FaultKind.EMPTY:
            return self._answer(name, arguments, "", error=False, fault=rule)
        if kind.isdigit():
            return self._answer(name, arguments, f"HTTP {kind}", error=True, fault=rule)
        self._record.called(name, dict(arguments), fault=rule)
        if kind is FaultKind.HANG:
            await anyio.sleep_forever()
        os._exit(1)


def serve(fixture: Fixture, record: CallRecorder, first: bytes) -> None:
    """Serve until the client closes the input; `first` is what was read of it already."""
    server = _server(fixture, record)

    async def run() -> None:
        source = io.TextIOWrapper(io.BufferedReader(Resumed(first, 0)), encoding="utf-8", errors="replace")
        async with stdio_server(anyio.wrap_file(source)) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def serve_http(fixture: Fixture, record: CallRecorder, listener: socket.socket) -> None:
    """Serve at a socket until the process is terminated."""
    import uvicorn

    app = _server(fixture, record).streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0)).run(sockets=[listener])


def _server(fixture: Fixture, record: CallRecorder) -> Server[Any]:
    answers = FixtureServer(fixture, record)
    return Server(record.file.name, on_list_tools=answers.list_tools, on_call_tool=answers.call_tool)
