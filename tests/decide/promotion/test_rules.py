from __future__ import annotations

import random
from dataclasses import replace

import pytest

from demeanor.core.values.errors import UnknownName
from demeanor.core.values.policy import Policy
from demeanor.decide.promotion.both import waiting
from demeanor.decide.promotion.rules import DEMOTE, PROMOTE, demote, flapping, promote
from tests.helpers.histories import SUBJECTS, drawn, night, nights
from tests.helpers.reference_rules import may_be_promoted, must_be_demoted

ONE = {"e": ("a:m",)}


def test_classic_promotion_agrees_with_the_reference() -> None:
    """On 10 000 histories: failures, voids, gaps, skips, edits and policies that come and go; one to three subjects."""
    rng, promoted = random.Random(2026), 0
    for _ in range(10_000):
        subjects = SUBJECTS[: rng.randint(1, 3)]
        cells = list(drawn(rng, length=rng.randint(5, 18), subjects=subjects))
        (found,) = promote(cells, {"e": subjects}, rule="classic")
        expected = may_be_promoted(cells, subjects)
        assert (found.answer == "promote") is expected, (found, cells)
        assert bool(found.missing) is not expected
        promoted += expected
    assert 1000 < promoted < 9000


def test_classic_demotion_agrees_with_the_reference() -> None:
    """On histories of ALWAYS_PASSES evals."""
    rng, demoted = random.Random(7), 0
    for _ in range(2000):
        cells = [
            night(
                cell_number,
                *rng.choice([(3, 0)] * 30 + [(2, 1), (0, 0)]),
                subject=subject,
                policy=rng.choice([Policy.ALWAYS_PASSES] * 40 + [Policy.USUALLY_PASSES]),
                eval_hash=rng.choice(["h1"] * 40 + ["h2"]),
            )
            for cell_number in range(rng.randint(1, 9))
            for subject in SUBJECTS[:2]
        ]
        (found,) = demote(cells, {"e": SUBJECTS[:2]}, rule="classic")
        assert (found.answer == "demote") is must_be_demoted(cells, SUBJECTS[:2]), (found, cells)
        demoted += found.answer == "demote"
    assert 200 < demoted < 1800


def test_ten_perfect_nights_are_promoted_and_nine_wait_for_one() -> None:
    """The report says what is missing."""
    assert promote(nights([3] * 10), ONE, rule="classic")[0].answer == "promote"
    (near,) = promote(nights([3] * 9), ONE, rule="classic")
    assert (near.answer, near.distance) == ("wait", 1)
    assert near.missing == ("9 of 10 nights in which every enabled subject was judged",)


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ({"passed": 2, "failed": 1}, "n012: failed on a:m"),
        ({"passed": 0, "voided": 3}, "n012: no data, or void trials, for a:m"),
        ({"passed": 0, "skipped": True}, "n012: no data, or void trials, for a:m"),
    ],
)
def test_one_bad_night_in_the_window_costs_a_week(results: dict[str, int], reason: str) -> None:
    """A failure, a night of voids and a skipped night all block the promotion."""
    cells = nights([3] * 14)
    cells[12] = night(12, **results)
    (found,) = promote(cells, ONE, rule="classic")
    assert (found.answer, found.missing, found.distance) == ("wait", (reason,), 6)


def test_a_missing_night_is_not_a_pass() -> None:
    """The night was run, but not this eval."""
    cells = [cell for cell in nights([3] * 14) if cell.run != "n012"]
    (found,) = promote([*cells, night(12, eval="other")], ONE, rule="classic")
    assert (found.answer, found.missing) == ("wait", ("n012: no data, or void trials, for a:m",))


@pytest.mark.parametrize("rule", ["classic", "both", "sprt"])
def test_an_eval_is_not_promoted_on_nights_whose_failures_may_be_void(rule: str) -> None:
    """A true 50 % whose other half the agent makes void; one void is worth a night, and not a failure."""
    assert promote([night(i, passed=2, voided=2) for i in range(1, 60)], ONE, rule=rule)[0].answer == "wait"
    cells = nights([3] * 30)
    cells[4] = night(4, passed=2, voided=1)
    assert promote(cells, ONE, rule=rule)[0].answer == "promote"


def test_all_enabled_subjects_count_and_others_do_not() -> None:
    """The weakest enabled subject decides."""
    cells = [*nights([3] * 12), *nights([2] * 12, subject="b:m")]
    assert promote(cells, {"e": ("a:m", "b:m")}, rule="classic")[0].answer == "wait"
    assert promote(cells, ONE, rule="classic")[0].answer == "promote"
    assert promote(cells, {"e": ()})[0].missing[-1] == "no subject is enabled for it"


