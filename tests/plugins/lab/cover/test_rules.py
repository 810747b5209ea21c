"""The rule of `cover` on simulated prompts whose instructions are known to matter, to be redundant, or to harm."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache

from demeanor.plugins.lab.cover.rules import CoverEval, CoverRule, CoverState, NextTrials, covered, order_evals
from demeanor.statistics.bisection import Tries
from demeanor.statistics.rate_change import RateChangeTest, baseline_ends

PROMPTS = max(60, int(os.environ.get("DEMEANOR_EXAMPLES", "0")))
INSTRUCTIONS = 40
EVALS = 8
NIGHTS = 60


@dataclass
class Prompt:
    """A prompt of 40 instructions and the evals of its agent: five matter, two are redundant, one harms."""

    rng: random.Random
    ids: tuple[str, ...] = tuple(f"{number:08x}" for number in range(INSTRUCTIONS))
    effects: dict[str, list[tuple[frozenset[str], float]]] = field(default_factory=dict)
    base: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        evals = [f"eval {number}" for number in range(EVALS)]
        *chosen, one, two, self.harms = self.rng.sample(self.ids, 8)
        self.matter, self.redundant = frozenset(chosen), frozenset({one, two})
        self.harmed, *others = self.rng.sample(evals, EVALS)
        for name in evals:
            self.base[name] = self.rng.uniform(0.9, 1.0)
        for one in chosen:
            for name in self.rng.sample(others, self.rng.choice((1, 1, 2))):
                self._effect(name, frozenset({one}))
        self._effect(self.rng.choice(others), self.redundant)

    def _effect(self, name: str, removed: frozenset[str]) -> None:
        self.effects.setdefault(name, []).append((removed, self.rng.uniform(0.6, self.base[name])))

    def rate(self, name: str, removed: frozenset[str]) -> float:
        """The true pass rate of an eval without some instructions."""
        harm = 0.65 if name == self.harmed and self.harms not in removed else 0.0
        fall = sum(drop for group, drop in self.effects.get(name, ()) if group <= removed)
        return max(0.0, self.base[name] - harm - fall)

    def trials(self, name: str, removed: frozenset[str], number: int) -> Tries:
        """Some trials."""
        rate = self.rate(name, removed)
        passed = sum(self.rng.random() < rate for _ in range(number))
        return Tries(passed, number - passed)

    def state(self, rule: CoverRule | None = None) -> CoverState:
        """Before the first trial; the history has 60 trials of each eval."""
        evals = [
            CoverEval(name=name, baseline=self.trials(name, frozenset(), NIGHTS), parts=self.ids) for name in self.base
        ]
        return CoverState(instructions=self.ids, evals=order_evals(evals, {}), tries={}, rule=rule or CoverRule())


def run(prompt: Prompt, state: CoverState, *, most: int | None = None) -> CoverState:
    """Search to the end, or until `most` trials are made."""
    while (wanted := state.next()) and (most is None or spent(state) < most):
        state = state.after(
            {(one.eval, one.removed): prompt.trials(one.eval, one.removed, one.trials) for one in wanted}
        )
    return state


def spent(state: CoverState) -> int:
    """The number of trials so far."""
    return sum(tries.judged for tries in state.tries.values())


def one_by_one(prompt: Prompt, state: CoverState) -> int:
    """The number of trials if every instruction is tried alone with every eval, with tests of the same quality; as in
    the search, an instruction that is held is not tried with further evals."""
    made, held, rule = 0, set(), state.rule
    for one in state.evals:
        low, high = baseline_ends(*one.baseline)
        test = RateChangeTest(
            low=low, high=high, change=rule.drop, false_alarm=rule.false_alarm, miss=1 - rule.sure, cap=rule.cap
        )
        for part in set(state.instructions) - held:
            tries = Tries()
            while test.answer(*tries) is None:
                tries += prompt.trials(one.name, frozenset({part}), 1)
            made += tries.judged
            if test.answer(*tries) == "drop":
                held.add(part)
    return made


@cache
def simulated() -> Counter[str]:
    """What is found in all prompts."""
    found: Counter[str] = Counter()
    for seed in range(PROMPTS):
        prompt = Prompt(random.Random(seed))
        state = run(prompt, prompt.state())
        answers = state.answers()
        held = {one for one, answer in answers.items() if answer == "held"}
        redundant = {one for one, answer in answers.items() if answer == "redundant"}
        harmful = {one for one, answer in answers.items() if answer == "harmful"}
        counts = covered(state)[1]
        found += Counter(
            true=len(held & prompt.matter),
            false=len(held - prompt.matter),
            redundant=len(redundant & prompt.redundant),
            falsely_redundant=len(redundant - prompt.redundant),
            harmful=prompt.harms in harmful,
            falsely_harmful=len(harmful - {prompt.harms}),
            in_interval=len(prompt.matter) in counts,
            untried=sum(answer == "not tried" for answer in answers.values()),
            trials=spent(state),
            alone=one_by_one(prompt, state) if seed < PROMPTS // 4 else 0,
            compared=spent(state) if seed < PROMPTS // 4 else 0,
        )
    return found


def test_instructions_that_matter_are_found() -> None:
    """At least 95 % of them, and at most 5 % of those that are reported are false."""
    found = simulated()
    assert found["true"] >= 0.95 * 5 * PROMPTS
    assert found["false"] <= 0.05 * found["true"]
    assert found["untried"] == 0


def test_it_needs_at_most_half_of_the_trials_of_trying_each_instruction_alone() -> None:
    """With tests of the same quality, on a quarter of the prompts."""
    found = simulated()
    assert found["compared"] <= 0.5 * found["alone"]


def test_redundant_and_harmful_instructions_are_found() -> None:
    """With the same error rates."""
    found = simulated()
    assert found["redundant"] >= 0.95 * 2 * PROMPTS
    assert found["falsely_redundant"] <= 0.05 * found["redundant"]
    assert found["harmful"] >= 0.95 * PROMPTS
    assert found["falsely_harmful"] <= 0.05 * found["harmful"]


def test_the_interval_of_the_coverage_holds_the_truth() -> None:
    """In at least 95 % of the prompts."""
    assert simulated()["in_interval"] >= 0.95 * PROMPTS


def test_a_search_that_was_interrupted_goes_on_where_it_stopped() -> None:
    """Its state follows from the trials alone."""
    prompt = Prompt(random.Random(7))
    part = run(prompt, prompt.state(), most=150)
    again = CoverState(instructions=part.instructions, evals=part.evals, tries=part.tries, rule=part.rule)
    assert again.next() == part.next() != ()
    assert again.answers() == part.answers()
    assert "not tried" in again.answers().values()
    assert "not tried" not in run(prompt, again).answers().values()


def test_an_eval_whose_rate_has_changed_by_itself_is_left_out() -> None:
    """Nothing is blamed on a removal: with the prompt as it is, the eval fails too."""
    prompt = Prompt(random.Random(5))
    state = prompt.state()
    name = state.evals[0].name
    prompt.base[name] = 0.1
    ended = run(prompt, state)
    (left_out,) = (one for one in ended.searches if one.unusable)
    assert left_out.eval.name == name
    assert not left_out.held


def test_an_eval_with_too_few_trials_is_not_used() -> None:
    """Two trials do not tell its rate."""
    one = CoverEval(name="new", baseline=Tries(1, 1), parts=("a",))
    state = CoverState(instructions=("a",), evals=(one,), tries={})
    assert "not known well enough" in (state.searches[0].unusable or "")
    assert state.answer("a") == "not tried"
    assert state.next() == ()


def test_an_instruction_that_no_eval_sends_is_not_tried() -> None:
    """Whatever the others answer."""
    one = CoverEval(name="one", baseline=Tries(60, 0), parts=("a",))
    state = CoverState(instructions=("a", "b"), evals=(one,), tries={("one", frozenset("a")): Tries(9, 0)})
    assert state.answers() == {"a": "not held", "b": "not tried"}


def test_trials_come_in_the_smallest_batches_that_can_decide() -> None:
    """So that none is wasted."""
    one = CoverEval(name="one", baseline=Tries(60, 0), parts=("a", "b"))
    state = CoverState(instructions=("a", "b"), evals=(one,), tries={})
    assert state.next() == (NextTrials(eval="one", removed=frozenset("ab"), trials=2),)
    assert replace(state, tries={("one", frozenset("ab")): Tries(0, 2)}).next()[0].removed == frozenset()


def test_evals_that_share_words_with_the_instructions_come_first() -> None:
    """Then those with the highest rate."""
    evals = [CoverEval(name=name, baseline=Tries(passed, 60 - passed), parts=()) for name, passed in
             (("low", 30), ("high", 60), ("related", 40))]  # fmt: skip
    assert [one.name for one in order_evals(evals, {"related": 0.4})] == ["related", "high", "low"]
