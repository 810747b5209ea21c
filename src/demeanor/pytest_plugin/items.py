"""Evals as pytest items: one per eval and subject."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from demeanor.commands.run.report import CellReport
from demeanor.commands.run.terminal import cell_text
from demeanor.core.checks import FunctionCheck
from demeanor.core.ci_commands import neutral
from demeanor.core.errors import DemeanorError, UsageError
from demeanor.core.eval import Eval
from demeanor.core.policy import Policy
from demeanor.core.trial import Cell
from demeanor.define.discover import discover, unique_names
from demeanor.define.folder.cline_folder import looks_like_cline
from demeanor.define.python.decorator import take_created
from demeanor.define.python.import_file import evals_in, reject_lost
from demeanor.pytest_plugin.batch import Batch, batch_of


class EvalFailed(Exception):
    """A cell was rejected, or a behaviour that is known to fail has failed."""

    def __init__(self, cell: CellReport) -> None:
        self.cell = cell
        super().__init__(cell.decision.reason)


class EvalVoid(Exception):
    """No trial of a cell could be judged, which is an error and not a failure."""

    def __init__(self, cell: CellReport) -> None:
        self.cell = cell
        super().__init__(cell.decision.reason)


class EvalItem(pytest.Item):
    """One eval on one subject. It waits for its trials in `setup`, so that pytest reports a void cell as an error."""

    def __init__(self, *, cell: Cell, **rest: Any) -> None:
        super().__init__(**rest)
        self.cell = cell
        self.result: CellReport | None = None
        self.add_marker(cell.eval.policy.value.lower())
        self.extra_keyword_matches.update(cell.eval.tags)
        self.own_markers.extend(_marks(cell.eval))
        if cell.eval.policy is Policy.USUALLY_FAILS:
            self.add_marker(pytest.mark.xfail(raises=EvalFailed, strict=False, reason="known to fail"))
        if cell.eval.policy is not Policy.ALWAYS_PASSES and not os.environ.get("RUN_EVALS"):
            self.add_marker(pytest.mark.skip(reason=f"{cell.eval.policy} runs with RUN_EVALS=1"))
        if cell.skipped:
            self.add_marker(pytest.mark.skip(reason=cell.skipped))

    def setup(self) -> None:
        """Wait for the trials."""
        batch = batch_of(self.config)
        problem = ""
        try:
            batch.start(_cells_to_run(self))
        except UsageError as error:  # such as a sandbox that does not work here
            problem = str(error).replace("--sandbox", "--eval-sandbox")
        if problem:
            pytest.fail(problem, pytrace=False)
        self.result = batch.result(self.cell)
        rate = self.result.tally.rate
        self.user_properties.append(("pass_rate", f"{rate.value:.4f}" if rate else "none"))
        if self.result.decision.answer == "undecided":
            raise EvalVoid(self.result)

    def runtest(self) -> None:
        """Fail if the cell was rejected."""
        if self.result is None:
            raise RuntimeError("the item was not set up")
        known_bad = self.cell.eval.policy is Policy.USUALLY_FAILS
        if self.result.decision.answer == "reject" or (known_bad and not self.result.decision.news):
            raise EvalFailed(self.result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The decision, the reason and call chain of each trial, and the command to run it again."""
        if isinstance(excinfo.value, EvalFailed | EvalVoid):
            return neutral(cell_text(excinfo.value.cell), os.environ)
        if isinstance(excinfo.value, DemeanorError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the eval is defined."""
        source = self.cell.eval.source
        return source.path, source.line - 1, self.name


def _marks(one: Eval) -> Iterator[pytest.Mark]:
    """The marks below `@eval_test`; parametrize has become cases."""
    for check in one.checks:
        if isinstance(check, FunctionCheck):
            yield from (mark for mark in getattr(check.function, "pytestmark", ()) if mark.name != "parametrize")


class EvalFile(pytest.File):
    """A Python file of evals, or a scenario folder."""

    def collect(self) -> Iterator[EvalItem]:
        """One item per eval and subject."""
        try:
            yield from _items(self, discover([self.path]))
        except DemeanorError as error:
            raise self.CollectError(str(error)) from None


def collect_file(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a file of evals; None for a JSON file that only happens to be called config.json."""
    if path.name == "config.json" and not looks_like_cline(path.parent):
        return None
    return EvalFile.from_parent(parent, path=path)


_COLLECTED = pytest.StashKey[set[int]]()
"""The evals of a test file that have items already: a module may have one by name and in a list."""


def items_of_module(collector: pytest.Module | pytest.Class, evals: Sequence[object]) -> list[EvalItem]:
    """The items of evals that are defined in an ordinary test file."""
    name = collector.path.name
    if name.startswith("eval_") or name.endswith("_eval.py"):
        return []  # EvalFile collects such a file
    collected = collector.stash.setdefault(_COLLECTED, set())
    own = [  # without evals of another file, and values of a test
        one
        for one in evals
        if isinstance(one, Eval) and id(one) not in collected and one.source.path.resolve() == collector.path.resolve()
    ]
    collected.update(map(id, own))
    return list(_items(collector, evals_in({"evals": own}, collector.path)))


def lost_eval(module: pytest.Module) -> str | None:
    """What is wrong with the evals of a test file: one that can't be collected, or two of the same name."""
    namespace = vars(module.obj)
    try:
        found = evals_in(namespace, module.path)
        reject_lost(take_created(module.path), found, namespace)
        unique_names(found)
    except DemeanorError as error:
        return str(error)
    return None


def _items(parent: Any, evals: Sequence[Eval]) -> Iterator[EvalItem]:
    if not evals:
        return
    batch: Batch = batch_of(parent.config)
    for cell in batch.plan(evals).cells:
        name = f"{cell.eval.name}[{cell.subject}]"
        nodeid = f"{parent.nodeid}::{name}"  # as text, so that pytest reads it like those that --lf has stored
        yield EvalItem.from_parent(parent, name=name, nodeid=nodeid, cell=cell)


def _cells_to_run(item: EvalItem) -> list[Cell]:
    """The cells to run together: all selected ones, or only this one with `-x` and if xdist distributes items."""
    alone = hasattr(item.config, "workerinput") or item.config.option.maxfail
    items: list[Any] = [item] if alone else item.session.items
    return [one.cell for one in items if isinstance(one, EvalItem) and not one.get_closest_marker("skip")]