def test_an_edit_of_the_eval_restarts_the_count() -> None:
    """Nights of an older version don't count; the change is shown."""
    cells = [*nights([3] * 9, eval_hash="h0"), *nights([3] * 5, first=9)]
    (found,) = promote(cells, ONE, rule="classic")
    assert (found.answer, found.distance) == ("wait", 5)
    assert [night.states["a:m"] for night in found.nights] == ["before"] * 2 + ["pass"] * 5
    assert [(change.part, change.run) for change in found.changes] == [("eval", "n009")]


def test_a_change_of_the_agent_or_prompt_is_shown_and_restarts_nothing() -> None:
    """An eval that stays at 100 % through changes is what a promotion means."""
    cells = [*nights([3] * 9, agent_version="1"), *nights([3] * 9, first=9, agent_version="2", fingerprint="f2")]
    for rule in ("classic", "sprt", "both"):
        (found,) = promote(cells, ONE, rule=rule)
        assert found.answer == "promote"
    assert [(change.part, change.before, change.after) for change in found.changes] == [("agent", "1", "2")]


def test_another_model_restarts_the_count() -> None:
    """It has to show that it does as well; an eval that must always pass keeps its failures with any model."""
    cells = [*nights([3] * 9, model_hash="m1"), *nights([3] * 5, first=9, model_hash="m2", fingerprint="f2")]
    (found,) = promote(cells, ONE, rule="classic")
    assert (found.answer, found.distance) == ("wait", 5)
    assert [change.part for change in found.changes] == ["model"]
    always = [replace(cell, policy=Policy.ALWAYS_PASSES) for cell in [*nights([1] * 3, model_hash="m0"), *cells[3:]]]
    assert demote(always, ONE)[0].answer == "demote"


def test_by_default_both_rules_must_promote() -> None:
    """Ten perfect nights are not evidence enough, nor are 47 passes with a failure in the last week; a bad start delays
    the promotion, and does not prevent it."""
    assert promote(nights([3] * 16), ONE)[0].answer == "promote"
    (near,) = promote(nights([3] * 10), ONE)
    assert (near.answer, near.distance, near.missing) == ("wait", 6, ("a:m: 17 more passes in a row, 30 of 30 passed",))
    assert promote(nights([3] * 30 + [2] + [3] * 6), ONE)[0].answer == "wait"
    assert promote(nights([0] + [3] * 30), ONE)[0].answer == "promote"
    assert promote(nights([0] + [3] * 30), ONE, rule="sprt")[0].answer == "refuse"


def test_the_waiting_time_of_both_rules_agrees_with_a_simulation() -> None:
    """And so does how often a year an eval of 97 % is promoted and demoted again."""
    rng, rate, rounds, promoted = random.Random(5), 0.97, 300, 0
    for _ in range(rounds):
        cells = nights([sum(rng.random() < rate for _ in range(3)) for _ in range(30)])
        promoted += any(promote(cells[:n], ONE)[0].answer == "promote" for n in range(16, 31))
    assert promoted / rounds == pytest.approx(waiting(rate, 3).within(30), abs=0.07)
    classic, both = (
        flapping(PROMOTE[name], DEMOTE[other], rate, 3) or 0.0
        for name, other in (("classic", "classic"), ("both", "cusum"))
    )
    assert 10 < classic < 15
    assert both < 3


def test_a_demoted_eval_starts_again() -> None:
    """Nights as ALWAYS_PASSES don't count as incubation."""
    cells = [*nights([3] * 9, policy=Policy.ALWAYS_PASSES), *nights([3] * 5, first=9)]
    assert promote(cells, ONE, rule="classic")[0].distance == 5


def test_evals_that_need_the_least_come_first() -> None:
    """After those to promote."""
    cells = [*nights([3] * 12), *nights([3] * 8, eval="near", first=4), *nights([3] * 3, eval="far", first=9)]
    found = promote(cells, dict.fromkeys(("far", "e", "never", "near"), ("a:m",)), rule="classic")
    assert [(one.eval, one.answer, one.distance) for one in found] == [
        ("e", "promote", 0),
        ("near", "wait", 2),
        ("far", "wait", 7),
        ("never", "wait", 10),
    ]


def test_sprt_promotes_after_47_passes_and_says_how_many_are_missing() -> None:
    """16 nights of three; a failure delays it, two at the start refuse it."""
    assert promote(nights([3] * 16), ONE, rule="sprt")[0].answer == "promote"
    (near,) = promote(nights([3] * 15), ONE, rule="sprt")
    assert (near.answer, near.distance) == ("wait", 1)
    assert near.missing == ("a:m: 2 more passes in a row, 45 of 45 passed",)
    assert promote(nights([2] + [3] * 16), ONE, rule="sprt")[0].answer == "wait"
    assert promote(nights([1]), ONE, rule="sprt")[0].answer == "refuse"


def test_sprt_stays_refused_until_the_eval_changes() -> None:
    """However well it does afterwards; an edit starts again."""
    bad = nights([1])
    assert promote([*bad, *nights([3] * 40, first=1)], ONE, rule="sprt")[0].answer == "refuse"
    assert promote([*bad, *nights([3] * 40, first=1, eval_hash="h2")], ONE, rule="sprt")[0].answer == "promote"


