"""The run behind a pytest session: one session of Holdfast in a thread, asked for one cell after the other."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import wiring
from holdfast.core.config import read_config
from holdfast.core.evals import Eval
from holdfast.core.progress import AttemptJudged, Progress
from holdfast.core.record import Record, RunInfo
from holdfast.core.request import RunRequest
from holdfast.core.trial import Cell, Plan
from holdfast.report.run_report import CellReport, RunReport
from holdfast.run.schedule import Stop
from holdfast.session import House, Terms, conduct
from holdfast.store.folder import RunFolder


class Batch:
    """All cells that one pytest session runs."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        self.request = RunRequest(
            subjects=tuple(option.eval_subject), trials=option.eval_trials, jobs=option.eval_jobs, policy="all"
        )
        self.cast = wiring.Cast(config=read_config(config.rootpath))
        self.report: RunReport | None = None
        self._results = Path(option.eval_out) if option.eval_out else self.cast.config.root / self.cast.config.results
        self._run: _Run | None = None

    def plan(self, evals: Sequence[Eval]) -> Plan:
        """The cells of some evals."""
        return wiring.plan_evals(self.cast, evals, self.request, os.environ)

    def start(self, cells: Sequence[Cell]) -> None:
        """Begin to run these cells; the first call counts."""
        if self._run is None:
            info = wiring.run_info(self.cast.config, self.request)
            self._run = _Run(self.cast, Plan(cells=tuple(cells)), self.request, info, wiring.new_store(self._results))

    def result(self, cell: Cell) -> CellReport:
        """Wait for one cell and give what came of it."""
        if self._run is None:
            raise RuntimeError("nothing was started")
        self._run.wait_for(cell)
        return self._run.report(Plan(cells=(cell,))).cells[0]

    def finish(self) -> None:
        """Stop what is still running, and write the report's files."""
        if self._run is not None:
            self._run.end()
            self.report = self._run.report(self._run.plan)
            wiring.publish(self.report, self._run.store.folder, environ=os.environ)
            self._run = None


class _Run:
    """A session of Holdfast in a thread of its own."""

    def __init__(self, cast: wiring.Cast, plan: Plan, request: RunRequest, info: RunInfo, store: RunFolder) -> None:
        self.plan = plan
        self.store = store
        self.info = replace(info, id=store.folder.name)
        self._house: House = wiring.house(cast, plan, request, store, seed=info.seed)
        self._terms = Terms(budget_usd=cast.config.budget_usd)
        self._started = time.monotonic()
        self._records: list[Record] = []
        self._error: BaseException | None = None
        self._news = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._conduct())
        self._thread = threading.Thread(target=self._work, name="holdfast", daemon=True)
        self._thread.start()

    def wait_for(self, cell: Cell) -> None:
        """Return when every trial of a cell is judged, or nothing more will be."""
        with self._news:
            self._news.wait_for(lambda: self._task.done() or self._judged(cell) == len(cell.trials))
            if self._error is not None:
                raise self._error

    def report(self, plan: Plan) -> RunReport:
        """What came of a part of the plan, or of all of it."""
        seconds = time.monotonic() - self._started
        return wiring.make_report(self.info, plan, tuple(self._records), folder=self.store.folder, seconds=seconds)

    def end(self) -> None:
        """Stop what is still running, and wait until it is gone."""
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()
        self._loop.close()

    def _judged(self, cell: Cell) -> int:
        return sum(1 for record in self._records if record.final and record.cell == cell.id)

    def _watch(self, progress: Progress) -> None:
        if isinstance(progress, AttemptJudged):
            with self._news:
                self._records.append(progress.record)
                self._news.notify_all()

    async def _conduct(self) -> None:
        await conduct(self.plan, self.info, self._house, terms=self._terms, watch=self._watch, stop=Stop())

    def _work(self) -> None:
        error: BaseException | None = None
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass
        except BaseException as caught:  # noqa: BLE001 - it is raised again where somebody waits
            error = caught
        with self._news:
            self._error = error
            self._news.notify_all()


KEY: pytest.StashKey[Batch] = pytest.StashKey()


def batch_of(config: pytest.Config) -> Batch:
    """The batch of this pytest session, made when it is first needed."""
    if KEY not in config.stash:
        config.stash[KEY] = Batch(config)
    return config.stash[KEY]
