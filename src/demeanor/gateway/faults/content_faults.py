"""Faults in what a model says: the answer is sound, but another one."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from demeanor.core.exchange import Response, StopReason
from demeanor.core.fault import FaultKind
from demeanor.core.messages import ToolCall

if TYPE_CHECKING:
    from demeanor.core.fault import Fault
    from demeanor.core.messages import Part


def change(fault: Fault, response: Response, *, seed: int) -> Response:
    """The answer with the fault in it; the same answer where there is nothing to change."""
    if fault.kind is FaultKind.EMPTY:
        return replace(response, parts=(), stop=StopReason.END)
    return replace(response, parts=tuple(_renamed(part, seed) for part in response.parts))


def _renamed(part: Part, seed: int) -> Part:
    """A tool call under an id that no provider would have made, the same for the same call of the same trial."""
    if not isinstance(part, ToolCall):
        return part
    return replace(part, id=f"changed_{hashlib.sha256(f'{seed}/{part.id}'.encode()).hexdigest()[:16]}")
