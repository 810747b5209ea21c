"""Every hostile agent of the table gets the required verdict, for the required reason, at every level.

The level `none` isolates nothing, so root does not run the table there.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from demeanor.commands.doctor.hostile import HOSTILE_TIMEOUT, HostileResult, run_hostile
from demeanor.commands.doctor.hostile_table import HOSTILE
from demeanor.commands.doctor.hostile_voids import FOR_A_VOID
from demeanor.core.values.errors import UsageError


@pytest.mark.parametrize(
    ("level", "dialect", "attempts"), [("bubblewrap", "openai-chat", 1), ("landlock", "gemini", 2)]
)
def test_every_hostile_agent_gets_its_verdict(level: str, dialect: str, attempts: int) -> None:
    """Through the command line. Of those that want a void, the ones of one dialect; `doctor --hostile` runs all."""
    few = [row for row in FOR_A_VOID if f", in {dialect}" in row.name and row.attempts == attempts]
    table = [row for row in HOSTILE if row not in FOR_A_VOID or row in few]
    assert len(table) - len(few) > 30 < 2 * len(few)
    results = list(run_hostile(level, timeout=HOSTILE_TIMEOUT, table=table))
    assert [result.tried for result in results] == [row.name for row in table]
    assert [result for result in results if not result.right] == []


def test_a_better_verdict_than_earned_is_one() -> None:
    """A void is better than a fail, and a pass better than both; a trial that was not made is neither."""
    base = HostileResult(level="bubblewrap", tried="it", goal="", earned="void", got="void")
    assert [replace(base, got=got).better for got in ("pass", "void", "fail", "not run")] == [True, False, False, False]
    assert [replace(base, got=got).right for got in ("pass", "void", "fail")] == [False, True, False]


def test_many_ways_are_tried() -> None:
    """Misdeeds, dialects and attempts together."""
    assert len(FOR_A_VOID) >= 100


def test_root_does_not_run_hostile_agents_without_isolation() -> None:
    """As root it is refused before anything is started; an ordinary user may."""
    if os.getuid() == 0:
        with pytest.raises(UsageError, match="not run as root at the level none"):
            list(run_hostile("none", timeout=HOSTILE_TIMEOUT))
    else:
        assert [result for result in run_hostile("none", timeout=HOSTILE_TIMEOUT) if not result.right] == []


def test_a_row_that_fails_must_say_why() -> None:
    """Otherwise a trial that fails for another reason would count as right."""
    assert [row.name for row in HOSTILE if row.outcome == "fail" and not row.because] == []
    assert len({row.name for row in HOSTILE}) == len(HOSTILE)
