"""Runs in progress are read from their ledgers, so that they are seen even if the history does not know them."""

from __future__ import annotations

import http.client
import re
import signal
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from demeanor.core.values.capture import Capture
from demeanor.core.values.evidence import Evidence, Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.trial import Plan, named_cell
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.store.history.connect import FILE, open_database
from demeanor.store.history.run_writer import RunWriter, WrittenRecord
from demeanor.store.runs import ledger_progress
from demeanor.store.runs.ledger import LEDGER
from demeanor.store.runs.ledger_progress import (
    LedgerReader,
    RunningTrial,
    is_being_written,
    stop_run,
    write_running,
)
from demeanor.store.runs.run_folder import RunFolder
from tests.helpers.dashboard_server import Dashboard, served
from tests.helpers.dashboard_store import DashboardStore

CELL = named_cell("waits", "native:slow", policy=Policy.ALWAYS_PASSES, trials=4)
LEFT_OUT = named_cell("other", "native:slow", policy=Policy.ALWAYS_PASSES, trials=0, skipped="for a reason")
GOOD = Pass(findings=(Finding(check="waits", answer="yes"),))
BAD = Fail(findings=(Finding(check="waits", answer="no", reason="it did not"),))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFolder]:
    """A run that is being written by this process, and that no history knows."""
    (tmp_path / "demeanor.toml").write_text("")
    folder = RunFolder(tmp_path / "results" / "2026-11-16T01-00-00")
    started = datetime.now(UTC).isoformat()
    info = RunInfo(id=folder.folder.name, started=started, uid="1" * 16, demeanor="0.1", arguments={"jobs": 2})
    folder.begin(info, Plan(cells=(CELL, LEFT_OUT)))
    yield folder
    folder.close()


def append(run: RunFolder, number: int, verdict: Verdict, *, final: bool = True, cost: float | None = 0.25) -> None:
    """One attempt has ended."""
    trial = f"waits/native:slow/{number}"
    record = Record(
        eval="waits", subject="native:slow", number=number, attempt=1, verdict=verdict, final=final,
        ended=datetime.now(UTC).isoformat(timespec="milliseconds"), policy=Policy.ALWAYS_PASSES,
        spent=Spent(seconds=2.0, turns=1, input_tokens=100, output_tokens=10, cost_usd=cost),
    )  # fmt: skip
    run.append(record, Capture(trial=trial, attempt=1), Evidence(trial=trial))


def test_a_ledger_is_read_as_it_grows(run: RunFolder):
    """Each attempt once; a void that is tried again is no result; half a line waits for its end."""
    reader = LedgerReader(run.folder, keep=2)
    assert reader.read().outcomes == ()
    append(run, 1, GOOD)
    append(run, 2, Void(cause=VoidCause.PROVIDER, detail="503"), final=False)
    read = reader.read()
    assert (read.outcomes, len(read.last), read.spent.cost_usd) == (("pass",), 2, 0.5)
    append(run, 2, BAD, cost=None)
    with (run.folder / LEDGER).open("ab") as file:
        file.write(b'{"eval": "wai')
    read = reader.read()
    assert read.outcomes == ("pass", "fail")
    assert [one.verdict.outcome for one in read.last] == ["fail", "void"]
    assert (read.spent.seconds, read.spent.cost_usd, read.unpriced, read.uncounted) == (6.0, 0.5, 1, 0)


def test_a_run_that_only_its_ledger_knows_is_live(run: RunFolder):
    """As while the database is not available: progress, the last trials, spend and an event for each attempt."""
    with served(DashboardStore(root=run.folder.parents[1], nights=())) as dashboard:
        assert "0 of 4" in dashboard.page("/live").text
        with urllib.request.urlopen(f"{dashboard.address}/events", timeout=120) as events:  # noqa: S310 - our own server
            first = events.readline()
            append(run, 1, BAD)
            while (line := events.readline()).strip() in {b"", b":"} or line == first:
                assert line, "the stream ended"
        assert line.startswith(b"data: ")
        text = _live(dashboard)
        assert "1 of 4" in text
        assert "✗ fail waits/ native: slow/ 1" in text
        assert "$0.25" in text
        assert "Trials in parallel 2" in text
        assert "Time left about" in text


def test_a_live_trial_is_a_link_once_its_page_exists(run: RunFolder):
    """The ledger knows a trial before the history does; until then a link would lead nowhere."""
    append(run, 1, BAD)
    store = DashboardStore(root=run.folder.parents[1], nights=())
    with served(store) as dashboard:
        assert 'href="/run/' not in dashboard.get("/live").text
        assert 'href="/trial/' not in dashboard.get("/live").text
        database = open_database(str(run.folder.parent / FILE))
        writer = RunWriter(database, run.info())
        writer.write((), [WrittenRecord(record=one) for one in run.records()])
        append(run, 2, BAD)
        links = re.findall(r'href="(/(?:run|trial)/[^"]+)"', dashboard.get("/live").text)
        assert len(links) == 2
        assert all(dashboard.get(link).status == 200 for link in links)
        database.close()


