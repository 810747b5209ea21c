"""The append-only store of runs, captures and verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.store.captures.capture_json import (
        capture_json as capture_json,
        read_capture_answers as read_capture_answers,
        read_capture_json as read_capture_json,
        read_exchanges as read_exchanges,
        read_start_hash as read_start_hash,
    )
    from demeanor.store.captures.capture_store import (
        CaptureStore as CaptureStore,
        capture_text as capture_text,
        open_capture_store as open_capture_store,
        publish as publish,
        read_capture as read_capture,
        read_start as read_start,
    )
    from demeanor.store.exports.atif import trajectory as trajectory
    from demeanor.store.exports.otlp import SpanExport as SpanExport, as_lines as as_lines, send_spans as send_spans
    from demeanor.store.exports.table import (
        COLUMNS as COLUMNS,
        arrow_schema as arrow_schema,
        as_csv as as_csv,
        row as row,
        write_parquet as write_parquet,
    )
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
    from demeanor.store.imports.common import (
        OUTPUT_LINES as OUTPUT_LINES,
        Imported as Imported,
        ImportOptions as ImportOptions,
        as_text as as_text,
        cells_of as cells_of,
        expect as expect,
        import_uid as import_uid,
        imported_run as imported_run,
        iso_time as iso_time,
        read_bytes as read_bytes,
        read_json as read_json,
        seconds_between as seconds_between,
    )
    from demeanor.store.imports.importer import read_imports as read_imports, write_imports as write_imports
    from demeanor.store.runs.judge_answers import (
        add_judge_answers as add_judge_answers,
        read_judge_answers as read_judge_answers,
    )
    from demeanor.store.runs.ledger_progress import (
        LedgerProgress as LedgerProgress,
        LedgerReader as LedgerReader,
        RunningTrial as RunningTrial,
        is_being_written as is_being_written,
        ledgers_state as ledgers_state,
        read_running as read_running,
        runs_in_progress as runs_in_progress,
        stop_run as stop_run,
        write_running as write_running,
    )
    from demeanor.store.runs.run_dirs import (
        LATEST as LATEST,
        RunPlace as RunPlace,
        address_of as address_of,
        discard_empty as discard_empty,
        find_run as find_run,
        list_runs as list_runs,
        new_run as new_run,
        place_of as place_of,
        point_latest as point_latest,
        store_rejudged as store_rejudged,
    )
    from demeanor.store.runs.run_folder import (
        RUN_FILE as RUN_FILE,
        RunFolder as RunFolder,
        is_call_log as is_call_log,
        log_file as log_file,
        refuse_shared_folders as refuse_shared_folders,
        write_call_log as write_call_log,
    )
    from demeanor.store.runs.run_store import RunStore as RunStore
    from demeanor.store.runs.sync import PENDING as PENDING, planned_cells_of as planned_cells_of, sync_run as sync_run

__getattr__ = lazy_names(
    __name__,
    {
        "captures.capture_json": "capture_json read_capture_answers read_capture_json read_exchanges read_start_hash",
        "captures.capture_store": "CaptureStore capture_text open_capture_store publish read_capture read_start",
        "exports.atif": "trajectory",
        "exports.otlp": "SpanExport as_lines send_spans",
        "exports.table": "COLUMNS arrow_schema as_csv row write_parquet",
        "history.connect": "history_address inspect_history open_history",
        "history.copy": "copy_decisions copy_notes copy_runs",
        "history.derived": "keep_derived read_derived run_states",
        "history.notes": "add_note read_notes",
        "history.page_queries": (
            "ExchangeTime LastAttempt RunTotal TrialOutcome count_runs exchange_times last_attempts_of matching_names "
            "matching_trials words_of neighbour newest_state outcomes planned_trials run_totals stored_price_notes "
            "usage_by void_causes"
        ),
        "history.rows": "uid_of",
        "history.run_writer": "WrittenRecord",
        "history.sql_history": "SqlHistory",
        "history.sqlite": "MEMORY is_sqlite",
        "imports.common": (
            "ImportOptions Imported OUTPUT_LINES as_text cells_of expect import_uid imported_run iso_time "
            "read_bytes read_json seconds_between"
        ),
        "imports.importer": "read_imports write_imports",
        "runs.judge_answers": "add_judge_answers read_judge_answers",
        "runs.ledger_progress": (
            "LedgerProgress LedgerReader RunningTrial is_being_written ledgers_state read_running runs_in_progress "
            "stop_run write_running"
        ),
        "runs.run_dirs": (
            "LATEST RunPlace address_of discard_empty find_run list_runs new_run place_of point_latest store_rejudged"
        ),
        "runs.run_folder": "RUN_FILE RunFolder is_call_log log_file refuse_shared_folders write_call_log",
        "runs.run_store": "RunStore",
        "runs.sync": "PENDING planned_cells_of sync_run",
    },
)
