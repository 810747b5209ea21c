from __future__ import annotations

import json

from demeanor.cli.events import event_line
from demeanor.core.values.progress import AttemptJudged, AttemptStarted, WorkersChanged
from demeanor.core.values.verdict import Void, VoidCause
from tests.helpers.runs import record


def test_each_event_is_a_line_of_json_with_its_type() -> None:
    """Attempts that start and end, and workers that come and go."""
    void = Void(cause=VoidCause.WORKER, detail="the worker w-1 was lost: it died")
    events = [
        WorkersChanged(workers=2, slots=8),
        AttemptStarted(eval="saves", subject="a:m", number=3, attempt=1),
        AttemptJudged(record=record(3, void, final=False)),
        AttemptJudged(record=record(4)),
    ]
    lines = [event_line(event) for event in events]
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    judged = {"eval": "saves", "subject": "a:m", "attempt": 1, "seconds": 1.5, "cost_usd": 0.25}
    assert [json.loads(line) for line in lines] == [
        {"type": "workers", "workers": 2, "slots": 8},
        {"type": "started", "eval": "saves", "subject": "a:m", "trial": 3, "attempt": 1},
        {"type": "judged", **judged, "trial": 3, "outcome": "void", "cause": "worker", "final": False},
        {"type": "judged", **judged, "trial": 4, "outcome": "pass", "cause": None, "final": True},
    ]
