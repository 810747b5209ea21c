"""How consistently an eval is expected to pass."""

from __future__ import annotations

from enum import StrEnum


class Policy(StrEnum):
    """How consistently an eval is expected to pass. New evals start as USUALLY_PASSES."""

    ALWAYS_PASSES = "ALWAYS_PASSES"
    """Must pass every time; runs on every change and can block it."""

    USUALLY_PASSES = "USUALLY_PASSES"
    """Passes most of the time; runs nightly (or with RUN_EVALS=1) to track its pass rate."""

    USUALLY_FAILS = "USUALLY_FAILS"
    """A known weakness: failing is expected, passing is news."""


ALWAYS_PASSES = Policy.ALWAYS_PASSES
USUALLY_PASSES = Policy.USUALLY_PASSES
USUALLY_FAILS = Policy.USUALLY_FAILS
