"""Evals as pytest items: one per eval and subject."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.skipping import evaluate_skip_marks

from demeanor.core.text.ci_commands import neutral
from demeanor.core.values.errors import DemeanorError, Unusable
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import Policy
from demeanor.core.values.trial import Cell
from demeanor.define import (
    discover,
    evals_in,
    evals_of,
    looks_like_cline,
    marks_of,
    reject_lost,
    take_created,
    unique_names,
)
from demeanor.pytest_plugin.batch import Batch, ItemResult, batch_of
from demeanor.pytest_plugin.shared_run import CellRequest, request_result


class EvalFailed(Exception):
    """A cell was rejected, or a behaviour that is known to fail has failed."""

    def __init__(self, result: ItemResult) -> None:
        self.result = result
        super().__init__(result.reason)


class EvalItem(pytest.Item):
    """One eval on one subject. It waits for its trials in `setup`, so that pytest reports a void cell as an error."""

    def __init__(self, *, cell: Cell, **rest: Any) -> None:
        super().__init__(**rest)
        self.cell = cell
        self.result: ItemResult | None = None
        self.add_marker(cell.eval.policy.value.lower())
        self.extra_keyword_matches.update(cell.eval.tags)
        self.own_markers.extend(marks_of(cell.eval, of_module=isinstance(self.parent, EvalFile)))
        if cell.eval.policy is Policy.USUALLY_FAILS:
            self.add_marker(pytest.mark.xfail(raises=EvalFailed, strict=False, reason="known to fail"))
        if cell.eval.policy is not Policy.ALWAYS_PASSES and not os.environ.get("RUN_EVALS"):
            self.add_marker(pytest.mark.skip(reason=f"{cell.eval.policy} runs with RUN_EVALS=1"))
        if cell.skipped:
            self.add_marker(pytest.mark.skip(reason=_shown(cell.skipped)))

    def setup(self) -> None:
        """Wait for the trials."""
        problem = ""
        try:
            self.result = _result_of(self)
        except DemeanorError as error:  # such as a sandbox that does not work here
            problem = str(error).replace("--sandbox", "--eval-sandbox")
        if problem or self.result is None:
            pytest.fail(_shown(problem), pytrace=False)
        self.user_properties.append(("pass_rate", self.result.rate))
        if self.result.answer == "undecided":
            pytest.fail(_shown(self.result.text), pytrace=False)  # pytest does not call `repr_failure` for a setup

    def runtest(self) -> None:
        """Fail if the cell was rejected."""
        if self.result is None:
            raise RuntimeError("the item was not set up")
        known_bad = self.cell.eval.policy is Policy.USUALLY_FAILS
        if self.result.answer == "reject" or (known_bad and not self.result.news):
            raise EvalFailed(self.result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The decision, the reason and call chain of each trial, and the command to run it again."""
        if isinstance(excinfo.value, EvalFailed):
            return _shown(excinfo.value.result.text)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the eval is defined."""
        source = self.cell.eval.source
        return source.path, source.line - 1, self.name


class UnusableItem(pytest.Item):
    """Evals that can't be read on this machine: an error of their own, so that the others run."""

    def __init__(self, *, problem: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.problem = problem

    def setup(self) -> None:
        """Say what is missing here."""
        pytest.fail(_shown(self.problem), pytrace=False)

    def runtest(self) -> None:
        """There is nothing to run."""


class EvalFile(pytest.File):
    """A Python file of evals, a scenario folder, or a whole task."""

    def collect(self) -> Iterator[EvalItem | UnusableItem]:
        """One item per eval and subject."""
        try:
            yield from _items(self, discover([self.path]))
        except Unusable as error:
            yield UnusableItem.from_parent(self, name="unreadable", problem=str(error))
        except DemeanorError as error:
            raise self.CollectError(_shown(str(error))) from None


def collect_file(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a file of evals; None for a JSON file that only happens to be called config.json."""
    if path.name == "config.json" and not looks_like_cline(path.parent):
        return None
    return EvalFile.from_parent(parent, path=path)


_COLLECTED = pytest.StashKey[set[int]]()
"""The evals of a test file that have items already: a module may have one by name and in a list."""


def items_of_module(collector: pytest.Module | pytest.Class, value: object) -> list[EvalItem]:
    """The items of evals that a name of an ordinary test file, or of a class in it, stands for."""
    name = collector.path.name
    module = collector.getparent(pytest.Module)
    if module is None or name.startswith("eval_") or name.endswith("_eval.py"):
        return []  # EvalFile collects such a file
    collected = module.stash.setdefault(_COLLECTED, set())
    try:
        evals = list(evals_of(value, vars(module.obj).get("__name__")))
        own = [  # without evals of another file, and values of a test
            eval_
            for eval_ in evals
            if id(eval_) not in collected and eval_.source.path.resolve() == collector.path.resolve()
        ]
        collected.update(map(id, own))
        return list(_items(module, evals_in({"evals": own}, collector.path)))
    except DemeanorError as error:
        raise collector.CollectError(_shown(str(error))) from None


def lost_eval(module: pytest.Module) -> str | None:
    """What is wrong with the evals of a test file: one that can't be collected, or two of the same name."""
    namespace = vars(module.obj)
    try:
        evals = evals_in(namespace, module.path)
        reject_lost(take_created(module.path), evals, namespace)
        unique_names(evals)
    except DemeanorError as error:
        return _shown(str(error))
    return None


def _items(parent: Any, evals: Sequence[Eval]) -> Iterator[EvalItem]:
    if not evals:
        return
    batch: Batch = batch_of(parent.config)
    for cell in batch.plan(evals).cells:
        name = _shown(f"{cell.eval.name}[{cell.subject}]")
        nodeid = f"{parent.nodeid}::{name}"  # as text, so that pytest reads it like those that --lf has stored
        yield EvalItem.from_parent(parent, name=name, nodeid=nodeid, cell=cell)


def _shown(text: str) -> str:
    """Text for pytest's output, which a CI service can't take for commands."""
    return neutral(text, os.environ)


def _result_of(item: EvalItem) -> ItemResult:
    """Run the selected cells in this process, or in that of xdist, and wait for the one of the item."""
    items = _run_together(item)
    address = getattr(item.config, "workerinput", {}).get("demeanor_run")
    if address:
        requests = [CellRequest(str(item.path), item.cell.id) for item in items]
        return request_result(address, requests, item.cell.id)
    batch = batch_of(item.config)
    batch.start([item.cell for item in items])
    return batch.result(item.cell)


def _run_together(item: EvalItem) -> list[EvalItem]:
    """The items whose cells run together: all selected ones, or with `-x` only this one."""
    items: list[Any] = [item] if item.config.option.maxfail else item.session.items
    return [other for other in items if isinstance(other, EvalItem) and (other is item or not _is_skipped(other))]


def _is_skipped(item: EvalItem) -> bool:
    """Whether marks skip the item, or have a condition that can't be evaluated."""
    try:
        return evaluate_skip_marks(item) is not None
    except pytest.fail.Exception:
        return True
