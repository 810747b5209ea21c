"""Answers an agent's requests for permission by the eval's `approval`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.acp.events import EventLog
from demeanor.core.approval import Approver

_UNKNOWN = "other"
_KINDS = frozenset({"read", "edit", "delete", "search", "execute", "fetch", "think"})
_OPTION_KINDS = {"allow": ("allow_once", "allow_always"), "deny": ("reject_once", "reject_always")}


class PermissionHandler:
    """Answers requests in the terms of the protocol, and counts denials."""

    def __init__(self, approval: Mapping[str, Any]) -> None:
        self._approver = Approver(approval)
        self._by_kind = not _KINDS.isdisjoint(approval.get("rules", {}))
        self.denied = 0
        """How many requests were denied so far."""

    def needs_kind(self, params: Mapping[str, Any], events: EventLog) -> bool:
        """Whether the answer may depend on the tool's kind, which the agent has not told yet."""
        call = params.get("toolCall")
        return self._by_kind and events.kind_of(call if isinstance(call, dict) else {}) == _UNKNOWN

    def outcome(self, params: Mapping[str, Any], events: EventLog) -> dict[str, str]:
        """The result of a request. If the agent does not offer the answer, it is `cancelled`, which is a denial."""
        options = params.get("options")
        offered = {str(option.get("kind")): option.get("optionId") for option in _dicts(options)}
        chosen = ""

        def decide(tool: str, kind: str) -> str:
            nonlocal chosen
            answer = self._approver.answer(tool, kind)
            chosen = next((str(offered[name]) for name in _OPTION_KINDS[answer] if name in offered), "")
            return answer if chosen else "deny"

        call = params.get("toolCall")
        if events.asked(call if isinstance(call, dict) else {}, decide) == "deny":
            self.denied += 1
        return {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