def test_a_live_run_shows_what_its_trials_do_and_what_it_will_cost(run: RunFolder):
    """As far as the run says so; what an agent asked for is hostile text."""
    append(run, 1, GOOD)
    trial = RunningTrial(
        eval="waits", subject="native:slow", number=2, attempt=2, began="2026-11-16T01:02:03+00:00", step="<b>rm(x)</b>"
    )
    write_running(run.folder, [trial])
    with served(DashboardStore(root=run.folder.parents[1], nights=())) as dashboard:
        text = dashboard.page("/live").text
        assert "Running now 1 waits/ native: slow/ 2 attempt 2 since 01:02:03 <b>rm(x)</b>" in text
        assert "Expected in all about $1.00" in text
        assert "Stop this run" not in text
        write_running(run.folder, [])
        assert "Running now 1" not in dashboard.page("/live").text
    assert list(run.folder.glob("*running*")) == []


def test_a_run_without_evals_that_could_not_be_read_is_not_accepted(run: RunFolder):
    """Its page says what could not be read, as the run did when it ended."""
    for number in range(1, 5):
        append(run, number, GOOD)
    info = replace(run.info(), uid="2" * 16, id="2026-11-16T02-00-00")
    with served(DashboardStore(root=run.folder.parents[1], nights=())) as dashboard:
        database = open_database(str(run.folder.parent / FILE))
        for now, verdict in ((info, "exit code 0"), (with_unread(info), "exit code 3: ")):
            RunWriter(database, now).write((), [WrittenRecord(record=record) for record in run.records()])
            text = dashboard.page(f"/run/{now.id}").text
            assert verdict in text
            assert ("skipped eval_x.py: no module" in text) == (now is not info)
        database.close()


def with_unread(info: RunInfo) -> RunInfo:
    arguments = {"unread": ["skipped eval_x.py: no module"]}
    return replace(info, uid="3" * 16, id="2026-11-16T03-00-00", arguments=arguments)


@pytest.mark.parametrize("owner", ["0", "-1"])
def test_a_run_of_another_container_goes_on_and_can_not_be_stopped(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str
):
    """The system names no process of ours for its lock; a signal to 0 or -1 would go to many processes."""
    locks = tmp_path / "locks"
    locks.write_text(f"1: FLOCK  ADVISORY  WRITE {owner} 08:01:{(run.folder / LEDGER).stat().st_ino} 0 EOF\n")
    monkeypatch.setattr(ledger_progress, "_LOCKS", locks)
    assert is_being_written(run.folder)
    assert not stop_run(run.folder)


def test_a_run_is_stopped_from_its_page(run: RunFolder):
    """As by Ctrl-C; only with `--notes`, by a form of our own pages, and only a run that goes on here."""
    stopped = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stopped.set())  # the process that writes the run is this one
    try:
        with served(DashboardStore(root=run.folder.parents[1], nights=()), "--notes") as dashboard:
            dashboard.address, _, token = dashboard.address.partition("/?token=")
            cookie = dashboard.get(f"/?token={token}").headers["set-cookie"].partition(";")[0]
            page = dashboard.get("/live", Cookie=cookie).text
            form_token = re.findall(r'name="form_token" value="([^"]+)"', page)[0]

            def post(name: str, form_token: str, origin: str = dashboard.address) -> int:
                fields = urlencode({"run": name, "form_token": form_token})
                headers = {"Origin": origin, "Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
                connection = http.client.HTTPConnection(urlsplit(dashboard.address).netloc, timeout=120)
                connection.request("POST", "/stop", fields, headers)
                status = connection.getresponse().status
                connection.close()
                return status

            assert post(run.folder.name, "wrong") == 403
            assert post(run.folder.name, form_token, "http://evil.example") == 403
            assert post("../x", form_token) == 400
            assert not stopped.is_set()
            assert post(run.folder.name, form_token) == 303
            assert stopped.wait(60)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_run_that_nobody_writes_any_more_is_not_live(run: RunFolder):
    """Its lock is gone."""
    append(run, 1, GOOD)
    run.close()
    with served(DashboardStore(root=run.folder.parents[1], nights=())) as dashboard:
        assert "Nothing is running" in _live(dashboard)
    run.begin(run.info(), Plan(cells=(CELL, LEFT_OUT)))


def _live(dashboard: Dashboard) -> str:
    return dashboard.page("/live").text
