"""The result of one probe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["blocked", "open", "works", "broken", "inconclusive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """The result of one probe."""

    name: str
    """The action that was tried."""

    state: State
    """Whether the level prevents the action; `inconclusive` if it fails without the sandbox too. For an action that
    must be possible: whether it works.
    """

    expected: bool
    """Whether that is what the level guarantees. An inconclusive result breaks no guarantee."""

    control: str
    """The outcome without the sandbox."""

    found: str
    """The outcome in the sandbox."""
