"""Results that follow from stored runs and take long to calculate, kept in the history.

The key of a result is a digest of everything it follows from, so a result is never wrong, only unused. What a run
contributes to a key is the number of writes to it (`run_states`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from demeanor.core.values.errors import StoreError
from demeanor.store.history.database import batches, marks
from demeanor.store.history.rows import digest
from demeanor.store.history.sql_history import SqlHistory

_KEPT = 200
"""As many results are kept; older ones are deleted."""


def run_states(history: SqlHistory, runs: Sequence[str]) -> Mapping[str, tuple[int, int, int]]:
    """What is stored of some runs: name → id, number of cells, number of writes."""
    return {
        name: (number, cells, writes)
        for batch in batches(runs)
        for name, number, cells, writes in history.query(
            "SELECT r.name, r.id, s.cells, s.writes FROM run_states s JOIN runs r ON r.id = s.run_id"
            f" WHERE r.name IN ({marks(len(batch))}) ORDER BY r.id",
            batch,
        )
    }


def read_derived(history: SqlHistory, *key: object) -> Any:
    """The stored result of a key as JSON data; None if there is none."""
    rows = history.query("SELECT value FROM derived WHERE digest = ?", (digest(*key),))
    return json.loads(rows[0][0]) if rows else None


def keep_derived(history: SqlHistory, value: Any, *key: object) -> None:
    """Store a result for the next reader. If the store can't be written to, it is calculated again."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    with suppress(StoreError), history.writing():
        history.database.rows(
            "INSERT INTO derived (digest, made, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (digest(*key), now, json.dumps(value)),
        )
        history.database.rows(
            "DELETE FROM derived WHERE digest NOT IN"
            f" (SELECT digest FROM (SELECT digest FROM derived ORDER BY made DESC LIMIT {_KEPT}) AS newest)"
        )
