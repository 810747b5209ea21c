"""The simulation of a night on a fleet against the real scheduler and the real rate limiter, in virtual time."""

from __future__ import annotations

import asyncio
import random
import selectors
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fleet_simulation import ProviderLimit, TrialLoad, find_bottleneck, simulate

from demeanor.core.values.capture import Capture
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import USUALLY_PASSES
from demeanor.core.values.record import Record
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import Pass
from demeanor.gateway.models.rate_limit import RateLimiter
from demeanor.runner.executors import LocalExecutor
from demeanor.runner.schedule import Retries, Stop, run_trials
from tests.helpers.project import Project

EVAL = Eval(
    name="e", policy=USUALLY_PASSES, scenario=Scenario(prompts=("p",)), checks=(), source=Source(path=Path("x.py"))
)


class VirtualSelector(selectors.DefaultSelector):
    """Instead of waiting, it moves the clock of its loop."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """Nothing ever arrives; the time passes."""
        self.now += timeout or 0.0
        return super().select(0)


def real_seconds(loads: Sequence[TrialLoad], slots: int, limit: ProviderLimit | None) -> float:
    """How long the trials take if the real scheduler starts them, and the real rate limiter delays their requests."""
    selector = VirtualSelector()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]

    async def story() -> float:
        limiter = RateLimiter(
            concurrency=limit.concurrency if limit else None,
            per_minute=limit.per_minute if limit else None,
            clock=loop.time,
        )

        async def attempt(trial: Trial, number: int) -> Capture:
            load = loads[trial.number - 1]
            for _ in range(load.requests):
                async with limiter.slot("t"):
                    await asyncio.sleep(load.seconds / load.requests)
            if not load.requests:
                await asyncio.sleep(load.seconds)
            return Capture(trial=trial.id, attempt=number)

        async def conclude(trial: Trial, number: int, capture: Capture, last: bool) -> Record:
            return Record(eval="e", subject="a:m", number=trial.number, attempt=number, verdict=Pass(findings=()))

        subject = Subject(agent="a", model="m")
        trials = [Trial(eval=EVAL, subject=subject, number=n, timeout=1) for n in range(1, len(loads) + 1)]
        executor = LocalExecutor(slots=slots, attempt=attempt)
        await run_trials(trials, executor, conclude, retries=Retries(), stop=Stop(), started=lambda *_: None)
        return loop.time()

    try:
        return loop.run_until_complete(story())
    finally:
        loop.close()


@pytest.mark.parametrize(
    "limit",
    [
        None,
        ProviderLimit(concurrency=3),
        ProviderLimit(per_minute=30),
        ProviderLimit(concurrency=5, per_minute=60),
    ],
)
@pytest.mark.parametrize("slots", [1, 4, 16])
def test_the_wall_time_is_that_of_a_real_schedule(slots: int, limit: ProviderLimit | None) -> None:
    """Trials of known, very different durations; the ratio is within 20 %, and usually exact."""
    chance = random.Random(slots)
    loads = [
        TrialLoad(subject="a:m", seconds=chance.choice((5, 20, 60, 200)), requests=chance.randint(1, 8), provider="p")
        for _ in range(60)
    ]
    limits = {"p": limit} if limit else {}
    predicted = simulate(loads, slots, limits, conductor_seconds=0.0).seconds
    assert predicted / real_seconds(loads, slots, limit) == pytest.approx(1.0, abs=0.2)


def test_agents_without_a_model_only_need_slots() -> None:
    loads = [TrialLoad(subject="c", seconds=10.0) for _ in range(8)]
    run = simulate(loads, 2, {"p": ProviderLimit(concurrency=1)}, conductor_seconds=0.0)
    assert run.seconds == real_seconds(loads, 2, None) == 40.0
    assert [one.end for one in run.trials] == [10, 10, 20, 20, 30, 30, 40, 40]


@pytest.mark.parametrize(
    ("slots", "limit", "seconds", "expected"),
    [
        (2, ProviderLimit(concurrency=100), 60.0, "slots"),
        (50, ProviderLimit(per_minute=10), 60.0, "p"),
        (50, ProviderLimit(concurrency=2), 60.0, "p"),
        (1000, ProviderLimit(concurrency=1000), 60.0, "longest trial"),
        (1000, ProviderLimit(concurrency=1000), 0.1, "conductor"),
    ],
)
def test_the_bottleneck_is_that_of_which_more_helps(
    slots: int, limit: ProviderLimit, seconds: float, expected: str
) -> None:
    loads = [TrialLoad(subject="a:m", seconds=seconds, requests=4, provider="p") for _ in range(200)]
    whole = simulate(loads, slots, {"p": limit}).seconds
    found = find_bottleneck(loads, slots, {"p": limit}, whole)
    assert found.name == expected
    assert found.seconds <= whole


def test_no_slot_is_used_twice_at_a_time() -> None:
    """All trials take place, none faster than the slots allow."""
    loads = [TrialLoad(subject="a:m", seconds=120.0, requests=10, provider="p")] * 10_000
    run = simulate(loads, 200, {"p": ProviderLimit(per_minute=5000)})
    assert len(run.trials) == 10_000
    assert run.seconds >= 10_000 * 120 / 200


SCRIPT = Path(__file__).parents[1] / "benchmarks/fleet.py"
CONFIG = """\
subjects = ["native:acme/large"]
[providers.acme]
base_url = "http://127.0.0.1:1/v1"
dialect = "openai-chat"
concurrency = 1
"""
EVALS = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save it.")
def saves(rig, result):
    assert "a.txt" in rig.workspace
"""


def forecast(project: Project, *options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(SCRIPT), str(project.folder), *options]
    return subprocess.run(words, capture_output=True, text=True, env=project.env, timeout=300, check=False)


def test_the_forecast_of_a_project_respects_the_limits_of_its_providers(project: Project) -> None:
    """Those of the configuration count, unless an option changes them."""
    project.write(demeanor_toml=CONFIG, evals__eval_a_py=EVALS)
    options = ("--seconds", "60", "--trials", "10", "--workers", "10")
    slow = forecast(project, *options)
    assert "10 trials of 1 cell, cost unknown\n" in slow.stdout, slow.stderr
    assert "10 min 0 s" in slow.stdout
    assert "acme: 10 requests, limit: 1 at once\n" in slow.stdout
    assert "2 min 0 s" in forecast(project, *options, "--limit", "acme=5").stdout
    wrong = forecast(project, *options, "--limit", "acm=5")
    assert (wrong.returncode, "providers: acme" in wrong.stderr) == (1, True)
    assert "none of these evals was run before" in forecast(project).stderr


def test_the_forecast_uses_the_durations_of_earlier_runs(project: Project) -> None:
    agent = '[agents.sleeper]\nadapter = "command"\ncommand = ["sh", "-c", "sleep 1; echo hi > a.txt", "{prompt}"]\n'
    project.write(demeanor_toml=f'subjects = ["sleeper"]\nsandbox = "none"\n{agent}', evals__eval_a_py=EVALS)
    assert project.demeanor("nightly", "--trials", "2").returncode == 0
    shown = forecast(project, "--workers", "2", "--trials", "60").stdout.splitlines()
    workers, slots, seconds, unit, *_ = shown[2].split()
    assert (workers, slots, unit) == ("2", "2", "s")
    assert 30 <= float(seconds) <= 60
