"""Progress events as lines of JSON, for programs that watch a run: what `--json` prints on standard error."""

from __future__ import annotations

import json
from typing import Any

from demeanor.core.values.progress import AttemptJudged, AttemptStarted, Progress
from demeanor.core.values.verdict import Void


def event_line(news: Progress) -> str:
    """One progress event as one line of JSON."""
    return json.dumps(_fields(news), ensure_ascii=False) + "\n"


def _fields(news: Progress) -> dict[str, Any]:
    if isinstance(news, AttemptStarted):
        return {
            "type": news.type,
            "eval": news.eval,
            "subject": news.subject,
            "trial": news.number,
            "attempt": news.attempt,
        }
    if isinstance(news, AttemptJudged):
        record = news.record
        return {
            "type": news.type,
            "eval": record.eval,
            "subject": record.subject,
            "trial": record.number,
            "attempt": record.attempt,
            "outcome": record.verdict.outcome,
            "cause": record.verdict.cause.value if isinstance(record.verdict, Void) else None,
            "final": record.final,
            "seconds": record.spent.seconds,
            "cost_usd": record.spent.cost_usd,
        }
    return {"type": news.type, "workers": news.workers, "slots": news.slots}
