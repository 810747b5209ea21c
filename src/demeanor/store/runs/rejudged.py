"""What captures say when they are judged again, kept beside what they said at first.

    <run>/rejudged/<when>/run.json, ledger.jsonl      as of a run; the leavings of its trials are those of the run
    <run>/rejudged/<when>/rejudge.json                what changed

It lies inside of the run that it is about, so that nobody takes it for another run: the history does not know it, and
no night is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from demeanor.core.record import Record, RunInfo
from demeanor.core.trial import Plan
from demeanor.store.runs.run_dirs import new_run
from demeanor.store.runs.run_folder import RunFolder

FOLDER = "rejudged"


def keep_rejudged(run: RunFolder, info: RunInfo, plan: Plan, records: Sequence[Record], now: datetime) -> RunFolder:
    """Write down how trials of `run` are judged now; nothing of the run itself is touched."""
    kept = new_run(run.folder / FOLDER, now)
    kept.begin(replace(info, id=kept.folder.name), plan)
    try:
        for record in records:
            kept.refer(replace(record, folder=f"../../{record.folder}", capture=None))
    finally:
        kept.close()
    return kept
