"""Every hostile agent of the table gets the required verdict, for the required reason, at every level.

The level `none` isolates nothing, so root does not run the table there.
"""

from __future__ import annotations

import os

import pytest

from demeanor.commands.doctor.hostile import HOSTILE_TIMEOUT, run_hostile
from demeanor.commands.doctor.hostile_table import HOSTILE
from demeanor.core.values.errors import UsageError


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_every_hostile_agent_gets_its_verdict(level: str) -> None:
    """The whole table, through the command line."""
    results = list(run_hostile(level, timeout=HOSTILE_TIMEOUT))
    assert [result.behaviour for result in results] == [row.name for row in HOSTILE]
    assert [result for result in results if not result.right] == []


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
