"""Promotion and demotion: when an eval earns ALWAYS_PASSES, and when it loses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.decide.promotion.candidate import Candidate as Candidate, CandidateNight as CandidateNight
    from demeanor.decide.promotion.rules import (
        DEFAULTS as DEFAULTS,
        NIGHTS as NIGHTS,
        PolicyRule as PolicyRule,
        demote as demote,
        flapping as flapping,
        near_promotion as near_promotion,
        policy_rule as policy_rule,
        promote as promote,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "candidate": "Candidate CandidateNight",
        "rules": "DEFAULTS NIGHTS PolicyRule demote flapping near_promotion policy_rule promote",
    },
)
