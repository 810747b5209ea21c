"""An MCP server with one tool, which the suite copies into the workspace. Standard library only."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "secret_word",
    "description": "Returns the secret word for a bird.",
    "inputSchema": {"type": "object", "properties": {"bird": {"type": "string"}}, "required": ["bird"]},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request, or an error; clients try methods of newer versions first."""
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        info = {"name": "conformance", "version": "1.0.0"}
        return _result({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    if method == "tools/list":
        return _result({"tools": [TOOL]})
    if method == "tools/call":
        return _result({"content": [{"type": "text", "text": params["arguments"]["bird"] + "-8431"}]})
    if method == "ping":
        return _result({})
    return {"error": {"code": -32601, "message": f"there is no method {method}"}}


def _result(value: dict[str, Any]) -> dict[str, Any]:
    return {"result": value}


def main() -> None:
    """Answer requests, one per line, until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = answer(str(message.get("method")), message.get("params") or {})
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
