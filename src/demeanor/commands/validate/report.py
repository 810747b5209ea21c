"""The result of `demeanor validate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from demeanor.commands.validate.prefixes import PrefixState
from demeanor.judge import SelfTest

if TYPE_CHECKING:
    from demeanor.gateway.cassette import CassetteProblem


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidationReport:
    """The result of validating some evals."""

    tests: tuple[SelfTest, ...]
    """The self-test of each eval."""

    faulty: tuple[str, ...]
    """The names of the evals with a fault."""

    too_early: frozenset[str]
    """New evals that are ALWAYS_PASSES."""

    promoted_by_hand: frozenset[str]
    """Evals whose promotion is not recorded."""

    faulty_by_hand: frozenset[str]
    """Those of them that are faults."""

    reasons_by_hand: Mapping[str, str]
    """By name: why the history shows that an eval was promoted by hand, if it does."""

    tasks: tuple[str, ...]
    """The names of the evals that are whole tasks."""

    tasks_not_run: str | None
    """Why tasks were not run; None if they were, or if there are none."""

    warnings: Mapping[str, tuple[str, ...]]
    """Warnings about tasks, by name."""

    cassettes: tuple[CassetteProblem, ...]
    """Cassettes with a problem."""

    prefixes: tuple[PrefixState, ...]
    """The prefixes that evals start from."""

    lacking: tuple[str, ...]
    """The definitions of evals that can't be read on this machine, each with the reason."""

    base: str | None
    """The commit that evals were compared with."""

    problem: str | None
    """Why new and promoted evals can't be told from others; None if they can, or if no eval is ALWAYS_PASSES."""

    strict: bool
    """Whether unproven evals are faults too."""


def fault_count(test: SelfTest, *, strict: bool) -> int:
    """Count the faults of a self-test; an unproven eval is one only with `strict`."""
    return sum(1 for complaint in test.complaints if strict or complaint.fault != "unproven")
