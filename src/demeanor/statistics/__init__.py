"""Statistics, one method per module. Pure functions of numbers; no evals, no verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.statistics.at_k import is_rough as is_rough, pass_at_k as pass_at_k, pass_hat_k as pass_hat_k
    from demeanor.statistics.beta_binomial import Prior as Prior
    from demeanor.statistics.binomial import at_least as at_least, table as table
    from demeanor.statistics.bisection import (
        Belief as Belief,
        Tries as Tries,
        believe as believe,
        most_telling as most_telling,
    )
    from demeanor.statistics.change import (
        MIN_NIGHTS as MIN_NIGHTS,
        NIGHTS_BETWEEN_FALSE_ALARMS as NIGHTS_BETWEEN_FALSE_ALARMS,
        RateChange as RateChange,
        find_changes as find_changes,
    )
    from demeanor.statistics.correlation import (
        INDEPENDENT as INDEPENDENT,
        NightCorrelation as NightCorrelation,
        night_correlation as night_correlation,
    )
    from demeanor.statistics.cusum import Chart as Chart, chart as chart
    from demeanor.statistics.detection import true_count as true_count
    from demeanor.statistics.difference import newcombe as newcombe
    from demeanor.statistics.estimates import estimate as estimate
    from demeanor.statistics.false_discovery import adjusted as adjusted
    from demeanor.statistics.flaky import flakiness as flakiness
    from demeanor.statistics.group_search import (
        Found as Found,
        Question as Question,
        path_length as path_length,
        search as search,
    )
    from demeanor.statistics.intervals import (
        Interval as Interval,
        jeffreys as jeffreys,
        wilson as wilson,
        wilson_of_mean as wilson_of_mean,
    )
    from demeanor.statistics.judge_error import (
        LabelledCounts as LabelledCounts,
        cohens_kappa as cohens_kappa,
        stratified_rate as stratified_rate,
    )
    from demeanor.statistics.occasions import (
        combined as combined,
        effective as effective,
        next_pass as next_pass,
        occasion as occasion,
    )
    from demeanor.statistics.operating import Stop as Stop, operate as operate
    from demeanor.statistics.paired import (
        Count as Count,
        Difference as Difference,
        clustered_mean as clustered_mean,
        paired_difference as paired_difference,
        paired_rates as paired_rates,
        student_factor as student_factor,
    )
    from demeanor.statistics.power import (
        SampleSize as SampleSize,
        Test as Test,
        detectable_drop as detectable_drop,
        exact_trials_per_side as exact_trials_per_side,
        fails_that_surprise as fails_that_surprise,
        region_of as region_of,
        trials_against_known as trials_against_known,
        trials_per_side as trials_per_side,
    )
    from demeanor.statistics.rate_change import (
        RateChangeTest as RateChangeTest,
        RateDirection as RateDirection,
        baseline_ends as baseline_ends,
    )
    from demeanor.statistics.sequential_plan import (
        SequentialPlan as SequentialPlan,
        Weighted as Weighted,
        optimal_plan as optimal_plan,
    )
    from demeanor.statistics.shrinkage import fit_prior as fit_prior
    from demeanor.statistics.sprt import Sprt as Sprt
    from demeanor.statistics.streak import chance_of_streak as chance_of_streak

__getattr__ = lazy_names(
    __name__,
    {
        "at_k": "is_rough pass_at_k pass_hat_k",
        "beta_binomial": "Prior",
        "binomial": "at_least table",
        "bisection": "Belief Tries believe most_telling",
        "change": "MIN_NIGHTS NIGHTS_BETWEEN_FALSE_ALARMS RateChange find_changes",
        "correlation": "INDEPENDENT NightCorrelation night_correlation",
        "cusum": "Chart chart",
        "detection": "true_count",
        "difference": "newcombe",
        "estimates": "estimate",
        "false_discovery": "adjusted",
        "flaky": "flakiness",
        "group_search": "Found Question path_length search",
        "intervals": "Interval jeffreys wilson wilson_of_mean",
        "judge_error": "LabelledCounts cohens_kappa stratified_rate",
        "occasions": "combined effective next_pass occasion",
        "operating": "Stop operate",
        "paired": "Count Difference clustered_mean paired_difference paired_rates student_factor",
        "power": (
            "SampleSize Test detectable_drop exact_trials_per_side fails_that_surprise region_of "
            "trials_against_known trials_per_side"
        ),
        "rate_change": "RateChangeTest RateDirection baseline_ends",
        "sequential_plan": "SequentialPlan Weighted optimal_plan",
        "shrinkage": "fit_prior",
        "sprt": "Sprt",
        "streak": "chance_of_streak",
    },
)
