"""Promotions or demotions: which evals are ready for another policy, and what the others still need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from demeanor.core.values.error_rates import ErrorRates
from demeanor.decide.promotion import Candidate
from demeanor.render import ReportDocument


@dataclass(frozen=True, kw_only=True, slots=True)
class Flapping:
    """How often an eval with one subject changes its policy if both rules are applied every night."""

    rate: float
    """Its true pass rate."""

    promotion: str
    """The rule of promotion, by name."""

    demotion: str
    """The rule of demotion, by name."""

    a_year: float
    """How often a year it is promoted and demoted again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromotionReport:
    """Which evals should be promoted or demoted."""

    action: Literal["promote", "demote"]
    """The direction."""

    rule: str
    """The rule, by name."""

    candidates: tuple[Candidate, ...]
    """All evals with the right policy: those that are ready first, then those that need the least."""

    nights: int
    """The number of nights that count."""

    characteristics: ErrorRates
    """The error rates of the rule."""

    notes: tuple[str, ...] = ()
    """Which nightly runs do not count, and other remarks."""

    flapping: tuple[Flapping, ...] = ()
    """How often evals are promoted and demoted again; empty if an answer may be final."""

    @property
    def command(self) -> str:
        """The command that makes this report."""
        return "demeanor promote --demote" if self.action == "demote" else "demeanor promote"

    @property
    def ready(self) -> tuple[Candidate, ...]:
        """The evals whose policy should be changed."""
        return tuple(candidate for candidate in self.candidates if candidate.answer == self.action)


PROMOTION_DOCUMENT = ReportDocument("promotion", PromotionReport)
"""The JSON document of this report."""
