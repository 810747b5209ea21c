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

_TOOL_TYPES = re.compile(
    r"web_(search|fetch)\w*|code_(execution|interpreter)\w*|mcp(_toolset)?|x_search|openrouter:\w+"
)
"""The types of tools that reach the network from the provider, or run code there. Tools of agents have other types."""

_TOOL_KEYS = frozenset(
    {
        "google_search", "google_search_retrieval", "url_context", "google_maps", "code_execution",
        "enterprise_web_search", "googleSearch", "googleSearchRetrieval", "urlContext", "googleMaps", "codeExecution",
        "enterpriseWebSearch",
    }
)  # fmt: skip
_SETTINGS = ("mcp_servers", "web_search_options", "plugins", "search_parameters")
_ADDRESSES = frozenset(("url", "image_url", "file_url", "fileUri", "file_uri"))
_WITHOUT = frozenset(("args", "arguments", "response", "metadata", "annotations", "citations"))
"""What models and tools have said: addresses in it are not fetched."""

_REMOTE = re.compile(r"(https?|ftp|gs|s3)://", re.IGNORECASE)
_TOOLS = ("tools", "toolConfig", "tool_choice")


def provider_side(body: bytes) -> str | None:
    """What the provider would use the network for, to answer a request; None if nothing."""
    try:
        data = json.loads(body)
        return next(_exits(data), None) if isinstance(data, dict) else None
    except (ValueError, RecursionError):
        return None  # the gateway answers it with an error


def _exits(data: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in _SETTINGS if data.get(name))
    tools = data.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            kind = tool.get("type")
            if isinstance(kind, str) and _TOOL_TYPES.fullmatch(kind):
                yield f"the tool {kind}"
            yield from (f"the tool {key}" for key in _TOOL_KEYS & tool.keys())
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
                if key in _ADDRESSES and isinstance(item, str) and _REMOTE.match(item):
                    yield item
                elif key not in _WITHOUT and (key != "input" or isinstance(item, list)):  # a dict: arguments of a call
                    waiting.append(item)
