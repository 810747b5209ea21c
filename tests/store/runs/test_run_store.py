"""Storing a run in its folder and in the history."""

from __future__ import annotations

import itertools
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.exchange import Exchange, Request, Response, Usage
from demeanor.core.values.policy import ALWAYS_PASSES
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Cell, Plan, Trial
from demeanor.store.captures.capture_store import FolderCaptureStore, read_capture
from demeanor.store.history import open_history
from demeanor.store.history.connect import open_database
from demeanor.store.history.sqlite import Sqlite
from demeanor.store.runs import run_store
from demeanor.store.runs.run_folder import RunFolder
from demeanor.store.runs.run_store import RunStore
from demeanor.store.runs.sync import sync_run
from tests.helpers.runs import FAILED, PASSED, a_run, record
from tests.journeys.test_survival import until

SAVES = Eval(
    name="saves",
    policy=ALWAYS_PASSES,
    scenario=Scenario(prompts=("p",)),
    checks=(),
    source=Source(path=Path("x.py")),
)
SUBJECT = Subject(agent="a", model="m")
TRIALS = tuple(Trial(eval=SAVES, subject=SUBJECT, number=n, timeout=1) for n in (1, 2, 3))
PLAN = Plan(cells=(Cell(eval=SAVES, subject=SUBJECT, trials=TRIALS),))
EXCHANGE = Exchange(
    number=1,
    dialect="openai",
    request=Request(model="m", messages=()),
    response=Response(parts=(), usage=Usage(input=3, output=1)),
)


def keep(store: RunStore, number: int) -> None:
    """Store one trial: the first fails, the others pass."""
    one = record(number, FAILED if number == 1 else PASSED, policy=ALWAYS_PASSES)
    store.append(one, Capture(trial=one.trial, attempt=1, exchanges=(EXCHANGE,)), Evidence(trial=one.trial))


def test_a_run_is_in_the_history_when_it_ends(tmp_path: Path, address: str):
    """Attempts, token usage and plan; its captures are published."""
    captures = FolderCaptureStore(tmp_path / "captures")
    store = RunStore(RunFolder(tmp_path / "night-1"), address, captures=captures)
    store.begin(a_run(), PLAN)
    for number in (1, 2):
        keep(store, number)
    store.close()
    history = open_history(address)
    (cell,) = history.cells("night-1")
    assert (cell.passed, cell.failed, cell.missing, cell.policy) == (1, 1, 1, ALWAYS_PASSES)
    assert history.records("night-1") == store.records()
    assert history.database.rows("SELECT SUM(input_tokens), COUNT(*) FROM usages") == [(6, 2)]
    assert history.run().source == f"{socket.gethostname()}:{tmp_path / 'night-1'}"
    assert history.run().path == tmp_path / "night-1"
    assert [read_capture(one, SAVED, captures=captures).exchanges for one in store.records()] == [(EXCHANGE,)] * 2
    assert store.notes == ()
    history.close()


@pytest.mark.parametrize("line", range(10))
def test_a_run_may_end_at_any_moment(tmp_path: Path, line: int):
    """The thread that writes to the history is stopped at one of its lines until the end of the run waits for it."""
    store = RunStore(RunFolder(tmp_path / "night-1"), str(tmp_path / "history.db"))
    closing = threading.Thread(target=store.close, daemon=True)
    reached, lines = threading.Event(), itertools.count()

    def joins() -> bool:
        frame = sys._current_frames().get(closing.ident or 0)
        return frame is not None and frame.f_code.co_name in {"join", "_wait_for_tstate_lock"}

    def stop_at_line(frame: FrameType, event: str, arg: object) -> Callable[..., object] | None:
        if frame.f_code is not RunStore._write_batches.__code__:
            return None
        if event == "line" and next(lines) == line:
            reached.set()
            until(joins)
        return stop_at_line

    threading.settrace(stop_at_line)
    try:
        store.begin(a_run(), PLAN)
    finally:
        threading.settrace(None)  # type: ignore[arg-type]
    keep(store, 1)
    assert reached.wait(60)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()
    with open_history(str(tmp_path / "history.db")) as history:
        assert history.records("night-1") == store.records()


SAVED = Capture(trial="", attempt=1).before


