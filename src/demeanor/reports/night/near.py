"""The evals that are near their promotion, as far as the history tells: without loading the evals."""

from __future__ import annotations

from demeanor.config import Config
from demeanor.core.text.wording import count
from demeanor.core.values.history import PastRun
from demeanor.core.values.policy import Policy
from demeanor.core.values.ports import History
from demeanor.decide.promotion import NIGHTS, Candidate, near_promotion, promote
from demeanor.reports.night.report import NearPromotion
from demeanor.results import cells_of_nights, counted_nights, night_filter


def near_of_night(history: History, run: PastRun, config: Config) -> tuple[NearPromotion, ...]:
    """The USUALLY_PASSES evals of a nightly run that are ready, or need only a few further nights; none for another
    kind of run, and for a night that is not the latest one that counts."""
    nights = counted_nights(history, night_filter(config))
    if run.info.kind != "nightly" or not nights.nights or run.name not in nights.nights[-1].names:
        return ()
    enabled: dict[str, list[str]] = {}
    failed: set[str] = set()
    for cell in cells_of_nights(history, nights.nights[-1:]):
        if cell.policy is Policy.USUALLY_PASSES and not cell.skipped:
            enabled.setdefault(cell.eval, []).append(cell.subject)
            if cell.failed:
                failed.add(cell.eval)
    for name in failed:  # it needs a whole window of perfect nights again, so earlier ones need not be read
        del enabled[name]
    cells = tuple(nights.cells(history, dict.fromkeys(enabled), NIGHTS))
    runs = [(night.info.started, night.name) for night in nights.nights]
    candidates = promote(cells, enabled, nights=runs)
    return tuple(
        NearPromotion(eval=candidate.eval, ready=candidate.answer == "promote", reason=_reason(candidate))
        for candidate in near_promotion(candidates)
    )


def _reason(candidate: Candidate) -> str:
    if candidate.answer == "promote":
        return candidate.reason
    why = f" ({candidate.missing[0]})" if candidate.missing else ""
    return f"needs at least {count(candidate.distance, 'further perfect night')}{why}"
