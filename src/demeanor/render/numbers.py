"""Numbers for people. A rate is shown as 0 % or 100 % only if it is exactly 0 or 1."""

from __future__ import annotations

from demeanor.core.text.wording import one_line
from demeanor.core.values.evidence import Spent
from demeanor.core.values.tally import Estimate

UNKNOWN = "n/a"


def of_k(value: float | None, *, rough: bool) -> str:
    """pass@k or pass^k: `~96 %` if it is only estimated from the pass rate."""
    return ("~" if rough and value is not None else "") + percent(value)


def percent(value: float | None) -> str:
    """`67 %`; `<1 %` and `>99 %` near the ends."""
    if value is None:
        return UNKNOWN
    if 0 < value <= 0.005:
        return "<1 %"
    if 0.995 <= value < 1:
        return ">99 %"
    return f"{value * 100:.0f} %"


def rate(estimate: Estimate | None) -> str:
    """`67 % [21–94]`: the rate with its interval."""
    if estimate is None:
        return UNKNOWN
    return f"{percent(estimate.value)} [{estimate.low * 100:.0f}–{estimate.high * 100:.0f}]"


def points(difference: float) -> str:
    """A difference of two rates in percentage points: `+20`, `−80`, `0`."""
    whole = round(difference * 100)
    return f"{whole:+}".replace("-", "−") if whole else "0"


def p_value(value: float | None) -> str:
    """`0.034`, `<0.001`; empty if there is none."""
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.2g}"


def duration(seconds: float | None) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds is None:
        return UNKNOWN
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def when(started: str) -> str:
    """`2026-11-16 01:00 UTC`."""
    return f"{started[:10]} {started[11:16]} UTC" if len(started) >= 16 else one_line(started)


def money(spent: Spent, unpriced: int = 0) -> str:
    """`$0.43`, or `≥ $0.43` if the cost of some attempts is not known."""
    if spent.cost_usd is None:
        return UNKNOWN
    cost = spent.cost_usd
    shown = f"${cost:.2g}" if cost >= 0.0001 else "<$0.0001"
    if cost >= 0.095 or cost == 0:
        shown = f"${cost:.2f}"
    return f"{'≥ ' if unpriced else ''}{shown}"


def tokens(spent: Spent, uncounted: int = 0) -> str:
    """`950`, `12k`, `1.3M`; with a `≥` if the tokens of some attempts were not counted."""
    count = spent.tokens
    if count is None:
        return UNKNOWN
    shown = str(count)
    if count >= 999_500:
        shown = f"{count / 1e6:.1f}M"
    elif count >= 1000:
        shown = f"{count / 1e3:.0f}k" if count >= 9950 else f"{count / 1e3:.1f}k"
    return f"{'≥ ' if uncounted else ''}{shown}"


def tokens_and_cost(spent: Spent, uncounted: int = 0, unpriced: int = 0) -> str:
    """`12k tokens · $0.43`, or `tokens unknown · cost unknown`."""
    counted = f"{tokens(spent, uncounted)} tokens" if spent.tokens is not None else "tokens unknown"
    return f"{counted} · {money(spent, unpriced) if spent.cost_usd is not None else 'cost unknown'}"


def numbers(ordered: list[int]) -> str:
    """`2`, `2 and 3`, `1–4`."""
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]}–{ordered[-1]}"
    return " and ".join(
        [", ".join(map(str, ordered[:-1])), str(ordered[-1])] if len(ordered) > 1 else map(str, ordered)
    )


def trials(ordered: list[int]) -> str:
    """`trial 2`, `trials 2 and 3`."""
    return f"trial{'' if len(ordered) == 1 else 's'} {numbers(ordered)}"