def test_a_locked_database_does_not_delay_trials(tmp_path: Path):
    """Everything is in the history when the run ends."""
    address = str(tmp_path / "demeanor.db")
    store = RunStore(RunFolder(tmp_path / "night-1"), address, timeout=0.05)
    store.begin(a_run(), PLAN)
    other = Sqlite(tmp_path / "demeanor.db")
    other.rows("BEGIN IMMEDIATE")
    for number in (1, 2, 3):
        keep(store, number)
    assert len(store.records()) == 3
    other.rows("COMMIT")
    other.close()
    store.close()
    assert store.notes == ()
    with open_history(address) as history:
        assert history.cells("night-1")[0].judged == 3


def test_attempts_do_not_pile_up_in_memory_while_the_database_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Only some of them wait for it; the others are read from the ledger when the run ends."""
    address = str(tmp_path / "demeanor.db")
    monkeypatch.setattr(run_store, "_MOST_WAITING", 0)
    store = RunStore(RunFolder(tmp_path / "night-1"), address, timeout=0.01)
    store.begin(a_run(), PLAN)
    other = Sqlite(tmp_path / "demeanor.db")
    other.rows("BEGIN IMMEDIATE")
    for number in (1, 2, 3):
        keep(store, number)
    until(lambda: store._failed and not store._waiting)
    other.rows("COMMIT")
    other.close()
    store.close()
    assert store.notes == ()
    with open_history(address) as history:
        assert history.cells("night-1")[0].judged == 3
        assert history.database.rows("SELECT COUNT(*) FROM usages") == [(3,)]


def test_the_history_keeps_few_pages_in_memory_while_a_run_is_written(tmp_path: Path):
    """Otherwise the memory of a run would grow with every trial, up to the size of the cache."""
    store = RunStore(RunFolder(tmp_path / "night-1"), str(tmp_path / "demeanor.db"))
    store.begin(a_run(), PLAN)
    assert store._database is not None
    ((size,),) = store._database.rows("PRAGMA cache_size")
    store.close()
    assert -4096 <= size < 0


def test_a_database_that_stays_locked_is_a_note(tmp_path: Path):
    """The run is complete in its folder and can be imported later."""
    address = str(tmp_path / "demeanor.db")
    open_database(address).close()
    other = Sqlite(tmp_path / "demeanor.db")
    other.rows("BEGIN IMMEDIATE")
    store = RunStore(RunFolder(tmp_path / "night-1"), address, timeout=0.05)
    store.begin(a_run(), PLAN)
    keep(store, 1)
    store.close()
    (note,) = store.notes
    assert "database is locked; → demeanor store import" in note
    other.rows("COMMIT")
    other.close()
    database = open_database(address)
    assert [sync_run(database, RunFolder(tmp_path / "night-1")) for _ in range(2)] == [1, 0]
    assert database.rows("SELECT COUNT(*) FROM usages") == [(1,)]
    assert database.rows("SELECT planned, policy FROM cells") == [(3, "ALWAYS_PASSES")]
    database.close()


def test_a_lost_connection_is_restored_at_the_end(tmp_path: Path, postgres: str):
    """The server closed it during the run."""
    address = f"{postgres}&schema=away"
    store = RunStore(RunFolder(tmp_path / "night-1"), address)
    store.begin(a_run(), PLAN)
    other = open_database(address)
    other.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
    )
    for number in (1, 2, 3):
        keep(store, number)
    store.close()
    assert store.notes == ()
    assert other.rows("SELECT passed, failed FROM tallies") == [(2, 1)]
    other.close()


def test_a_history_of_a_newer_version_stops_the_run_at_once(tmp_path: Path):
    """Before trials cost anything."""
    address = str(tmp_path / "demeanor.db")
    database = open_database(address)
    database.rows("INSERT INTO migrations VALUES ('9999_x', '2030', '9.9')")
    database.close()
    with pytest.raises(StoreError, match="a newer Demeanor"):
        RunStore(RunFolder(tmp_path / "night-1"), address).begin(a_run(), PLAN)
    assert not (tmp_path / "night-1").exists()


def test_attempts_of_a_killed_process_are_written_on_resume(tmp_path: Path):
    """They are in the ledger."""
    folder = RunFolder(tmp_path / "night-1")
    folder.begin(a_run(), PLAN)
    one = record(1, policy=ALWAYS_PASSES)
    folder.append(one, Capture(trial=one.trial, attempt=1), Evidence(trial=one.trial))
    folder.close()
    store = RunStore(RunFolder(tmp_path / "night-1"), str(tmp_path / "demeanor.db"))
    store.begin(a_run(), PLAN)
    keep(store, 2)
    store.close()
    with open_history(str(tmp_path / "demeanor.db")) as history:
        assert history.cells("night-1")[0].passed == 2
