"""Answers an agent's requests for permission by the eval's `approval`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.agents.acp_client.events import EventLog
from demeanor.agents.acp_client.wire import Wire
from demeanor.core.text.json_values import as_dict, as_dicts
from demeanor.core.values.approval import Approver

_UNKNOWN = "other"
_KINDS = frozenset({"read", "edit", "delete", "search", "execute", "fetch", "think"})
_OPTION_KINDS = {"allow": ("allow_once", "allow_always"), "deny": ("reject_once", "reject_always")}


class PermissionHandler:
    """Answers requests in the terms of the protocol, and counts denials."""

    def __init__(self, approval: Mapping[str, Any], wire: Wire) -> None:
        self._approver = Approver(approval)
        self._wire = wire
        self._by_kind = not _KINDS.isdisjoint(approval.get("rules", {}))
        self.denied = 0
        """How many requests were denied so far."""

    def identify(self, params: Mapping[str, Any], events: EventLog) -> None:
        """Find the call of a new request in the model's answers, which have the name of its tool."""
        call = _call(params)
        if tool := self._wire.tool_of(*events.identity(call)):
            events.set_tool(call, tool)

    def needs_kind(self, params: Mapping[str, Any], events: EventLog) -> bool:
        """Whether the answer may depend on the tool's kind, which neither the agent nor the model's answer has told."""
        return self._by_kind and events.kind_of(_call(params)) == _UNKNOWN

    def outcome(self, params: Mapping[str, Any], events: EventLog) -> dict[str, str]:
        """The result of a request. If the agent does not offer the answer, it is `cancelled`, which is a denial."""
        options = params.get("options")
        offered = {str(option.get("kind")): option.get("optionId") for option in as_dicts(options)}
        chosen = ""

        def decide(tool: str, kind: str) -> str:
            nonlocal chosen
            answer = self._approver.answer(tool, kind)
            chosen = next((str(offered[name]) for name in _OPTION_KINDS[answer] if name in offered), "")
            return answer if chosen else "deny"

        if events.asked(_call(params), decide) == "deny":
            self.denied += 1
        return {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}


def _call(params: Mapping[str, Any]) -> dict[str, Any]:
    return as_dict(params.get("toolCall"))
