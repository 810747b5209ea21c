"""A run from start to end, through the same two functions that every command uses."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from demeanor.config.config import read_config
from demeanor.config.tables import Limit
from demeanor.core.values.errors import StoreError, UsageError
from demeanor.core.values.progress import AttemptJudged, Progress
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Plan, Trial
from demeanor.core.values.verdict import Pass
from demeanor.gateway.local.model import LocalModel
from demeanor.results.history import open_project_history
from demeanor.runner.budget import StopConditions, stop_conditions
from demeanor.runner.catalog import Catalog
from demeanor.runner.execution import (
    PreparedRun,
    execute,
    execute_together,
    prepare,
)
from demeanor.runner.plan import plan_run
from demeanor.runner.ui import UI
from demeanor.store.runs.run_dirs import find_run
from demeanor.store.runs.run_folder import RunFolder
from tests.helpers.light_model import light_model

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves(rig, result):
    assert rig.workspace["notes.txt"].text

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def fails(rig, result):
    assert rig.workspace["other.txt"].text
"""
CONFIG = """\
subjects = ["quick"]
sandbox = "none"
attempts = 1
[agents.quick]
adapter = "command"
command = ["sh", "-c", "echo milk > notes.txt", "{prompt}"]
"""


class Project:
    """A project with two evals, and the UI with which its runs are executed."""

    def __init__(self, folder: Path) -> None:
        (folder / "evals").mkdir(parents=True)
        (folder / "evals/eval_notes.py").write_text(EVAL)
        (folder / "demeanor.toml").write_text(CONFIG)
        self.results = folder / "results"
        self.catalog = Catalog(config=read_config(folder), environ={})
        self.shown: list[str] = []
        self.resumed_from: list[Record] = []
        self.ui = UI(run=self._run, progress=self._progress, log=self.shown.append)

    def prepare(
        self, *, into: Path | RunFolder | None = None, names: tuple[str, ...] = ("saves",), **more: Any
    ) -> PreparedRun:
        """One run of some evals, two trials each."""
        request = RunRequest(
            names=names, policy="all", trials=2, jobs=1, seed=1, fail_fast=more.pop("fail_fast", False)
        )
        plan = plan_run(self.catalog, replace(request, paths=(str(self.catalog.config.root / "evals"),)), {})
        return prepare(self.catalog, plan, request, into or self.results, **more)

    def recorded_prices(self) -> str:
        """The price list that a run would record, without executing it."""
        run = self.prepare()
        asyncio.run(run.context.sandbox.stop())
        return run.info.prices

    def _run(self, work: Coroutine[Any, Any, Any]) -> bool:
        asyncio.run(work)
        return False

    def _progress(self, plan: Plan, stored: Iterable[Record]) -> AbstractContextManager[Callable[[Progress], None]]:
        self.resumed_from = list(stored)
        return nullcontext(self._show)

    def _show(self, news: Progress) -> None:
        if isinstance(news, AttemptJudged):
            self.shown.append(f"{news.record.trial} {news.record.verdict.outcome}")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with two evals."""
    return Project(tmp_path)


def in_history(project: Project) -> set[str]:
    """The names of the runs that the project's history holds."""
    history = open_project_history(project.catalog.config, {}, results=project.results)
    try:
        return {run.name for run in history.runs()}
    finally:
        history.close()


def test_a_run_returns_everything_that_a_report_needs(project: Project):
    """And it is in the history, and `latest` points to it."""
    result = execute(project.prepare(), ui=project.ui)
    assert [type(record.verdict) for record in result.records] == [Pass, Pass]
    assert (result.stopped, result.interrupted, result.notes) == (None, False, ())
    assert result.seconds is not None
    assert result.info.id == result.folder.name
    assert in_history(project) == {result.info.id}
    assert find_run(project.results, "latest").folder == result.folder
    assert project.shown == ["saves/quick/1 pass", "saves/quick/2 pass"]


def test_latest_is_a_run_from_its_start(project: Project):
    """So that `--resume latest` continues it after a crash, and not the run before it."""
    execute(project.prepare(), ui=project.ui)
    run, latest = project.prepare(), list[Path]()
    execute(run, ui=project.ui, watch=lambda news: latest.append(find_run(project.results, "latest").folder))
    assert latest == [run.folder.folder] * 4


def test_a_sandbox_that_does_not_work_leaves_no_run_folder(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It is opened before the folder is created."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/git").symlink_to(shutil.which("git") or "git")
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    project.catalog.config = replace(project.catalog.config, sandbox="docker")
    with pytest.raises(UsageError, match="the sandbox 'docker' does not work on this machine"):
        project.prepare()
    assert not project.results.exists()


def test_a_run_that_cannot_be_stored_closes_its_sandbox(project: Project):
    """An unclosed one would be reported as a ResourceWarning."""
    project.results.write_text("a file")
    with pytest.raises(StoreError, match="can't store a run here"):
        project.prepare()


