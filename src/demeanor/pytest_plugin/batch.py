"""The run of a pytest session: it is executed in a background thread, while pytest waits for one cell after another."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from demeanor.config import find_config, read_config
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.core.values.executor_spec import ExecutorSpec
from demeanor.core.values.progress import AttemptJudged, Progress
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Cell, Plan
from demeanor.define import unique_names
from demeanor.reports.run import RunReport, cell_text, make_report, publish
from demeanor.runner import Catalog, PreparedRun, RunResult, Stop, execute_async, plan_evals, prepare


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemResult:
    """What pytest reports about one cell."""

    answer: str
    """The decision: `accept`, `reject` or `undecided`."""

    news: bool
    """Whether a behaviour that is known to fail mostly passes."""

    reason: str
    """The reason for the decision."""

    rate: str
    """The pass rate as a number, or `none`."""

    text: str
    """The reason and call chain of each trial that failed or is void, and the command to run it again."""


class Batch:
    """All cells of one pytest session, stored as one run."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        self.request = RunRequest(
            subjects=tuple(option.eval_subject),
            trials=option.eval_trials,
            jobs=option.eval_jobs,
            sandbox=option.eval_sandbox,
            policy="all",
        )
        here = replace(read_config(_project_of(config)), executor=ExecutorSpec())
        self.catalog = Catalog(config=here, environ=os.environ)
        self.report: RunReport | None = None
        self._results = (
            Path(option.eval_results) if option.eval_results else self.catalog.config.root / self.catalog.config.results
        )
        self._debugging = bool(option.usepdb or option.trace)
        self._evals: dict[str, Eval] = {}
        self._parts: list[_Part] = []
        self._started = time.monotonic()

    def plan(self, evals: Sequence[Eval]) -> Plan:
        """The plan of some evals; raises BadInput if another file has an eval of the same name."""
        for eval_ in evals:
            other = self._evals.setdefault(eval_.name, eval_)
            if other.source != eval_.source:
                unique_names((other, eval_))
        return plan_evals(self.catalog, evals, self.request, os.environ)

    def start(self, cells: Sequence[Cell]) -> None:
        """Start the cells that were not started yet."""
        started = {cell.id for part in self._parts for cell in part.run.plan.cells}
        missing = tuple(cell for cell in cells if cell.id not in started)
        if missing:
            first = self._parts[0].run if self._parts else None
            run = prepare(
                self.catalog,
                Plan(cells=missing),
                self.request,
                first.folder if first else self._results,
                info=first.info if first else None,
                checks_here=self._debugging,
            )
            self._parts.append(_Part(run))

    def result(self, cell: Cell) -> ItemResult:
        """Wait for a cell that was started, and report on it."""
        part = next(part for part in self._parts if cell in part.run.plan.cells)
        part.wait_for(cell)
        report = make_report(self._result(Plan(cells=(cell,)))).cells[0]
        rate = report.tally.rate
        return ItemResult(
            answer=report.decision.answer,
            news=bool(report.decision.news),
            reason=report.decision.reason,
            rate=f"{rate.value:.4f}" if rate else "none",
            text=cell_text(report),
        )

    def finish(self) -> None:
        """Stop what is still running, and write the report files."""
        for part in self._parts:
            part.end()
        if self._parts:
            result = self._result(Plan(cells=tuple(cell for part in self._parts for cell in part.run.plan.cells)))
            self.report = make_report(result)
            publish(self.report, result.folder, environ=os.environ, redactor=self.catalog.redactor)

    def _result(self, plan: Plan) -> RunResult:
        """What the cells of a plan have come to so far. All parts are stored in one run folder, that of the first."""
        first = self._parts[0].run
        return RunResult(
            plan=plan,
            info=first.info,
            folder=first.folder.folder,
            records=tuple(record for part in self._parts for record in part.records),
            seconds=time.monotonic() - self._started,
            stopped=next((part.stop.reason for part in self._parts if part.stop.reason), None),
            notes=tuple(dict.fromkeys(note for part in self._parts for note in part.run.notes)),
        )


class _Part:
    """Some of the cells, executed in a background thread. With `-x` there is one part per cell, otherwise only one."""

    def __init__(self, run: PreparedRun) -> None:
        self.run = run
        self.records: list[Record] = []
        self.stop = Stop()
        self._ended = False
        self._error: BaseException | None = None
        self._news = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(execute_async(run, watch=self._watch, stop=self.stop))
        self._thread = threading.Thread(target=self._work, name="demeanor", daemon=True)
        self._thread.start()

    def wait_for(self, cell: Cell) -> None:
        """Return when every trial of a cell is judged, or the run has ended."""
        with self._news:
            self._news.wait_for(lambda: self._ended or self._judged(cell) == len(cell.trials))
            if self._error is not None:
                raise self._error

    def end(self) -> None:
        """Cancel what is still running, and wait for the thread."""
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()
        self._loop.close()

    def _judged(self, cell: Cell) -> int:
        return sum(1 for record in self.records if record.final and record.cell == cell.id)

    def _watch(self, progress: Progress) -> None:
        if isinstance(progress, AttemptJudged):
            with self._news:
                self.records.append(progress.record)
                self._news.notify_all()

    def _work(self) -> None:
        error: BaseException | None = None
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass
        except BaseException as caught:  # noqa: BLE001 - raised again in wait_for
            error = caught
        with self._news:
            self._ended, self._error = True, error
            self._news.notify_all()


def _project_of(config: pytest.Config) -> Path:
    """The project whose evals were asked for: pytest's rootdir may be above it."""
    places = [config.invocation_params.dir / arg.partition("::")[0] for arg in config.args]
    folders = {path.parent for place in places if place.exists() and (path := find_config(place.resolve()))}
    if len(folders) > 1:
        raise BadInput(
            f"evals of several projects in one run: {', '.join(sorted(map(str, folders)))}",
            where="pytest",
            remedy="run pytest once per project",
        )
    return folders.pop() if folders else config.rootpath


KEY: pytest.StashKey[Batch] = pytest.StashKey()


def batch_of(config: pytest.Config) -> Batch:
    """The batch of this pytest session, created when it is first needed."""
    if KEY not in config.stash:
        config.stash[KEY] = Batch(config)
    return config.stash[KEY]
