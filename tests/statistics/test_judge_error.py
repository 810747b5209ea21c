"""Rates corrected for a judge's errors: reference values, and the coverage of the interval."""

from __future__ import annotations

import random

import pytest

from demeanor.statistics.judge_error import LabelledCounts, cohens_kappa, corrected_interval, rogan_gladen

REFERENCES = [
    (LabelledCounts(45, 5, 8, 42), 70, 100, 0.7297297297297298, (0.74, 0.608408981423948, 0.871591018576052)),
    (LabelledCounts(90, 10, 4, 16), 300, 1000, 0.14285714285714296, (0.625, 0.44743134197712, 0.80256865802288)),
    (LabelledCounts(18, 2, 3, 7), 20, 30, 0.611111111111111, (0.6153846153846, 0.31207272396724, 0.918696506802)),
]
"""Labels, passed and judged trials; the corrected rate by judgy 0.1.0 (`estimate_success_rate`); kappa with interval
by statsmodels 0.15.0 (`cohens_kappa`)."""


@pytest.mark.parametrize(("labels", "passed", "judged", "rate", "kappa"), REFERENCES)
def test_published_libraries_calculate_the_same(labels, passed, judged, rate, kappa):
    assert rogan_gladen(passed / judged, labels.sensitivity, labels.specificity) == pytest.approx(rate, abs=1e-12)
    found = cohens_kappa(labels)
    assert found is not None
    assert (found[0], *found[1]) == pytest.approx(kappa, abs=1e-9)
    interval = corrected_interval(passed, judged, labels)
    assert interval.low <= rate <= interval.high


def test_the_documented_examples_of_epir():
    """`epi.prev`: 23 of 150 with se = 0.96 and sp = 0.89 are 5.1 per 100; 6 of 151 with 0.964 and 0.927 are 0."""
    assert round(100 * rogan_gladen(23 / 150, 0.96, 0.89), 1) == 5.1
    assert rogan_gladen(6 / 151, 0.964, 0.927) == 0


@pytest.mark.parametrize(("rate", "sensitivity", "specificity"), [(0.8, 0.9, 0.85), (0.5, 0.7, 0.7), (0.95, 0.95, 0.8)])
def test_the_interval_covers_the_true_rate_as_often_as_it_says(rate: float, sensitivity: float, specificity: float):
    """Trials and labels are drawn anew each time, so the uncertainty of the labels is in the interval."""
    draw = random.Random(7)

    def drawn(number: int, probability: float) -> int:
        return sum(draw.random() < probability for _ in range(number))

    measured = rate * sensitivity + (1 - rate) * (1 - specificity)
    hits = tries = 0
    for _ in range(500):
        good, bad = drawn(40, sensitivity), drawn(40, specificity)
        labels = LabelledCounts(good, 40 - good, 40 - bad, bad)
        if labels.informative:
            interval = corrected_interval(drawn(60, measured), 60, labels)
            hits, tries = hits + (interval.low <= rate <= interval.high), tries + 1
    assert hits / tries >= 0.93


def test_more_labels_make_the_interval_narrower():
    few = corrected_interval(70, 100, LabelledCounts(9, 1, 2, 8))
    many = corrected_interval(70, 100, LabelledCounts(900, 100, 200, 800))
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize("labels", [LabelledCounts(5, 5, 5, 5), LabelledCounts(2, 8, 5, 5), LabelledCounts(5, 0, 0, 0)])
def test_a_judge_that_is_no_better_than_a_coin_tells_nothing(labels: LabelledCounts):
    assert not labels.informative
    with pytest.raises(ValueError, match="nothing to conclude"):
        corrected_interval(5, 10, labels)
    with pytest.raises(ValueError, match="must be above 1"):
        rogan_gladen(0.5, 0.5, 0.5)


def test_kappa_is_unknown_if_all_say_the_same():
    assert cohens_kappa(LabelledCounts(7, 0, 0, 0)) is None
