"""How consistent a behaviour is expected to be."""

from __future__ import annotations

from enum import StrEnum


class Policy(StrEnum):
    """The consistency that an eval promises. Every new eval starts as USUALLY_PASSES."""

    ALWAYS_PASSES = "ALWAYS_PASSES"
    """Must pass every time; runs on every change and can block it."""

    USUALLY_PASSES = "USUALLY_PASSES"
    """Passes most of the time; runs nightly (or with RUN_EVALS=1) and tracks health."""

    USUALLY_FAILS = "USUALLY_FAILS"
    """A behaviour that is known to be bad: failing is expected, passing is news."""


ALWAYS_PASSES = Policy.ALWAYS_PASSES
USUALLY_PASSES = Policy.USUALLY_PASSES
USUALLY_FAILS = Policy.USUALLY_FAILS
