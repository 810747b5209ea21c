"""Trials run in parallel, as many as there are slots, and void ones are retried."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from demeanor.core.values.capture import Breakdown, Capture
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import USUALLY_PASSES
from demeanor.core.values.record import Record
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import Fail, Pass, Verdict, Void, VoidCause
from demeanor.runner.executors import LocalExecutor
from demeanor.runner.schedule import Retries, Stop, is_final, run_trials

EVAL = Eval(
    name="e", policy=USUALLY_PASSES, scenario=Scenario(prompts=("p",)), checks=(), source=Source(path=Path("x.py"))
)
QUICK = Retries(most=3, pause=0.0)


class Machine(LocalExecutor):
    """An executor that records which attempts ran, and how many at the same time."""

    def __init__(self, slots: int, breakdown: Breakdown | None = None) -> None:
        super().__init__(slots=slots, attempt=self._make)
        self._breakdown = breakdown
        self.ran: list[tuple[str, int]] = []
        self.busy = self.busiest = 0

    async def _make(self, trial: Trial, attempt: int) -> Capture:
        """An attempt during which others can run."""
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.busy -= 1
        self.ran.append((trial.id, attempt))
        return Capture(trial=trial.id, attempt=attempt, breakdown=self._breakdown)


def trials(number: int) -> list[Trial]:
    """Trials of one cell."""
    subject = Subject(agent="a", model="m")
    return [Trial(eval=EVAL, subject=subject, number=n, timeout=1) for n in range(1, number + 1)]


def run(machine: Machine, chosen: list[Trial], verdict: Callable[[Trial, int], Verdict], stop: Stop | None = None):
    """Run trials; `verdict` judges an attempt."""
    stop = stop or Stop()

    async def conclude(trial: Trial, attempt: int, capture: Capture, last: bool) -> Record:
        record = Record(eval="e", subject="a:m", number=trial.number, attempt=attempt, verdict=verdict(trial, attempt))
        if isinstance(record.verdict, Fail):
            stop.set("a failure")
        return Record(
            **{**{f: getattr(record, f) for f in record.__slots__}, "final": is_final(record, capture, last=last)}
        )

    asyncio.run(run_trials(chosen, machine, conclude, retries=QUICK, stop=stop, started=lambda trial, attempt: None))


def test_as_many_trials_run_in_parallel_as_there_are_slots():
    """Not more, and not fewer."""
    machine = Machine(slots=3)
    run(machine, trials(9), lambda trial, attempt: Pass())
    assert machine.busiest == 3
    assert len(machine.ran) == 9


def test_a_retryable_void_is_retried():
    """Up to the number of attempts; other trials run once."""
    machine = Machine(slots=2)
    void = Void(cause=VoidCause.PROVIDER, detail="503")
    run(machine, trials(2), lambda trial, attempt: void if trial.number == 1 and attempt < 3 else Pass())
    assert sorted(machine.ran) == [("e/a:m/1", 1), ("e/a:m/1", 2), ("e/a:m/1", 3), ("e/a:m/2", 1)]


def test_a_trial_that_stays_void_is_given_up():
    """After the last attempt."""
    machine = Machine(slots=1)
    run(machine, trials(1), lambda trial, attempt: Void(cause=VoidCause.RATE_LIMIT, detail="429"))
    assert len(machine.ran) == 3


@pytest.mark.parametrize("cause", [cause for cause in VoidCause if not cause.retryable])
def test_other_voids_are_not_retried(cause: VoidCause):
    """A missing program, a refused key, a spent budget, a crashed check."""
    machine = Machine(slots=1)
    run(machine, trials(1), lambda trial, attempt: Void(cause=cause, detail="no"))
    assert len(machine.ran) == 1


@pytest.mark.parametrize(("permanent", "attempts"), [(True, 1), (False, 3)])
def test_what_would_fail_again_is_not_retried(permanent: bool, attempts: int):
    """Also if its cause may pass: a sandbox that refuses a task refuses it again."""
    broken = Breakdown(cause=VoidCause.SANDBOX, detail="no", permanent=permanent)
    machine = Machine(slots=1, breakdown=broken)
    run(machine, trials(1), lambda trial, attempt: Void(cause=broken.cause, detail=broken.detail))
    assert len(machine.ran) == attempts


def test_after_a_stop_no_trial_is_started():
    """Running trials are finished."""
    machine = Machine(slots=2)
    run(machine, trials(20), lambda trial, attempt: Fail() if trial.number == 1 else Pass())
    assert len(machine.ran) <= 3


def test_pauses_grow_and_are_bounded():
    """A provider that is down does not get a flood of requests."""
    retries = Retries(pause=1.0, longest=10.0)
    assert 0.75 <= retries.seconds(1) <= 1.25
    assert 3.0 <= retries.seconds(3) <= 5.0
    assert retries.seconds(30) <= 12.5


def test_only_trials_that_have_a_slot_need_memory() -> None:
    """A run of many thousand trials does not create a task for each of them before the first one starts."""
    tasks: list[int] = []

    class Counting(Machine):
        async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
            tasks.append(len(asyncio.all_tasks()))
            return await super().run_attempt(trial, attempt)

    machine = Counting(slots=3)
    run(machine, trials(500), lambda trial, attempt: Pass(findings=()))
    assert len(machine.ran) == 500
    assert max(tasks) <= 10
