"""What came of something that a hostile program tries; conformance.py has it tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["blocked", "open", "works", "broken", "inconclusive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What came of one probe."""

    name: str
    """What was tried."""

    state: State
    """Whether the level keeps it from happening; inconclusive where it does not happen without it either. Of what must
    be possible: whether it is.
    """

    expected: bool
    """Whether that is what the level promises; what proves nothing breaks no promise."""

    control: str
    """What happened without a wall."""

    found: str
    """What happened behind it."""
