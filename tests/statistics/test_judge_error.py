"""Rates corrected for a judge's errors: reference values, and the coverage of the interval."""

from __future__ import annotations

import numpy as np
import pytest

from demeanor.statistics.judge_error import LabelledCounts, cohens_kappa, stratified_rate

REFERENCES = [
    (LabelledCounts(45, 5, 8, 42), (0.74, 0.608408981423948, 0.871591018576052)),
    (LabelledCounts(90, 10, 4, 16), (0.625, 0.44743134197712, 0.80256865802288)),
    (LabelledCounts(18, 2, 3, 7), (0.6153846153846, 0.31207272396724, 0.918696506802)),
]
"""Labels, and kappa with its interval by statsmodels 0.15.0 (`cohens_kappa`)."""


@pytest.mark.parametrize(("labels", "kappa"), REFERENCES)
def test_published_libraries_calculate_the_same_kappa(labels, kappa):
    found = cohens_kappa(labels)
    assert found is not None
    assert (found[0], *found[1]) == pytest.approx(kappa, abs=1e-9)


def test_the_rate_is_corrected_by_the_labels_of_each_verdict():
    """Of 80 passed trials 9/10 are good, and of 20 failed ones 1/10: however many of either are labelled."""
    for many in (1, 7):
        rate, interval = stratified_rate(80, 100, LabelledCounts(9 * many, 1, 1 * many, 9))
        assert rate == pytest.approx(0.8 * 0.9 + 0.2 * 0.1)
        assert interval.low < rate < interval.high


@pytest.mark.parametrize("labels", [50, 200])
@pytest.mark.parametrize("labelled", [(1, 1), (0.1, 1), (1, 0.1)], ids=["all", "failures", "passes"])
@pytest.mark.parametrize(("rate", "sensitivity", "specificity"), [(0.8, 0.9, 0.85), (0.5, 0.7, 0.7), (0.95, 0.95, 0.8)])
def test_the_interval_covers_the_true_rate_as_often_as_it_says(
    rate: float, sensitivity: float, specificity: float, labelled: tuple[float, float], labels: int
):
    """Also if people label mostly what the judge failed, or passed: all of these, and one in ten of the others."""
    draw = np.random.default_rng(7)
    shares = np.array([rate * sensitivity, rate * (1 - sensitivity), (1 - rate) * (1 - specificity)])
    shares = np.append(shares, 1 - shares.sum())
    chances = shares * np.array([*labelled, *labelled])
    hits = tries = 0
    for counts in draw.multinomial(labels, chances / chances.sum(), size=1000).tolist():
        if LabelledCounts(*counts).informative:
            passed = int(draw.binomial(100, shares[0] + shares[2]))
            interval = stratified_rate(passed, 100, LabelledCounts(*counts))[1]
            hits, tries = hits + (interval.low <= rate <= interval.high), tries + 1
    assert hits / tries >= 0.93


def test_more_labels_make_the_interval_narrower():
    few = stratified_rate(70, 100, LabelledCounts(9, 1, 2, 8))[1]
    many = stratified_rate(70, 100, LabelledCounts(900, 100, 200, 800))[1]
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize("labels", [LabelledCounts(5, 5, 5, 5), LabelledCounts(2, 8, 5, 5), LabelledCounts(5, 0, 0, 0)])
def test_a_judge_that_is_no_better_than_a_coin_tells_nothing(labels: LabelledCounts):
    assert not labels.informative
    with pytest.raises(ValueError, match="nothing to conclude"):
        stratified_rate(5, 10, labels)


def test_kappa_is_unknown_if_all_say_the_same():
    assert cohens_kappa(LabelledCounts(7, 0, 0, 0)) is None
