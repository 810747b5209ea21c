"""Which trials of earlier searches count again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Pass
from demeanor.plugins.lab.cover.kept_trials import kept_trials
from demeanor.statistics.bisection import Tries

BASE = Record(
    eval="reads",
    subject="toy:brain",
    number=1,
    attempt=1,
    verdict=Pass(),
    eval_hash="e1",
    agent_version="1.0",
    prompt_hash="p1",
    settings_hash="usual",
)
WITHOUT = replace(BASE, number=2, verdict=Fail(), prompt_hash="p2", settings_hash="without a")


def test_trials_of_the_same_eval_agent_and_prompt_count() -> None:
    """By the hash of their settings, which include what was removed."""
    assert kept_trials([(BASE, WITHOUT), (BASE, WITHOUT)], BASE) == {"usual": Tries(2, 0), "without a": Tries(0, 2)}


@pytest.mark.parametrize(
    "change",
    [{"eval_hash": "e2"}, {"agent_version": "1.1"}, {"prompt_hash": "p9"}, {"eval": "saves"}, {"subject": "toy:other"}],
)
def test_trials_of_anything_else_do_not_count(change: dict[str, str]) -> None:
    """Another eval, agent or prompt."""
    assert kept_trials([(BASE, WITHOUT)], replace(BASE, **change)) == {}  # type: ignore[arg-type]
