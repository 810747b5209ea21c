"""The answer of a comparison in one sentence, which always says how large a drop could be hidden. It names no eval, so
that every format can show it as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from demeanor.core.text.wording import count
from demeanor.decide.comparison import DETECT_LEVEL, CompareOutcome, Comparison, Counts, EvalComparison, Shift
from demeanor.statistics import trials_per_side


def summary(comparison: Comparison, counts: Mapping[str, int], known_bad: Mapping[str, int]) -> str:
    """`Can't tell: the mean pass rate may have fallen by up to 12.3 points (less than 5 are tolerated) …`."""
    if not comparison.evals:
        return "Undecided: no eval can be compared"
    if comparison.suite is None:
        return "Undecided: all evals are USUALLY_FAILS, which do not count"
    if comparison.answer == "undecided":
        return f"Can't tell: {'; '.join(_doubts(comparison, comparison.suite))}"
    outcomes = "; ".join(filter(None, (_outcomes(counts, "cell"), _outcomes(known_bad, "known failure"))))
    if comparison.answer == "worse":
        return f"Regressed: {outcomes}" + (
            f"; the mean pass rate fell by {change(comparison.suite)}" * comparison.suite.fell
        )
    blind = counts[CompareOutcome.UNDERPOWERED]
    rest = f"; single cells could hide more: {_outcomes(counts, 'cell')}" if blind else f"; {outcomes}"
    return f"Not worse by {comparison.margin * 100:g} points on average: {hidden(comparison.suite)}{rest}"


def hidden(suite: Shift) -> str:
    """The drop of the mean that is not excluded."""
    if suite.hidden == 0:
        return "the mean pass rate rose"
    return f"the mean pass rate may have fallen by up to {suite.hidden * 100:.1f} points"


def change(suite: Shift) -> str:
    """`14.5 points [-20.6 to -8.4]`, of a drop."""
    return f"{-suite.value * 100:.1f} points{interval(suite)}"


def interval(shift: Shift) -> str:
    """` [-20.6 to -8.4]`; empty if there is none."""
    if shift.low is None or shift.high is None:
        return ""
    return f" [{shift.low * 100:+.1f} to {shift.high * 100:+.1f}]"


def score(counts: Counts) -> str:
    """`57/60`."""
    return f"{counts[0]}/{counts[1]}"


def _doubts(result: Comparison, suite: Shift) -> Iterator[str]:
    """Why it is undecided, each with what would help."""
    if result.suspicious:
        verb = "looks" if len(result.suspicious) == 1 else "look"
        trials = count(_trials(result.suspicious), "fresh trial")
        yield f"{count(len(result.suspicious), 'cell')} {verb} worse; {trials} on each side would tell"
    if result.uncompared:
        yield f"{count(len(result.uncompared), 'cell')} of the base could not be compared"
    if result.doubtful:
        voids = count(result.doubtful, "void trial")
        yield f"{voids} of the new side may be the agent's doing, and would be too many failures"
    if suite.low is not None and suite.low > -result.margin:
        yield hidden(suite)
        return
    size = f"{result.margin * 100:g}"
    yield f"{hidden(suite)}, and {size} are too many"
    if result.trials_needed:
        yield f"about {count(result.trials_needed, 'trial')} per eval and side would show a drop of {size} points"


def _trials(suspects: Sequence[EvalComparison]) -> int:
    """The trials on each side that detect the smallest of these drops, four times out of five."""
    most = 0
    for cell in suspects:
        base, new = ((passed + 0.5) / (judged + 1) for passed, judged in cell.again or (cell.base, cell.new))
        if new < base:
            most = max(most, trials_per_side(base, new, level=DETECT_LEVEL / len(suspects)))
    return most


def _outcomes(counts: Mapping[str, int], noun: str) -> str:
    """`1 regressed, 2 improved of 3 cells`; empty if there are none."""
    parts = ", ".join(f"{counts[outcome]} {outcome}" for outcome in CompareOutcome if counts[outcome])
    return f"{parts} of {count(sum(counts.values()), noun)}" if parts else ""
