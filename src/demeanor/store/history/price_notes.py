"""Notes about prices without a rate for cached tokens, for reports that show the cost of stored runs."""

from __future__ import annotations

import json
from collections.abc import Collection

from demeanor.core.values.usage import AT_INPUT_PRICE, price_notes
from demeanor.store.history.database import marks
from demeanor.store.history.rows import clean
from demeanor.store.history.sql_history import SqlHistory


def stored_price_notes(history: SqlHistory, runs: Collection[str]) -> tuple[str, ...]:
    """What the trials of these runs say about their prices, each sentence once."""
    if not runs:
        return ()
    found = history.query(
        "SELECT a.more FROM attempts a JOIN cells c ON c.id = a.cell_id JOIN runs r ON r.id = c.run_id"
        f" WHERE r.name IN ({marks(len(runs))}) AND a.more LIKE ? ORDER BY c.id, a.number, a.attempt",
        (*map(clean, runs), f"%{AT_INPUT_PRICE}%"),
    )
    return price_notes(note for (more,) in found for note in json.loads(more).get("notes", ()))
