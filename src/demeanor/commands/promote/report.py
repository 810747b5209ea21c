"""What nights say about policies, as a value: every format is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from demeanor.commands.promote.values import Candidate
from demeanor.core.error_rates import ErrorRates
from demeanor.render.documents import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class PromotionReport:
    """Which evals may promise more, or must promise less."""

    action: Literal["promote", "demote"]
    """What is asked."""

    rule: str
    """The rule, by name."""

    candidates: tuple[Candidate, ...]
    """Every eval that was asked about: those that are ripe first, then the nearest misses."""

    nights: int
    """How many nightly runs the history has."""

    characteristics: ErrorRates
    """The error rates of the rule."""

    @property
    def ripe(self) -> tuple[Candidate, ...]:
        """Those whose policy is to be changed."""
        return tuple(one for one in self.candidates if one.answer == self.action)


PROMOTION_DOCUMENT = Document("promotion", PromotionReport)
"""The JSON document of this report."""
