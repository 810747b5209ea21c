from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.config.config import read_config
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.policy import Policy
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.tally import Decision, Tally
from demeanor.core.values.verdict import VoidCause
from demeanor.decide.policies import NAMES, RULES, decide, exit_code, needed_trials
from demeanor.results.tallies import tally as count_records
from demeanor.runner.catalog import Catalog
from demeanor.runner.plan import plan_run


def tally(policy: Policy, passed: int = 0, failed: int = 0, voided: int = 0, skipped: str | None = None) -> Tally:
    return Tally(eval="e", subject="a:m", policy=policy, passed=passed, failed=failed, voided=voided, skipped=skipped)


@pytest.mark.parametrize(("passed", "failed", "answer"), [(3, 0, "accept"), (1, 0, "accept"), (99, 1, "reject")])
def test_always_passes_rejects_any_failure(passed: int, failed: int, answer: str) -> None:
    """One fail in a hundred is one too many."""
    assert decide(tally(Policy.ALWAYS_PASSES, passed, failed)).answer == answer


@pytest.mark.parametrize(
    ("passed", "failed", "answer"),
    [(2, 1, "accept"), (1, 2, "reject"), (1, 1, "reject"), (4, 2, "accept"), (6, 4, "reject"), (7, 3, "accept")],
)
def test_usually_passes_wants_two_of_three(passed: int, failed: int, answer: str) -> None:
    """Two thirds is enough, exactly: 2 of 3 and 4 of 6, but not 6 of 10."""
    decision = decide(tally(Policy.USUALLY_PASSES, passed, failed))
    assert (decision.answer, decision.rule) == (answer, "two_of_three")


def test_usually_fails_is_accepted_and_is_news_when_it_passes() -> None:
    """A behaviour that is known to fail never blocks; a pass is reported as news."""
    bad, better = decide(tally(Policy.USUALLY_FAILS, 1, 2)), decide(tally(Policy.USUALLY_FAILS, 2, 1))
    assert (bad.answer, bad.news) == ("accept", False)
    assert (better.answer, better.news) == ("accept", True)


@pytest.mark.parametrize(
    ("passed", "failed", "causes", "answer"),
    [
        (4, 1, {VoidCause.PROVIDER: 1}, "accept"),
        (3, 1, {VoidCause.PROVIDER: 1}, "undecided"),
        (3, 1, {VoidCause.SETUP: 1}, "accept"),
        (3, 1, {VoidCause.CASSETTE: 1}, "undecided"),
        (3, 1, {VoidCause.HARNESS: 1}, "undecided"),
        (3, 1, {}, "undecided"),
        (1, 3, {VoidCause.PROVIDER: 1}, "reject"),
    ],
)
def test_a_void_that_the_agent_may_have_brought_about_never_helps(
    passed: int, failed: int, causes: dict[VoidCause, int], answer: str
) -> None:
    """Accepted only if it would be with such voids counted as fails; one whose cause is not stored is such a void."""
    cell = replace(tally(Policy.USUALLY_PASSES, passed, failed, voided=1), void_causes=causes)
    decision = decide(cell)
    assert decision.answer == answer
    assert ("1 void trial may be the agent's doing" in decision.reason) is (answer == "undecided")


@given(policy=st.sampled_from(Policy), voided=st.integers(0, 9))
def test_voids_alone_decide_nothing(policy: Policy, voided: int) -> None:
    """Without a judged trial there is neither accept nor reject, whatever the policy."""
    decision = decide(tally(policy, voided=voided))
    assert (decision.answer, decision.news) == ("undecided", False)


@pytest.mark.parametrize(
    ("policy", "passed", "failed", "voided", "missing", "answer"),
    [
        (Policy.ALWAYS_PASSES, 2, 0, 4, 0, "undecided"),
        (Policy.ALWAYS_PASSES, 2, 0, 0, 1, "undecided"),
        (Policy.ALWAYS_PASSES, 0, 1, 4, 4, "reject"),
        (Policy.USUALLY_PASSES, 2, 0, 1, 0, "accept"),
        (Policy.USUALLY_PASSES, 1, 0, 1, 1, "undecided"),
        (Policy.USUALLY_PASSES, 0, 1, 2, 0, "undecided"),
        (Policy.USUALLY_PASSES, 0, 2, 1, 0, "reject"),
        (Policy.USUALLY_FAILS, 0, 1, 2, 0, "undecided"),
        (Policy.USUALLY_FAILS, 0, 2, 1, 0, "accept"),
    ],
)
def test_too_little_evidence_decides_nothing(
    policy: Policy, passed: int, failed: int, voided: int, missing: int, answer: str
) -> None:
    """ALWAYS_PASSES needs every planned trial, the others two thirds, unless a rejection is certain anyway."""
    found = decide(replace(tally(policy, passed, failed, voided), missing=missing))
    assert found.answer == answer
    if answer == "undecided":
        assert f"of {passed + failed + voided + missing} planned trials must be judged" in found.reason


