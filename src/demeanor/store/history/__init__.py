"""The history: all runs in one database, SQLite or PostgreSQL, with the same schema and queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.store.history.connect import (
        history_address as history_address,
        inspect_history as inspect_history,
        open_history as open_history,
    )
    from demeanor.store.history.copy import (
        copy_decisions as copy_decisions,
        copy_notes as copy_notes,
        copy_runs as copy_runs,
    )
    from demeanor.store.history.derived import (
        keep_derived as keep_derived,
        read_derived as read_derived,
        run_states as run_states,
    )
    from demeanor.store.history.notes import add_note as add_note, read_notes as read_notes
    from demeanor.store.history.page_queries import (
        ExchangeTime as ExchangeTime,
        LastAttempt as LastAttempt,
        RunTotal as RunTotal,
        TrialOutcome as TrialOutcome,
        count_runs as count_runs,
        exchange_times as exchange_times,
        last_attempts_of as last_attempts_of,
        matching_names as matching_names,
        matching_trials as matching_trials,
        neighbour as neighbour,
        newest_state as newest_state,
        outcomes as outcomes,
        planned_trials as planned_trials,
        run_totals as run_totals,
        stored_price_notes as stored_price_notes,
        usage_by as usage_by,
        void_causes as void_causes,
        words_of as words_of,
    )
    from demeanor.store.history.rows import uid_of as uid_of
    from demeanor.store.history.run_writer import WrittenRecord as WrittenRecord
    from demeanor.store.history.sql_history import SqlHistory as SqlHistory
    from demeanor.store.history.sqlite import MEMORY as MEMORY, is_sqlite as is_sqlite

__getattr__ = lazy_names(
    __name__,
    {
        "connect": "history_address inspect_history open_history",
        "copy": "copy_decisions copy_notes copy_runs",
        "derived": "keep_derived read_derived run_states",
        "notes": "add_note read_notes",
        "page_queries": "ExchangeTime LastAttempt RunTotal TrialOutcome count_runs exchange_times"
        " last_attempts_of matching_names matching_trials neighbour newest_state outcomes"
        " planned_trials run_totals stored_price_notes usage_by void_causes words_of",
        "rows": "uid_of",
        "run_writer": "WrittenRecord",
        "sql_history": "SqlHistory",
        "sqlite": "MEMORY is_sqlite",
    },
)
