from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from demeanor.core.values.evidence import Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.tally import Mean, Status, Tally
from demeanor.core.values.trial import Cell
from demeanor.core.values.verdict import Fail, Pass, Verdict, Void, VoidCause
from demeanor.results.tallies import summary, tally

OUTCOMES: dict[str, Verdict] = {
    "pass": Pass(),
    "fail": Fail(),
    "void": Void(cause=VoidCause.PROVIDER, detail="500"),
}
MakeCell = Callable[..., Cell]
MakeRecord = Callable[..., Record]


@pytest.fixture
def count(cell: MakeCell, record: MakeRecord) -> Callable[..., Tally]:
    def counted(outcomes: str, name: str = "e") -> Tally:
        words = outcomes.split()
        made = cell(name, trials=len(words))
        return tally(made, [record(made, n, OUTCOMES[word]) for n, word in enumerate(words, 1)])

    return counted


def test_passes_fails_and_voids_are_counted_apart(count: Callable[..., Tally]) -> None:
    """A void enters no rate."""
    found = count("pass fail void pass")
    assert (found.passed, found.failed, found.voided, found.judged) == (2, 1, 1, 3)
    assert found.rate is not None
    assert (found.rate.value, found.rate.low, found.rate.high) == pytest.approx((2 / 3, 0.2077, 0.9385), abs=5e-5)


def test_pass_at_k_is_calculated_for_1_3_and_all_trials(count: Callable[..., Tally]) -> None:
    """Estimated from the rate if voids leave too few judged trials."""
    found = count("pass pass pass fail void")
    assert found.pass_at == {1: 0.75, 3: 1.0, 5: pytest.approx(1 - 0.25**5)}
    assert found.pass_hat == {1: 0.75, 3: 0.25, 5: pytest.approx(0.75**5)}


def test_a_void_trial_that_was_done_again_counts_as_what_it_was_then(cell: MakeCell, record: MakeRecord) -> None:
    """A resumed run begins with the first attempt again."""
    made = cell("e", trials=1)
    voids = [
        record(made, 1, OUTCOMES["void"], attempt=n, final=n == 3, ended=f"2026-01-01T00:00:0{n}") for n in (1, 2, 3)
    ]
    again = record(made, 1, OUTCOMES["pass"], attempt=1, ended="2026-01-01T09:00:00")
    found = tally(made, [*voids, again])
    assert (found.passed, found.voided, found.attempts) == (1, 0, 4)


def test_the_last_attempt_of_each_trial_counts(cell: MakeCell, record: MakeRecord) -> None:
    """The cost of all attempts counts."""
    made = cell("e", trials=1)
    spent = Spent(seconds=2.0, turns=1, input_tokens=5, output_tokens=5, cost_usd=0.5)
    first = record(made, 1, OUTCOMES["void"], attempt=1, final=False, spent=spent)
    second = record(made, 1, OUTCOMES["pass"], attempt=2, spent=spent)
    for order in ([first, second], [second, first]):
        found = tally(made, order)
        assert (found.passed, found.voided, found.attempts, found.spent.cost_usd) == (1, 0, 2, 1.0)


def test_of_two_records_of_the_same_attempt_the_later_counts(cell: MakeCell, record: MakeRecord) -> None:
    """As when a resumed run repeats what was in flight."""
    made = cell("e", trials=1)
    found = tally(made, [record(made, 1, OUTCOMES["fail"]), record(made, 1, OUTCOMES["pass"])])
    assert (found.passed, found.failed) == (1, 0)


def test_records_of_other_cells_are_ignored(cell: MakeCell, record: MakeRecord) -> None:
    """A tally counts its own cell only."""
    made, other = cell("e"), cell("other")
    found = tally(made, [record(made, 1, OUTCOMES["pass"]), record(other, 2, OUTCOMES["fail"])])
    assert (found.passed, found.failed, found.missing) == (1, 0, 2)


def test_trials_that_were_not_run_are_missing(count: Callable[..., Tally], cell: MakeCell) -> None:
    """A cell without any trial is void, never passed."""
    found = tally(cell("e"), [])
    assert (found.missing, found.status, found.rate, found.pass_at) == (3, Status.VOID, None, {1: None, 3: None})


def test_a_skipped_cell_is_skipped_with_its_reason(cell: MakeCell) -> None:
    """And misses no trial."""
    found = tally(cell("e", skipped="no key"), [])
    assert (found.status, found.skipped, found.missing) == (Status.SKIPPED, "no key", 0)


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [("pass void", Status.PASS), ("pass fail", Status.FLAKY), ("fail void", Status.FAIL), ("void", Status.VOID)],
)
def test_the_status_looks_at_judged_trials_only(count: Callable[..., Tally], outcomes: str, status: Status) -> None:
    """A void makes nothing flaky."""
    assert count(outcomes).status is status


def test_a_summary_averages_over_evals_and_never_pools(count: Callable[..., Tally]) -> None:
    """1 of 1 and 0 of 3 is 50 %, not 25 %."""
    (found,) = summary([count("pass", "a"), count("fail fail fail", "b"), count("void void void", "c")])
    assert found.rate is not None
    assert found.rate.value == 0.5
    assert (found.evals, found.judged) == (3, 2)
    assert found.statuses == {Status.PASS: 1, Status.FAIL: 1, Status.VOID: 1}


def test_evals_that_are_known_to_fail_are_not_part_of_the_mean(count: Callable[..., Tally]) -> None:
    """They have a rate of their own."""
    bad = replace(count("fail fail pass", "b"), policy=Policy.USUALLY_FAILS)
    (found,) = summary([count("pass pass pass", "a"), bad])
    assert found.rate is not None
    assert found.known_bad_rate is not None
    assert (found.rate.value, found.judged, found.pass_hat[3]) == (1.0, 1, Mean(value=1.0, evals=1))
    assert (round(found.known_bad_rate.value, 2), found.known_bad) == (0.33, 1)
    (only,) = summary([bad])
    assert (only.rate, only.judged, only.known_bad) == (None, 0, 1)


def test_a_mean_says_how_many_evals_it_is_made_of(count: Callable[..., Tally]) -> None:
    """Without a judged trial, nothing is defined."""
    (found,) = summary([count("pass pass", "a"), count("pass pass fail", "b"), count("void void void", "c")])
    assert found.pass_at[1] == Mean(value=pytest.approx(5 / 6), evals=2)
    assert found.pass_at[3] == Mean(value=pytest.approx(53 / 54), evals=2)
    (none,) = summary([count("void void", "a")])
    assert (none.rate, none.pass_at) == (None, {1: None, 2: None, 3: None})


def test_each_subject_has_its_own_summary(cell: MakeCell) -> None:
    """In the order in which they appear."""
    tallies = [Tally(eval="e", subject=name, policy=cell("e").eval.policy, passed=1) for name in ("b", "a", "b")]
    assert [(found.subject, found.evals) for found in summary(tallies)] == [("b", 2), ("a", 1)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(outcomes=st.lists(st.sampled_from(list(OUTCOMES)), min_size=1, max_size=12))
def test_every_trial_is_counted_exactly_once(count: Callable[..., Tally], outcomes: list[str]) -> None:
    """Whatever the outcomes are."""
    found = count(" ".join(outcomes))
    assert found.passed + found.failed + found.voided + found.missing == len(outcomes)
    assert (found.rate is None) == (found.judged == 0)
