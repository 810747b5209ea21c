"""Servers of the Model Context Protocol: `mcp_servers = { db = ["python3", "db.py"], docs = "http://…/mcp" }`.

An agent starts the program of a command, and connects to an address. Each agent has its own place for them, so a recipe
turns them into settings or files of its agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from demeanor.agents.program import PLACEHOLDERS, check_placeholders, fill, in_project, project_path
from demeanor.config import Table

_EXAMPLE = 'write the command: ["python3", "db.py"], or an address: "http://127.0.0.1:8000/mcp"'
_HTTP = {"type": "http"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


Servers: TypeAlias = Mapping[str, tuple[str, ...] | str]
"""Servers by name: the command of each, or its address."""


def read_mcp_servers(table: Table, *, in_eval: bool) -> dict[str, tuple[str, ...] | str]:
    """The key `mcp_servers`: name → command or address. In the configuration, paths are relative to its file."""
    servers: dict[str, tuple[str, ...] | str] = {}
    for name, words in table.mapping("mcp_servers").items():
        key = f"mcp_servers.{name}"
        if not _NAME.fullmatch(name):
            table.fail(key, "is not a name of letters, digits, - and _", "choose a short name, such as 'db'")
        if isinstance(words, str) and re.fullmatch(r"https?://[^\s{}]+", words):
            servers[name] = words
            continue
        if not isinstance(words, list | tuple) or not words or not all(isinstance(word, str) for word in words):
            table.fail(key, f"expected a list of strings, found {words!r}", _EXAMPLE)
        for word in words:
            check_placeholders(table, key, word, PLACEHOLDERS)
        servers[name] = tuple(words if in_eval else (project_path(table, in_project(table, word)) for word in words))
    return servers


def filled_servers(servers: Servers, values: Mapping[str, str]) -> Servers:
    """The servers with placeholders filled in."""
    return {
        name: words if isinstance(words, str) else tuple(fill(word, values) for word in words)
        for name, words in servers.items()
    }


def server_tables(
    servers: Servers, *, http: Mapping[str, str] = _HTTP, url: str = "url", **more: Any
) -> dict[str, dict[str, Any]]:
    """The usual form: name → `command` (the program) and `args`, and what else an agent wants to know.

    The table of an address has it under the key `url`, with the keys `http`.
    """
    return {
        name: {**more, **http, url: words}
        if isinstance(words, str)
        else {"command": words[0], "args": list(words[1:]), **more}
        for name, words in servers.items()
    }


def server_file(servers: Servers, **more: Any) -> str:
    """The usual file, with the key `mcpServers`, as a text of `home_files`."""
    text = json.dumps({"mcpServers": server_tables(servers, **more)})
    return text.replace("{", "{{").replace("}", "}}")
