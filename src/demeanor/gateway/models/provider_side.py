"""What a request lets the provider reach in the network: an exit of the sandbox that the gateway closes.

A request can name tools that run at the provider (web search, MCP servers), or files that the provider fetches by their
address. An agent without a network would have one this way, and could send there what it has read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from demeanor.core.text.wording import one_line

_AT_PROVIDER = re.compile(
    r"(?!.*(tool|file)_?search)(?=.*(search|fetch|brows|crawl|url|maps|mcp|retrieval|connector|code_?(exec|interp)|builtin))"
    r"|openrouter:",
    re.IGNORECASE,
)
"""Words in the types of tools that reach the network from the provider, or run code there, and in the names of
Gemini's. Tools of agents have other types."""

_SETTINGS = re.compile(r"(?!disable|no_).*(search|mcp_servers|plugins).*|compound_custom", re.IGNORECASE)
_ADDRESS = re.compile(r".*ur[li]|file_data|data|image", re.IGNORECASE)
_WITHOUT = frozenset(("args", "arguments", "response", "metadata", "annotations", "citations"))
"""What models and tools have said: addresses in it are not fetched."""

_REMOTE = re.compile(r"\s*(https?|ftp|gs|s3)://", re.IGNORECASE)
_TOOLS = ("tools", "toolConfig", "tool_choice")


def provider_side(body: bytes) -> str | None:
    """What the provider would use the network for, to answer a request; None if nothing."""
    try:
        data = json.loads(body, object_pairs_hook=_object)
        return next(_exits(data), None) if isinstance(data, dict) else None
    except _Repeated as repeated:
        return f"{one_line(str(repeated), width=100)!r}, which stands twice in an object,"
    except (ValueError, RecursionError):
        return None  # the gateway answers it with an error


class _Repeated(Exception):
    """A field that an object has twice: the provider may take the one that the gateway does not."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Repeated(next(name for name in names if names.count(name) > 1))
    return found


def _exits(data: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name, value in data.items() if value and _SETTINGS.fullmatch(name))
    tools = data.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            kind = tool.get("type")
            if isinstance(kind, str) and _AT_PROVIDER.match(kind):
                yield f"the tool {one_line(kind, width=100)}"
            if kind is None and "name" not in tool:  # those of Gemini
                yield from (f"the tool {key}" for key in tool if _AT_PROVIDER.match(key))
            if isinstance(tool.get("environment"), dict):
                yield f"the environment of the tool {kind}"
    conversation = [value for key, value in data.items() if key not in _TOOLS]  # a schema may have any names
    yield from (f"the content of {one_line(address, width=100)}" for address in _addresses(conversation))


def _addresses(value: Any) -> Iterator[str]:
    """The addresses of images and files, wherever they stand; arguments of calls are texts or have other names."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, str) and _REMOTE.match(item) and _ADDRESS.fullmatch(key):
                    yield item
                elif key not in _WITHOUT and (key != "input" or isinstance(item, list)):  # a dict: arguments of a call
                    waiting.append(item)
