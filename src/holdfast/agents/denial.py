"""Which of an agent's tools an eval's `approval` forbids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.core.scenario import Approval
from holdfast.core.trajectory import Kind, kind_of

_ASKED_FOR = frozenset({Kind.EDIT, Kind.DELETE, Kind.EXECUTE, Kind.FETCH})
"""What agents ask a person about; they read and search without a question, so a default of «no» does not reach that."""


def denied(approval: Approval, tools: Iterable[str], kinds: Mapping[str, Kind]) -> tuple[str, ...]:
    """Those of an agent's tools, and of those named by a rule, to which the answer is «no»."""
    named = [name for name in approval.rules if name not in set(Kind)]
    return tuple(tool for tool in dict.fromkeys((*tools, *named)) if _answer(approval, tool, kinds) == "deny")


def _answer(approval: Approval, tool: str, kinds: Mapping[str, Kind]) -> str:
    kind = kind_of(tool, kinds)
    answer = approval.answer(tool=tool, kind=kind)
    ruled = tool in approval.rules or kind in approval.rules
    return answer if ruled or kind in _ASKED_FOR else "allow"