def test_a_run_outside_the_history_leaves_no_trace_in_the_project(project: Project, tmp_path: Path):
    """Neither a history nor a `latest` link: the trials of a fix, and the conformance suite of an agent."""
    result = execute(project.prepare(into=RunFolder(tmp_path / "apart/run"), in_history=False), ui=project.ui)
    assert len(result.records) == 2
    assert {path.name for path in (tmp_path / "apart").iterdir()} == {"run"}
    assert not project.results.exists()


def test_a_run_that_is_continued_runs_only_what_is_missing(project: Project):
    """It keeps its name and its seed, and the display gets the records it has already."""
    run = project.prepare()
    stopped = replace(run, plan=Plan(cells=(replace(run.plan.cells[0], trials=run.plan.cells[0].trials[:1]),)))
    first = execute(stopped, ui=project.ui)
    again = execute(project.prepare(into=run.folder, info=run.info), ui=project.ui)
    assert (len(first.records), len(again.records)) == (1, 2)
    assert [record.trial for record in project.resumed_from] == ["saves/quick/1"]
    assert again.info == first.info


def test_more_trials_run_in_another_round(project: Project):
    """Until `more` returns none."""
    run = project.prepare()
    template = run.plan.cells[0].trials[0]
    rounds: list[list[Trial]] = [[replace(template, number=3), replace(template, number=4)], [], []]
    result = execute(run, ui=project.ui, more=lambda: rounds.pop(0))
    assert [record.number for record in result.records] == [1, 2, 3, 4]


def test_fail_fast_stops_the_run_and_says_why(project: Project):
    """The rest of the trials is not run."""
    result = execute(project.prepare(names=("fails",), fail_fast=True), ui=project.ui)
    assert len(result.records) == 1
    assert result.stopped == "stopped at the first failure: fails/quick/1"


def test_an_observer_sees_each_event_before_the_user_does(project: Project):
    """A gate decides from what it has observed when the next round is asked for."""
    order: list[str] = []
    project.ui = replace(project.ui, progress=lambda plan, stored: nullcontext(lambda news: order.append("shown")))
    execute(project.prepare(), ui=project.ui, watch=lambda news: order.append("watched"))
    assert order == ["watched", "shown"] * 4


def test_a_commit_under_test_is_not_dirty(project: Project):
    """Whatever its build has changed."""
    result = execute(project.prepare(commit="a" * 40), ui=project.ui)
    assert (result.info.commit, result.info.dirty) == ("a" * 40, False)


def test_runs_executed_together_are_labelled_and_share_one_budget(project: Project):
    """The first trial spends the budget, so no other trial starts, in either run."""
    runs: dict[str, PreparedRun] = {}
    for label in ("base", "new"):
        runs[label] = replace(project.prepare(), limits=StopConditions(budget_usd=0.0))
    results = execute_together(runs, ui=project.ui)
    assert list(results) == ["base", "new"]
    assert sum(len(result.records) for result in results.values()) == 2
    assert {result.stopped for result in results.values()} == {"stopped: the budget of $0 is spent ($0.0000)"}
    assert set(project.shown) <= {f"saves/quick ({label})/{n} pass" for label in runs for n in (1, 2)}
    assert find_run(project.results, "latest").folder == results["new"].folder


def test_the_budget_of_the_configuration_holds_unless_the_request_has_one(project: Project):
    """Also for the commands that have no option for it."""
    config = replace(project.catalog.config, budgets={"run": Limit(usd=2.0)})
    assert stop_conditions(config, RunRequest()).budget_usd == 2.0
    assert stop_conditions(config, RunRequest(budget_usd=1.0)).budget_usd == 1.0


def test_the_price_list_is_recorded_if_a_model_has_its_price_from_there(project: Project):
    """The run's metadata name its version; a run whose models have prices of their own name none."""
    assert project.recorded_prices() == ""
    config = replace(project.catalog.config, subjects=("native:openai/gpt-5",))
    project.catalog = Catalog(config=config, environ={"OPENAI_API_KEY": "sk-0123456789"})
    assert project.recorded_prices() == f"genai-prices {version('genai-prices')}"


def test_a_local_model_holds_the_conversations_of_all_trials_that_run_at_once(tmp_path: Path) -> None:
    """Otherwise each of their turns would evict another one; a slot more is for the trial that comes next."""
    light_model()
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/eval_notes.py").write_text(EVAL)
    (tmp_path / "demeanor.toml").write_text('subjects = ["native:smollm2-135m"]\nsandbox = "none"\n')
    catalog = Catalog(config=read_config(tmp_path), environ=os.environ)
    request = RunRequest(paths=(str(tmp_path / "evals"),), policy="all", trials=4, jobs=4, seed=1)
    run = prepare(catalog, plan_run(catalog, request, {}), request, tmp_path / "results", checks_here=True)
    asyncio.run(run.context.sandbox.stop())
    model = catalog.models.model("smollm2-135m")
    assert isinstance(model, LocalModel)
    assert model.engine.slots == 5
