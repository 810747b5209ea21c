"""Requests for permission, answered by the eval's approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.acp.events import EventLog

_WAYS = {"allow": ("allow_once", "allow_always"), "deny": ("reject_once", "reject_always")}


class Approver:
    """Answers for the user. Several answers of one rule are given in order, the last of them from then on."""

    def __init__(self, approval: Mapping[str, Any]) -> None:
        self._default = approval.get("default", "allow")
        self._rules: Mapping[str, Any] = approval.get("rules", {})
        self._given: dict[str, int] = {}
        self.denied = 0
        """How many requests were denied so far."""

    def outcome(self, params: Mapping[str, Any], story: EventLog) -> dict[str, str]:
        """The protocol's answer to a request; an answer that is not on offer becomes «cancelled», which is a «no»."""
        options = params.get("options")
        offered = {str(option.get("kind")): option.get("optionId") for option in _tables(options)}
        chosen = ""

        def decide(tool: str, kind: str) -> str:
            nonlocal chosen
            answer = self.answer(tool, kind)
            chosen = next((str(offered[way]) for way in _WAYS[answer] if way in offered), "")
            return answer if chosen else "deny"

        call = params.get("toolCall")
        if story.asked(call if isinstance(call, dict) else {}, decide) == "deny":
            self.denied += 1
        return {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}

    def answer(self, tool: str, kind: str) -> str:
        """The next answer of the rule that speaks: the tool's own, its kind's, or the default."""
        rule = next((name for name in (tool, kind) if self._rules.get(name)), "default")
        answers = self._rules.get(rule) or self._default
        script = [answers] if isinstance(answers, str) else answers
        earlier = self._given.get(rule, 0)
        self._given[rule] = earlier + 1
        return str(script[min(earlier, len(script) - 1)])


def _tables(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
