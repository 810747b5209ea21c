"""Looks up a tool call in the exchanges that the gateway has recorded: there it has the name of its tool."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

_PATH = "/demeanor/calls"
_TIMEOUT = 10.0
_MAX_BYTES = 8 * 2**20


class Wire:
    """The calls that the model requested, as the gateway tells them."""

    def __init__(self, base_url: str, token: str) -> None:
        self._base_url = base_url
        self._token = token

    def tool_of(self, call_id: str, arguments: Mapping[str, Any]) -> str:
        """The tool of a call, found by its id or else by its arguments; empty if that is not certain."""
        calls = self._calls()
        named = {call["tool"] for call in calls if call["id"] and call["id"] == call_id}
        if not named and arguments:
            named = {call["tool"] for call in calls if call["arguments"] == arguments}
        return str(named.pop()) if len(named) == 1 else ""

    def _calls(self) -> list[dict[str, Any]]:
        """The newest calls; none if there is no gateway, or if it can't be reached."""
        if not self._base_url:
            return []
        request = urllib.request.Request(  # noqa: S310 - the address of the gateway
            f"{self._base_url}{_PATH}", headers={"Authorization": f"Bearer {self._token}"}
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=_TIMEOUT) as response:
                calls: list[dict[str, Any]] = json.loads(response.read(_MAX_BYTES))["calls"]
                return calls
        except (OSError, ValueError):
            return []
