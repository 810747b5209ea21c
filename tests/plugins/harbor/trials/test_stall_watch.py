"""How long a provider had owed an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from demeanor.plugins.harbor.trials import attempt as silence
from demeanor.plugins.harbor.trials.attempt import StallWatch


class Session:
    """A gateway session whose provider may owe an answer."""

    def __init__(self) -> None:
        self.owes = True
        self.since = time.monotonic()

    def waiting(self) -> bool:
        """Whether it owes one."""
        return self.owes

    def last_activity(self) -> float:
        """Since when."""
        return self.since


@contextmanager
def looking(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session that is looked at all the time."""
    monkeypatch.setattr(silence, "_INTERVAL", 0.01)
    yield Session()


def watched(session: Session, *, owes_at_the_end: bool) -> tuple[StallWatch, float]:
    """What was seen of it, and when the agent ended."""

    async def play() -> tuple[StallWatch, float]:
        async with StallWatch.of(session) as seen:  # type: ignore[arg-type]
            await asyncio.sleep(0.1)
            ended = time.time()
            session.owes = owes_at_the_end
            await asyncio.sleep(0.05)
            return seen, ended

    return asyncio.run(play())


def test_a_provider_that_owed_an_answer_at_the_end_is_to_blame(monkeypatch: pytest.MonkeyPatch):
    """Although no request is waiting any more when we ask."""
    with looking(monkeypatch) as session:
        session.since -= 30
        seen, ended = watched(session, owes_at_the_end=False)
        assert seen.at(ended, timeout=60) == pytest.approx(30, abs=20)


def test_a_short_silence_or_one_long_ago_is_not(monkeypatch: pytest.MonkeyPatch):
    """Answers take their time."""
    with looking(monkeypatch) as session:
        session.since -= 2
        seen, ended = watched(session, owes_at_the_end=True)
        assert seen.at(ended, timeout=60) is None
        assert seen.at(ended, timeout=4) is not None
        assert seen.at(ended + 60, timeout=4) is None
        assert seen.at(None, timeout=4) is None


def test_without_a_session_no_stall_is_reported():
    """The wire was not seen."""

    async def play() -> float | None:
        async with StallWatch.of(None) as seen:
            return seen.at(time.time(), timeout=1)

    assert asyncio.run(play()) is None
