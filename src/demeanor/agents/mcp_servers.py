"""Servers of the Model Context Protocol that an agent starts: `mcp_servers = { db = ["python3", "db.py"] }`.

Each agent has its own place for them, so a recipe turns them into settings or files of its agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from demeanor.agents.program import PLACEHOLDERS, check_placeholders, in_project, project_path
from demeanor.config.table import Table

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


def read_mcp_servers(table: Table, *, in_eval: bool) -> dict[str, tuple[str, ...]]:
    """The key `mcp_servers`: name → command. In the configuration, paths are relative to its file."""
    found: dict[str, tuple[str, ...]] = {}
    for name, words in table.mapping("mcp_servers").items():
        key = f"mcp_servers.{name}"
        if not _NAME.fullmatch(name):
            table.fail(key, "is not a name of letters, digits, - and _", "choose a short name, such as 'db'")
        if not isinstance(words, list | tuple) or not words or not all(isinstance(word, str) for word in words):
            table.fail(key, f"expected a list of strings, found {words!r}", 'write the command: ["python3", "db.py"]')
        for word in words:
            check_placeholders(table, key, word, PLACEHOLDERS)
        found[name] = tuple(words if in_eval else (project_path(table, in_project(table, word)) for word in words))
    return found


def server_tables(servers: Mapping[str, Sequence[str]], **more: Any) -> dict[str, Any]:
    """The usual form: name → `command` (the program), `args`, and what else an agent wants to know."""
    return {name: {"command": words[0], "args": list(words[1:]), **more} for name, words in servers.items()}


def server_file(servers: Mapping[str, Sequence[str]], **more: Any) -> str:
    """The usual file, with the key `mcpServers`, as a text of `home_files`."""
    text = json.dumps({"mcpServers": server_tables(servers, **more)})
    return text.replace("{", "{{").replace("}", "}}")