def test_a_refusal_by_sprt_is_final_and_says_so() -> None:
    """No nights are to go, even if another subject is still undecided."""
    cells = [*nights([1]), *nights([3], subject="b:m")]
    (found,) = promote(cells, {"e": ["a:m", "b:m"]}, rule="sprt")
    assert (found.answer, found.distance) == ("refuse", 0)
    assert found.missing == ("a:m: not good, 1 of 3 passed; this is final until the eval or the model changes",)


def test_the_rates_of_sprt_account_for_the_number_of_subjects() -> None:
    """With three subjects, a good eval is refused more often, and one with a bad subject is promoted less often."""
    one, three = (PROMOTE["sprt"].error_rates(subjects=subjects) for subjects in (1, 3))
    assert "with 1 subject, it refuses 5.3 % of the good evals and promotes 4.7 %" in one.about
    assert "with 3 subjects, it refuses 19 % of the good evals and promotes 2.8 %" in three.about
    rng, promoted, rounds, subjects = random.Random(6), 0, 300, ["a:m", "b:m", "c:m"]
    for _ in range(rounds):
        cells = [
            nights([sum(rng.random() < 0.99 for _ in range(3)) for _ in range(67)], subject=one) for one in subjects
        ]
        # From the 16th night on a subject can be good; a refusal stays one, so it need not be asked for earlier.
        answers = (
            promote([cell for own in cells for cell in own[:number]], {"e": subjects}, rule="sprt")[0].answer
            for number in range(16, 68)
        )
        promoted += next(answer for answer in answers if answer != "wait") == "promote"
    assert promoted / rounds == pytest.approx(three.at(0.99).chance, abs=0.05)


def test_sprt_detects_a_drop_before_the_promotion_is_applied() -> None:
    """First good, then bad."""
    assert promote(nights([3] * 20 + [1, 1, 1]), ONE, rule="sprt")[0].answer == "refuse"


def test_cusum_tolerates_a_single_failure_and_names_the_night_of_a_drop() -> None:
    """Classic demotes for one."""
    single = nights([3] * 20 + [2] + [3] * 3, policy=Policy.ALWAYS_PASSES)
    assert demote(single, ONE, rule="classic")[0].answer == "demote"
    assert demote(single, ONE)[0].answer == "keep"
    (dropped,) = demote(nights([3] * 20 + [2, 1], policy=Policy.ALWAYS_PASSES), ONE)
    assert (dropped.answer, dropped.missing) == ("demote", ("a:m: lower since n020, detected in n021",))


def test_without_data_the_answer_is_wait() -> None:
    """Neither demote nor keep."""
    for rule in DEMOTE:
        assert demote([], ONE, rule=rule)[0].answer == "wait"


def test_error_rates_are_those_that_were_published() -> None:
    """Within 60 nights, classic promotes 99.8 % of the 95 % evals; sprt 16 %."""
    classic, sprt = (PROMOTE[name].error_rates() for name in ("classic", "sprt"))
    assert "99.8 % at 95 %" in classic.notes[0]
    assert sprt.at(0.95).chance == pytest.approx(0.161, abs=0.001)
    assert DEMOTE["classic"].error_rates().at(0.99).chance == pytest.approx(1 - 0.99**21)
    assert PROMOTE["classic"].error_rates(subjects=6).at(0.99).chance < classic.at(0.99).chance


def test_a_simulation_agrees_with_the_error_rates() -> None:
    """Applied every night for 30 nights."""
    rng, rate, promoted = random.Random(3), 0.9, 0
    for _ in range(300):
        cells = nights([sum(rng.random() < rate for _ in range(3)) for _ in range(30)])
        promoted += any(promote(cells[:n], ONE, rule="classic")[0].answer == "promote" for n in range(10, 31))
    assert promoted / 300 == pytest.approx(PROMOTE["classic"].error_rates().at(rate).chance, abs=0.07)


def test_an_unknown_rule_is_refused_with_the_nearest_name() -> None:
    """Before anything is judged."""
    with pytest.raises(UnknownName, match="did you mean 'sprt'"):
        promote([], ONE, rule="sprr")


def test_one_bad_night_does_not_demote_where_trials_of_a_night_are_alike() -> None:
    """The chart knows how alike they are from the other evals."""
    history = nights([3, 3, 3, 3, 3, 3, 3, 3, 3, 0], policy=Policy.ALWAYS_PASSES)
    alike = [c for n in range(30) for c in nights([3 * (day % 5 != n % 5) for day in range(10)], eval=f"o{n}")]
    apart = [c for n in range(30) for c in nights([2 + ((day + n) % 2) for day in range(10)], eval=f"o{n}")]
    answers = [demote([*history, *others], {"e": ["a:m"]}, rule="cusum")[0].answer for others in (alike, apart)]
    assert answers == ["keep", "demote"]
