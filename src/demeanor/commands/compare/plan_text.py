"""The plan of a comparison for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from demeanor.core.text.percent import rate
from demeanor.core.text.wording import count
from demeanor.render import Column, Screen, hanging, paint, paragraph, table
from demeanor.reports.comparison import ComparisonPlan


def plan_terminal(plan: ComparisonPlan, screen: Screen | None = None) -> str:
    """The plan as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(plan, screen), screen)


def _lines(plan: ComparisonPlan, screen: Screen) -> Iterator[Text]:
    yield from paragraph(f"To detect a drop from {rate(plan.base)} to {rate(plan.new)}", screen, "bold")
    errors = f"with at most {rate(plan.level)} false alarms, detected {rate(plan.power)} of the time"
    yield from paragraph(errors, screen, "dim")
    about = "" if plan.exact else "about "
    each_side = f"{about}{count(plan.each_side, 'trial')}"
    yield from hanging(f"on each side of a comparison: {each_side}", screen, indent=2)
    trials = "more than 5000 trials"
    if plan.known_rate is not None:
        trials = f"{count(plan.known_rate.trials, 'trial')}, of which {plan.known_rate.fails} fail"
    yield from hanging(f"against a well-known rate: {trials}", screen, indent=2)
    yield Text()
    yield from paragraph("The smallest detectable drop, in points, by number of trials", screen, "bold")
    columns = [
        Column(title="trials", cells=[Text(str(drop.trials)) for drop in plan.drops], align="right"),
        Column(title="on each side", cells=[_points(drop.each_side) for drop in plan.drops], align="right"),
        Column(title="known rate", cells=[_points(drop.known_rate) for drop in plan.drops], align="right"),
    ]
    yield from (Text.assemble("  ", line) for line in table(columns, Screen(width=screen.width - 2)))


def _points(drop: float | None) -> Text:
    return Text("none" if drop is None else f"{drop * 100:.0f}")
