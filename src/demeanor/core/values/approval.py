"""The rule by which an eval's `approval` answers requests for permission.

This module imports nothing but the standard library and nothing else of Demeanor: the programs that run inside a
sandbox (the native agent, the ACP client, the host of Python agents) use it too. A copy of the native agent for Harbor
includes this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

DEFAULT = "default"


def matching_rule(rules: Mapping[str, Any], tool: str, kind: str) -> str:
    """The rule that answers a request: the tool's own, else that of its kind, else the default."""
    return next((name for name in (tool, kind) if rules.get(name)), DEFAULT)


def scripted_answer(answers: str | Sequence[str], earlier: int) -> str:
    """The answer after `earlier` others. Several answers are given in order; the last one is repeated."""
    script = [answers] if isinstance(answers, str) else answers
    return script[min(earlier, len(script) - 1)]


class Approver:
    """Answers the requests of one session in order, by an `Approval` in its JSON form."""

    def __init__(self, approval: Mapping[str, Any]) -> None:
        self._default = approval.get("default", "allow")
        self._rules: Mapping[str, Any] = approval.get("rules", {})
        self._given: dict[str, int] = {}

    def answer(self, tool: str, kind: str) -> str:
        """The answer to the next request: `allow` or `deny`."""
        rule = matching_rule(self._rules, tool, kind)
        earlier = self._given.get(rule, 0)
        self._given[rule] = earlier + 1
        return scripted_answer(self._rules.get(rule) or self._default, earlier)
