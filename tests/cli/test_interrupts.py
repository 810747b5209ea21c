"""Interruptible work restores the signal handlers of its caller."""

from __future__ import annotations

import asyncio
import os
import signal
from types import FrameType

import pytest

from demeanor.cli.interrupts import make_ui, run_interruptibly


def ours(number: int, frame: FrameType | None) -> None:
    """A handler of the caller."""


@pytest.fixture(autouse=True)
def _as_before():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signal_handlers_are_restored():
    """After the work has ended."""
    signal.signal(signal.SIGTERM, ours)
    signal.signal(signal.SIGINT, ours)
    assert run_interruptibly(asyncio.sleep(0)) is False
    assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGINT) is ours


def test_the_first_signal_cancels_the_work():
    """Afterwards Ctrl-C is ignored, so that the report can be printed."""

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)

    signal.signal(signal.SIGTERM, ours)
    assert run_interruptibly(work(), message="") is True
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is ours


def test_only_trials_that_are_kept_are_said_to_be_kept(capsys: pytest.CaptureFixture[str]):
    """Some commands run trials of their own in a temporary folder."""

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)

    assert make_ui(kept=False).run(work()) is True
    assert capsys.readouterr().err == "\ndemeanor: stopping (press Ctrl-C again to force)\n"
    assert make_ui().run(work()) is True
    assert "finished trials are kept" in capsys.readouterr().err