@pytest.mark.parametrize(
    ("text", "policy", "needed"),
    [
        ("", Policy.ALWAYS_PASSES, 10),
        ("", Policy.USUALLY_PASSES, 7),
        ("[evidence]\nalways = 0.9\nusually = 0.55", Policy.ALWAYS_PASSES, 9),
        ("[evidence]\nalways = 0.9\nusually = 0.55", Policy.USUALLY_FAILS, 6),
        ("[evidence]\nusually = 1", Policy.USUALLY_PASSES, 10),
        ("[evidence]\nusually = 0", Policy.USUALLY_PASSES, 1),
    ],
)
def test_the_needed_share_of_judged_trials_is_configurable(
    tmp_path: Path, text: str, policy: Policy, needed: int
) -> None:
    """From the configuration through the plan to the decision, which states it."""
    (tmp_path / "demeanor.toml").write_text(f'trials = 10\nsubjects = ["native:scripted"]\n{text}\n')
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "eval_a.py").write_text(
        f"from demeanor import {policy.value}, eval_test\n"
        f"@eval_test({policy.value}, prompt='Hi.')\ndef greets(rig, result): return True\n"
    )
    request = RunRequest(policy="all")
    (cell,) = plan_run(Catalog(config=read_config(tmp_path), environ={}), request, {}).cells
    found = replace(count_records(cell, []), passed=needed - 1, missing=11 - needed)
    assert (needed_trials(found), found.planned) == (needed, 10)
    assert decide(found).answer == "undecided"
    if needed > 1:
        assert f"at least {needed} of 10 planned trials must be judged" in decide(found).reason
    assert decide(replace(found, passed=needed, missing=10 - needed)).answer == "accept"


@given(policy=st.sampled_from(Policy), passed=st.integers(0, 9), failed=st.integers(0, 9), voided=st.integers(0, 9))
def test_voids_never_turn_an_answer_around(policy: Policy, passed: int, failed: int, voided: int) -> None:
    """A void is neither a pass nor a fail: it can only leave the answer open."""
    if passed + failed == 0:
        return
    with_voids, without = decide(tally(policy, passed, failed, voided)), decide(tally(policy, passed, failed))
    assert with_voids.answer in {without.answer, "undecided"}


@given(policy=st.sampled_from(Policy))
def test_a_skipped_cell_is_skipped(policy: Policy) -> None:
    """With the reason that was given."""
    decision = decide(tally(policy, skipped="OPENAI_API_KEY is not set"))
    assert decision.answer == "skipped"
    assert "OPENAI_API_KEY is not set" in decision.reason


@given(policy=st.sampled_from(Policy), passed=st.integers(0, 9), failed=st.integers(0, 9), voided=st.integers(0, 9))
def test_reasons_carry_the_numbers(policy: Policy, passed: int, failed: int, voided: int) -> None:
    """The decision can be checked by its reason alone."""
    reason = decide(tally(policy, passed, failed, voided)).reason
    if passed + failed:
        assert reason.startswith(f"{passed} of {passed + failed} passed")
    if voided > 1:
        assert f"{voided}" in reason or (voided == 2 and "both trials" in reason)


def test_every_policy_has_a_rule() -> None:
    """No policy is forgotten."""
    assert set(NAMES) == set(Policy)
    assert set(NAMES.values()) == set(RULES)


def test_the_error_rates_of_two_of_three_are_as_documented() -> None:
    """With three trials: 0.7 % false alarms at 95 %, and nine of ten drops to 80 % go undetected."""

    def rejected(p: float) -> float:
        chances = {c: math.comb(3, c) * p**c * (1 - p) ** (3 - c) for c in range(4)}
        answers = {c: decide(tally(Policy.USUALLY_PASSES, c, 3 - c)).answer for c in range(4)}
        return math.fsum(chance for c, chance in chances.items() if answers[c] == "reject")

    assert rejected(0.95) == pytest.approx(0.00725, abs=5e-6)
    assert 1 - rejected(0.80) == pytest.approx(0.896, abs=5e-4)
    assert 1 - rejected(0.50) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("accept", ExitCode.ACCEPTED),
        ("accept skipped", ExitCode.ACCEPTED),
        ("accept reject", ExitCode.REJECTED),
        ("undecided reject skipped", ExitCode.REJECTED),
        ("accept undecided", ExitCode.UNDECIDED),
        ("skipped skipped", ExitCode.UNDECIDED),
        ("", ExitCode.UNDECIDED),
    ],
)
def test_the_worst_decision_makes_the_exit_code(answers: str, expected: ExitCode) -> None:
    """Reject before undecided before accept; a run of skipped cells only is undecided."""
    decisions = [Decision(answer=answer, rule="r", reason="") for answer in answers.split()]  # type: ignore[arg-type]
    assert exit_code(decisions) is expected
    assert exit_code(reversed(decisions)) is expected
