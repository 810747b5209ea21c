"""Check the error rates that reports state and docs/statistics.md shows: `make bench-signal`.

    python benchmarks/error_rates.py [--write]

Fails if a rate that a report states is not true (`printed_rates`), or if a table in docs/ is not what is calculated.
With `--write` the tables and plots in docs/ are replaced. Figures of the gate are exact; others are simulated with
fixed seeds, so both are the same on every machine (about three minutes).
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import comparisons, gate_rules, printed_rates  # noqa: E402 - started as a script, this folder is not a package yet
from benchmarks.nightly_scan import draw, nights_to_first_alarm, scan  # noqa: E402
from benchmarks.plots import Line, Panel, Point, plots  # noqa: E402

from demeanor.core.text.percent import share  # noqa: E402
from demeanor.statistics.binomial import at_most, table  # noqa: E402
from demeanor.statistics.change import NIGHTS_BETWEEN_FALSE_ALARMS, find_changes  # noqa: E402
from demeanor.statistics.cusum import chart  # noqa: E402

STEADY = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
GOOD_NIGHTS = (3, 5, 7, 10)
BEFORE, AFTER = 0.9, 0.45
SIX = 6
DROPS = ((0.99, 0.59), (0.95, 0.55), (0.9, 0.5), (0.8, 0.4))


def false_alarm_table() -> Iterator[str]:
    """Nights between false alarms, by the true rate."""
    yield f"| true rate | {' | '.join(_percent(rate) for rate in STEADY)} |"
    yield "|---|" + "--:|" * len(STEADY)
    for subjects, histories in ((1, 1500), (3, 400)):
        who = "one subject" if subjects == 1 else "three subjects"
        runs = [scan(draw([rate] * 400, histories, subjects=subjects)).alarms for rate in STEADY]
        yield f"| {who}: nights between alarms, in 400 nights | {_row(f'{a.size / a.sum():.0f}' for a in runs)} |"
        firsts = [nights_to_first_alarm(scan(draw([rate] * 40, 8 * histories, subjects=subjects))) for rate in STEADY]
        yield f"| {who}: nights to the first alarm, if the eval is edited every 40 nights | " + (
            f"{_row(f'{one:.0f}' for one in firsts)} |"
        )


def found_by_scan(subjects: int, good: int) -> float:
    """How often a drop is found within six nights."""
    found = scan(draw([BEFORE] * good + [AFTER] * SIX, 20_000 // subjects, subjects=subjects))
    return float(found.falls[:, good:].any(axis=1).mean())


def found_by_optimum(good: int) -> float:
    """The same for a chart that knows both rates, which is the fastest possible (Moustakides). Exact."""
    cusum = chart(BEFORE, AFTER, trials=3, between_false_alarms=NIGHTS_BETWEEN_FALSE_ALARMS)
    states, found = {0: 1.0}, 0.0
    for night in range(good + SIX):
        after: dict[int, float] = {}
        for total, chance in states.items():
            for passed, probability in enumerate(table(3, BEFORE if night < good else AFTER)):
                reached = cusum.add(total, passed, 3 - passed)
                if reached < cusum.limit:
                    after[reached] = after.get(reached, 0.0) + chance * probability
                elif night >= good:
                    found += chance * probability
        states = after
    return found


def found_by_classic() -> float:
    """The same for a night with fewer than two of three passes. Exact."""
    return 1 - (1 - at_most(1, 3, AFTER)) ** SIX


def drop_table() -> Iterator[str]:
    """Drops from 90 % to 45 % that are found within six nights."""
    yield f"| good nights before the drop | {' | '.join(map(str, GOOD_NIGHTS))} | nights between false alarms |"
    yield "|---|--:|--:|--:|--:|--:|"
    often = f"{1 / at_most(1, 3, BEFORE):.0f} at 90 %"
    at_least = f"≥ {NIGHTS_BETWEEN_FALSE_ALARMS}"
    rows: Sequence[tuple[str, Callable[[int], float], str]] = (
        ("one subject", lambda good: found_by_scan(1, good), at_least),
        ("three subjects that fall together", lambda good: found_by_scan(3, good), at_least),
        ("*one subject, both rates known beforehand (the optimum)*", found_by_optimum, at_least),
        ("*one subject, classic: fewer than two of three in one night*", lambda _: found_by_classic(), often),
    )
    for name, found, alarms in rows:
        yield f"| {name} | {_row(share(found(good)) for good in GOOD_NIGHTS)} | {alarms} |"


def date_table() -> Iterator[str]:
    """Whether the date of a drop is right or next to right."""
    yield f"| drop after ten good nights | {' | '.join(f'{_percent(a)} → {_percent(b)}' for a, b in DROPS)} |"
    yield "|---|" + "--:|" * len(DROPS)
    for subjects in (1, 3):
        who = "one subject" if subjects == 1 else "three subjects"
        yield f"| {who} | {_row(share(dated(a, b, subjects)) for a, b in DROPS)} |"
    optimum = _row(share(best_date(before, after)) for before, after in DROPS)
    yield f"| *one subject, both rates known beforehand (the optimum)* | {optimum} |"


def dated(before: float, after: float, subjects: int, times: int = 400) -> float:
    """How often the most likely night is right or next to right, of the drops that are found."""
    rng, near, falls = random.Random(3), 0, 0
    for _ in range(times):
        series = [
            [(sum(rng.random() < (before if night < 10 else after) for _ in range(3)), 3) for night in range(20)]
            for _ in range(subjects)
        ]
        own = [one for one in find_changes(series) if one.fell and one.noticed >= 10]
        falls += bool(own)
        near += bool(own) and abs(own[0].first - 10) <= 1
    return near / falls


def best_date(before: float, after: float, times: int = 20_000) -> float:
    """The same for all drops, if both rates are known: no method is better."""
    passed = draw([before] * 10 + [after] * 10, times)[:, 0]
    ratio = passed * np.log(before / after) + (3 - passed) * np.log((1 - before) / (1 - after))
    likelihood = np.exp(np.cumsum(ratio, axis=1)[:, :-1])  # of a change after each night
    around = likelihood.copy()
    around[:, 1:] += likelihood[:, :-1]
    around[:, :-1] += likelihood[:, 1:]
    return float((np.abs(around.argmax(axis=1) + 1 - 10) <= 1).mean())


def frontier_plot() -> str:
    """The rules of the gate, and the line below which no rule can be."""
    rules = gate_rules.all_rules()
    names = ("standard", "thorough", "two of three", "three or ten")
    panels = []
    for title, drop in (("95 % → 80 %", 0), ("95 % → 50 %", 1)):
        points = [
            Point(
                x=own.trials,
                y=(own.misses_80, own.misses_50)[drop] * 100,
                name=name,
                ours=name != "three or ten",
                left=name in {"standard", "thorough"},
                below=name in {"standard", "three or ten"},
            )
            for name, own in zip(names, rules.values(), strict=True)
        ]
        limits = Line(name="optimum", points=gate_rules.frontier(drop), named_at=(18, 6)[drop], below=True)
        panels.append(
            Panel(title=f"missed drops {title}", x="trials per healthy cell", y="%", points=points, lines=[limits])
        )
    return plots(panels, "Trials and missed drops of the gate's rules, at no more than 0.8 % false alarms")


def drop_plot() -> str:
    """Found drops by the number of good nights before."""
    lines = [
        Line(name="three subjects", points=[(good, found_by_scan(3, good) * 100) for good in GOOD_NIGHTS], ours=True),
        Line(
            name="optimum, one subject",
            points=[(good, found_by_optimum(good) * 100) for good in GOOD_NIGHTS],
            below=True,
        ),
        Line(
            name="one subject",
            points=[(good, found_by_scan(1, good) * 100) for good in GOOD_NIGHTS],
            ours=True,
            below=True,
        ),
    ]
    panel = Panel(title="drops 90 % → 45 % found within six nights", x="good nights before", y="%", lines=lines)
    return plots([panel], "Found drops by the number of good nights before")


def _percent(rate: float) -> str:
    return f"{rate * 100:.0f} %"


def _row(cells: Iterator[str]) -> str:
    return " | ".join(cells)


TABLES: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "gate": ("statistics.md", gate_rules.rules_table),
    "gate-history": ("statistics.md", gate_rules.history_table),
    "confirm": ("statistics.md", gate_rules.confirm_table),
    "comparison": ("statistics.md", comparisons.comparison_table),
    "false-alarms": ("statistics.md", false_alarm_table),
    "drops": ("statistics.md", drop_table),
    "dates": ("statistics.md", date_table),
    "correlation": ("statistics.md", printed_rates.correlation_table),
}
"""Name → the page that shows it, and how it is made."""

PLOTS = {"gate-frontier.svg": frontier_plot, "found-drops.svg": drop_plot}


def shown_table(name: str) -> list[str]:
    """The lines of a table as the docs show it."""
    page, _ = TABLES[name]
    found = _block(name).search((ROOT / "docs" / page).read_text("utf-8"))
    if found is None:
        raise SystemExit(f"docs/{page}: no table <!-- bench-signal: {name} -->")
    return found[2].splitlines()


def _block(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- bench-signal: {name} -->\n)(.*?)(<!-- end bench-signal -->)", re.S)


def _with_table(page: str, name: str, table: str) -> str:
    return _block(name).sub(lambda part: f"{part[1]}{table}\n{part[3]}", page)


def main() -> None:
    """Check all claims and print all tables; with `--write`, put them and the plots into the docs."""
    problems = [f"stated {claim.stated}, true {claim.truth}: {claim.about}" for claim in printed_rates.broken()]
    for name, (page, make) in TABLES.items():
        text = "\n".join(make())
        print(f"\ndocs/{page}, {name}:\n\n{text}", flush=True)
        stale = shown_table(name) != text.splitlines()
        if stale and "--write" not in sys.argv:
            problems.append(f"docs/{page}: the table {name} is not what is calculated now (WRITE=--write replaces it)")
        if "--write" in sys.argv:
            file = ROOT / "docs" / page
            old = file.read_text("utf-8")
            file.write_text(_with_table(old, name, text), "utf-8")
    for name, draw_plot in PLOTS.items() if "--write" in sys.argv else ():
        (ROOT / "docs/images" / name).write_text(draw_plot(), "utf-8")
        print(f"\ndocs/images/{name} written")
    if problems:
        raise SystemExit("\n".join(["", "These do not hold:", *problems]))


if __name__ == "__main__":
    main()
