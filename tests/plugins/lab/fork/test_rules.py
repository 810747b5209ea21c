"""Which step a scan tries next, when it is sure, and how often it is right."""

from __future__ import annotations

import random
from collections.abc import Iterator
from statistics import mean

from demeanor.plugins.lab.bisect.report import BisectOutcome
from demeanor.plugins.lab.bisect.rules import AT_THE_ENDS
from demeanor.plugins.lab.fork.workflow import Scan
from demeanor.statistics.bisection import Tries

STEPS = 12
AT_ONCE = 2
SIMULATED = 200


class SimulatedTrial:
    """A failed trial whose chance of passing falls at one step, from 80 % or more to 20 % or less."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.decisive = self._random.randint(1, STEPS)
        self._before, self._after = self._random.uniform(0.8, 1.0), self._random.uniform(0.0, 0.2)

    def tries(self, place: int, number: int) -> Tries:
        """Some trials with this many replayed steps."""
        rate = self._before if place < self.decisive else self._after
        passed = sum(self._random.random() < rate for _ in range(number))
        return Tries(passed, number - passed)

    def scan(self) -> tuple[Scan, int]:
        """A whole scan, and the number of its trials."""
        tries: dict[int, Tries] = {}
        while (scan := Scan(tries=tries, steps=STEPS)).outcome() is None:
            place = scan.next()
            number = AT_THE_ENDS if not tries else AT_ONCE
            tries = {**tries, place: tries.get(place, Tries()) + self.tries(place, number)}
        return scan, sum(one.judged for one in tries.values())

    def try_equally(self, number: int) -> Scan:
        """The same number of trials at every step, judged by the same rule."""
        return Scan(tries={place: self.tries(place, number) for place in range(STEPS)}, steps=STEPS)

    def is_right(self, scan: Scan) -> bool:
        """Whether a scan names the decisive step, and no other."""
        return scan.decisive()[:2] == (self.decisive, self.decisive)


def simulated() -> Iterator[SimulatedTrial]:
    """Always the same ones."""
    return map(SimulatedTrial, range(SIMULATED))


def test_the_decisive_step_is_right_for_half_the_trials_of_trying_every_step_equally():
    """In 95 % of simulated trials; equal numbers of trials need more than twice as many to be right as often."""
    scans = [(trial, *trial.scan()) for trial in simulated()]
    found = [(trial, scan) for trial, scan, _ in scans if scan.outcome() is BisectOutcome.FOUND]
    right = mean(scan.outcome() is BisectOutcome.FOUND and trial.is_right(scan) for trial, scan, _ in scans)
    assert right >= 0.95
    assert mean(not trial.is_right(scan) for trial, scan in found) <= 0.05  # the error rate that reports print
    trials = mean(number for _, _, number in scans)
    each = int(2 * trials / STEPS)  # what twice as many trials allow at every step
    assert mean(trial.is_right(trial.try_equally(each)) for trial in simulated()) < right
    each = next(n for n in range(1, 20) if mean(trial.is_right(trial.try_equally(n)) for trial in simulated()) >= 0.95)
    assert trials <= each * STEPS / 2


def test_trials_start_from_the_beginning_until_the_chance_is_known_to_be_higher_there():
    """A trial that would have failed anyway has no decisive step."""
    assert Scan(tries={}, steps=STEPS).next() == 0
    assert Scan(tries={0: Tries(0, 4)}, steps=STEPS).next() == 0
    assert Scan(tries={0: Tries(4, 0)}, steps=STEPS).next() not in {0, STEPS}
    hopeless = Scan(tries={0: Tries(0, 40)}, steps=STEPS)
    assert hopeless.outcome() is BisectOutcome.NO_DIFFERENCE


def test_the_last_step_can_be_the_decisive_one():
    """Without a trial behind it: the recorded one failed."""
    scan = Scan(tries={place: Tries(8, 0) for place in range(3)}, steps=3)
    assert (scan.outcome(), scan.decisive()[:2]) == (BisectOutcome.FOUND, (3, 3))


def test_steps_that_can_not_be_tried_are_left_out_and_named_together():
    """A scan without any step that can be tried ends."""
    tries = {0: Tries(9, 0), 1: Tries(9, 0), 4: Tries(0, 9)}
    scan = Scan(tries=tries, steps=5, barred=frozenset({2, 3}))
    assert scan.next() not in {2, 3}
    assert (scan.outcome(), scan.decisive()[:2]) == (BisectOutcome.FOUND, (2, 4))
    nothing = Scan(tries={}, steps=2, barred=frozenset({0, 1}))
    assert nothing.outcome() is BisectOutcome.UNDECIDED
