"""The report of `demeanor power`, and the error rates of a rule, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from demeanor.commands.power.report import PowerReport
from demeanor.core.error_rates import ErrorRates
from demeanor.core.percent import rate, share
from demeanor.core.text import count
from demeanor.decide.gate.effort import LARGE_DROP, SMALL_DROP
from demeanor.render.table import Column, table, wrapped
from demeanor.render.terminal import Screen

_NARROW = 80


def power_lines(report: PowerReport, width: int) -> list[Text]:
    """The report, in lines of at most `width` columns."""
    base, new = rate(report.base), rate(report.new)
    title = Text(f"To detect a drop from {base} to {new}", "bold")
    errors = f"with at most {rate(report.level)} false alarms, detected {rate(report.power)} of the time"
    parts = [
        [*wrapped(title, width), *wrapped(Text(errors, "dim"), width), *_needed(report, width)],
        _headed("The smallest detectable drop, in points, by number of trials", _visible(report, width), width),
        _headed("Rules of the gate, for one eval with one subject", _gate(report, width), width),
        *([_headed(_gates_title(report), _gates(report, width), width)] if report.gates else []),
        _headed("Rules of promotion and demotion", _policy(report, width), width),
        wrapped(Text("More about a rule: `demeanor power --rule NAME`", "dim"), width),
    ]
    lines: list[Text] = []
    for part in parts:
        lines += [*part, Text()]
    return lines[:-1]


def _headed(title: str, lines: Sequence[Text], width: int) -> list[Text]:
    return [*wrapped(Text(title, "bold"), width), *(Text.assemble("  ", line) for line in lines)]


def _needed(report: PowerReport, width: int) -> list[Text]:
    known = (
        f"{count(report.known[0], 'trial')}, of which {report.known[1]} fail"
        if report.known
        else "more than 5000 trials"
    )
    side = report.each_side or report.each_side_about
    healthy, dropped = report.sequential
    rows = [
        ("compared with a known rate", f"{known}{_cost(report, report.known[0] if report.known else None)}"),
        (
            "between two samples (Fisher)",
            f"{'' if report.each_side else 'about '}{count(side, 'trial')} on each side{_cost(report, 2 * side)}",
        ),
        ("sequential test (SPRT)", f"{_trials(dropped)} trials on average, {_trials(healthy)} if nothing dropped"),
    ]
    if report.suite:
        evals, each, seen = report.suite
        rows.append(
            (
                f"suite of {count(evals, 'eval')} x {count(each, 'trial')}",
                f"a drop of all of them is detected {share(seen)} of the time",
            )
        )
    if width < _NARROW:
        return [line for what, answer in rows for line in wrapped(Text(f"{what}: {answer}"), width, indent=2)]
    left = max(len(what) for what, _ in rows)
    return [Text(f"  {what:<{left}}  {answer}") for what, answer in rows]


def _visible(report: PowerReport, width: int) -> list[Text]:
    def drop(value: float | None) -> Text:
        return Text("none" if value is None else f"{value * 100:.0f}")

    columns = [
        Column(title="trials", cells=[Text(str(one.trials)) for one in report.visible], align="right"),
        Column(title="known rate", cells=[drop(one.known) for one in report.visible], align="right"),
        Column(
            title=f"{count(report.history, 'trial')} of history",
            cells=[drop(one.history) for one in report.visible],
            align="right",
        ),
    ]
    return table(columns, Screen(width=width - 2))


def _gate(report: PowerReport, width: int) -> list[Text]:
    base, new = rate(report.base), rate(report.new)
    rows = [(found.rule, found.at(report.base), found.at(report.new)) for found in report.gate]

    def spent(mean: float | None) -> Text:
        return Text("n/a" if mean is None else f"{_trials(mean)}{_cost(report, mean)}")

    return table(
        [
            Column(title="rule", cells=[Text(name) for name, _, _ in rows]),
            Column(title="false alarms", cells=[Text(share(one.chance)) for _, one, _ in rows], align="right"),
            Column(title="misses", cells=[Text(share(1 - one.chance)) for _, _, one in rows], align="right"),
            Column(title=f"trials at {base}", cells=[spent(one.trials) for _, one, _ in rows], align="right", rank=1),
            Column(title=f"at {new}", cells=[spent(one.trials) for _, _, one in rows], align="right", rank=2),
        ],
        Screen(width=width - 2),
    )


def _gates_title(report: PowerReport) -> str:
    return f"A gate of {count(report.gates[0].rates.cells, 'healthy cell')}, by effort and confirmation of rejections"


def _gates(report: PowerReport, width: int) -> list[Text]:
    rows = report.gates
    small, large = (f"{rate(report.base)} → {rate(report.base * left)}" for left in (SMALL_DROP, LARGE_DROP))

    def chance(value: float | None) -> Text:
        return Text("n/a" if value is None else share(value))

    return table(
        [
            Column(title="effort", cells=[Text(one.effort) for one in rows]),
            Column(title="confirm", cells=[Text(str(one.rates.confirm)) for one in rows], align="right"),
            Column(title="blocks", cells=[chance(one.rates.blocks) for one in rows], align="right"),
            Column(
                title=f"detects {small}", cells=[chance(one.rates.small_drop) for one in rows], align="right", rank=1
            ),
            Column(title=large, cells=[chance(one.rates.large_drop) for one in rows], align="right"),
            Column(
                title="trials",
                cells=[Text(f"{one.rates.trials:.0f}{_cost(report, one.rates.trials)}") for one in rows],
                align="right",
            ),
        ],
        Screen(width=width - 2),
    )


def _policy(report: PowerReport, width: int) -> list[Text]:
    rows = [*report.promote, *report.demote]
    return table(
        [
            Column(title="rule", cells=[Text(f"{one.action} {one.rule}") for one in rows]),
            Column(title=f"at {rate(report.base)}", cells=_acts(rows, report.base), align="right"),
            Column(title=f"at {rate(report.new)}", cells=_acts(rows, report.new), align="right"),
            Column(title="for", cells=[Text(one.setting) for one in rows], rank=1, comfort=30, least=20),
        ],
        Screen(width=width - 2),
    )


def _acts(rows: Sequence[ErrorRates], at: float) -> list[Text]:
    return [Text(share(one.at(at).chance)) for one in rows]


def _cost(report: PowerReport, mean: float | None) -> str:
    return "" if report.cost_usd is None or mean is None else f" (${report.cost_usd * mean:.2f})"


def _trials(value: float) -> str:
    """A mean number of trials: `4.1`, `62`."""
    return f"{value:.1f}" if value < 20 else f"{value:.0f}"


def error_rates_lines(found: ErrorRates, width: int) -> list[Text]:
    """A rule in one sentence, its error rates as a table, and remarks."""
    columns = [
        Column(title="true pass rate", cells=[Text(rate(row.rate)) for row in found.rows], align="right"),
        Column(title=f"{found.action}s", cells=[Text(share(row.chance)) for row in found.rows], align="right"),
    ]
    if any(row.trials is not None for row in found.rows):
        means = [Text("n/a" if row.trials is None else _trials(row.trials)) for row in found.rows]
        columns.append(Column(title="mean trials", cells=means, align="right"))
    lines = wrapped(Text.assemble((found.rule, "bold"), f": {found.about}"), width)
    lines += wrapped(Text(f"for {found.setting}:", "dim"), width, indent=2)
    lines += [Text.assemble("  ", line) for line in table(columns, Screen(width=width - 2))]
    for note in found.notes:
        lines += wrapped(Text(note, "dim"), width, indent=2)
    return lines
