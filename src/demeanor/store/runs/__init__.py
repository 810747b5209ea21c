"""A run as a folder on disk, and its copy in the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
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
        "judge_answers": "add_judge_answers read_judge_answers",
        "ledger_progress": "LedgerProgress LedgerReader RunningTrial is_being_written ledgers_state read_running"
        " runs_in_progress stop_run write_running",
        "run_dirs": "LATEST RunPlace address_of discard_empty find_run list_runs new_run place_of point_latest"
        " store_rejudged",
        "run_folder": "RUN_FILE RunFolder is_call_log log_file refuse_shared_folders write_call_log",
        "run_store": "RunStore",
        "sync": "PENDING planned_cells_of sync_run",
    },
)
