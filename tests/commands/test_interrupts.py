"""Work that takes its time leaves signals as it found them: whoever began it may have something to put away."""

from __future__ import annotations

import asyncio
import os
import signal
from types import FrameType

import pytest

from demeanor.commands.interrupts import run_interruptibly


def ours(number: int, frame: FrameType | None) -> None:
    """Somebody's own handler."""


@pytest.fixture(autouse=True)
def _as_before():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_are_heard_again_as_before():
    """When all is done."""
    signal.signal(signal.SIGTERM, ours)
    signal.signal(signal.SIGINT, ours)
    assert run_interruptibly(asyncio.sleep(0)) is False
    assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGINT) is ours


def test_the_first_signal_cancels():
    """From then on Ctrl-C is not heard: what was finished is told in peace."""

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)

    signal.signal(signal.SIGTERM, ours)
    assert run_interruptibly(work(), message="") is True
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is ours
