"""All trials of a plan, as many at once as there are slots; voids are tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from demeanor.core.capture import Capture
from demeanor.core.eval import Eval, Source
from demeanor.core.policy import USUALLY_PASSES
from demeanor.core.record import Record
from demeanor.core.scenario import Scenario
from demeanor.core.subject import Subject
from demeanor.core.trial import Trial
from demeanor.core.verdict import Fail, Pass, Verdict, Void, VoidCause
from demeanor.runner.schedule import Retries, Stop, is_final, run_trials

EVAL = Eval(
    name="e", policy=USUALLY_PASSES, scenario=Scenario(prompts=("p",)), checks=(), source=Source(path=Path("x.py"))
)
QUICK = Retries(most=3, pause=0.0)


class Machine:
    """An executor of which `slots` attempts may run; it notes how many did at once, and what ran."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.ran: list[tuple[str, int]] = []
        self.busy = self.busiest = 0

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """An attempt that gives others the chance to run meanwhile."""
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.busy -= 1
        self.ran.append((trial.id, attempt))
        return Capture(trial=trial.id, attempt=attempt)


def trials(number: int) -> list[Trial]:
    """Trials of one cell."""
    subject = Subject(agent="a", model="m")
    return [Trial(eval=EVAL, subject=subject, number=n, timeout=1) for n in range(1, number + 1)]


def run(machine: Machine, wanted: list[Trial], verdict: Callable[[Trial, int], Verdict], stop: Stop | None = None):
    """Run them; the verdict depends on the trial and the attempt."""
    stop = stop or Stop()

    async def conclude(trial: Trial, attempt: int, capture: Capture, last: bool) -> Record:
        record = Record(eval="e", subject="a:m", number=trial.number, attempt=attempt, verdict=verdict(trial, attempt))
        if isinstance(record.verdict, Fail):
            stop.set("a failure")
        return Record(**{**{f: getattr(record, f) for f in record.__slots__}, "final": is_final(record, last=last)})

    asyncio.run(run_trials(wanted, machine, conclude, retries=QUICK, stop=stop, started=lambda trial, attempt: None))


def test_as_many_at_once_as_there_are_slots():
    """Neither more nor fewer."""
    machine = Machine(slots=3)
    run(machine, trials(9), lambda trial, attempt: Pass())
    assert machine.busiest == 3
    assert len(machine.ran) == 9


def test_a_void_that_may_pass_is_tried_again():
    """Up to the number of attempts; the others run once."""
    machine = Machine(slots=2)
    void = Void(cause=VoidCause.PROVIDER, detail="503")
    run(machine, trials(2), lambda trial, attempt: void if trial.number == 1 and attempt < 3 else Pass())
    assert sorted(machine.ran) == [("e/a:m/1", 1), ("e/a:m/1", 2), ("e/a:m/1", 3), ("e/a:m/2", 1)]


def test_a_void_that_stays_is_given_up():
    """After the last attempt."""
    machine = Machine(slots=1)
    run(machine, trials(1), lambda trial, attempt: Void(cause=VoidCause.RATE_LIMIT, detail="429"))
    assert len(machine.ran) == 3


@pytest.mark.parametrize("cause", [cause for cause in VoidCause if not cause.retryable])
def test_what_wont_pass_is_not_tried_again(cause: VoidCause):
    """A missing program, a refused key, a spent budget, a crashed check."""
    machine = Machine(slots=1)
    run(machine, trials(1), lambda trial, attempt: Void(cause=cause, detail="no"))
    assert len(machine.ran) == 1


def test_a_request_to_stop_starts_nothing_more():
    """What runs is finished; what waits is not begun."""
    machine = Machine(slots=2)
    run(machine, trials(20), lambda trial, attempt: Fail() if trial.number == 1 else Pass())
    assert len(machine.ran) <= 3


def test_pauses_grow_and_are_bounded():
    """A provider that is down is not hammered."""
    retries = Retries(pause=1.0, longest=10.0)
    assert 0.75 <= retries.seconds(1) <= 1.25
    assert 3.0 <= retries.seconds(3) <= 5.0
    assert retries.seconds(30) <= 12.5
