"""An agent that only uses MCP servers, with the official client: `mcp_agent.py SERVERS.json 'call db.search {…}'`."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main(servers: dict[str, Any], prompt: str) -> None:
    """Make the calls that the prompt lists, one per line, and print their results."""
    async with AsyncExitStack() as stack:
        clients = {}
        for name, table in servers.items():
            address = table.get("url")
            program = address or stdio_client(StdioServerParameters(command=table["command"], args=table["args"]))
            clients[name] = await stack.enter_async_context(Client(program))
            offered = await clients[name].list_tools()
            sys.stdout.write(" ".join((name, "offers", *(tool.name for tool in offered.tools))) + "\n")
        for line in prompt.splitlines():
            if line.startswith("call "):
                tool, _, arguments = line.removeprefix("call ").partition(" ")
                server, _, name = tool.partition(".")
                answer = await clients[server].call_tool(name, json.loads(arguments or "{}"))
                text = "".join(getattr(block, "text", "") for block in answer.content)
                sys.stdout.write(" ".join(("error:" if answer.is_error else "answer:", text)) + "\n")


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())["mcpServers"], sys.argv[2]))
