"""What a run keeps in memory of finished trials: nothing but their verdicts in the counts of the progress."""

from __future__ import annotations

import asyncio
import gc
import io
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from demeanor.cli.live import show_progress
from demeanor.config.config import read_config
from demeanor.core.values.progress import AttemptJudged, Progress
from demeanor.core.values.run_request import RunRequest
from demeanor.render.terminal import Screen
from demeanor.runner.catalog import Catalog
from demeanor.runner.execution import execute, prepare
from demeanor.runner.plan import plan_run
from demeanor.runner.ui import UI
from tests.journeys.test_survival import until

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Write.", timeout=300)
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""
CONFIG = """\
subjects = ["writer"]
sandbox = "none"
attempts = 1
[agents.writer]
adapter = "command"
command = ["sh", "-c", "printf hi > out.txt", "{prompt}"]
"""
EARLY, LATE = 20, 80


def our_objects() -> Counter[str]:
    """How many objects of each class of Demeanor exist."""
    gc.collect()
    kinds = Counter(type(one) for one in gc.get_objects())
    return Counter({kind.__qualname__: n for kind, n in kinds.items() if kind.__module__.startswith("demeanor.")})


def test_finished_trials_leave_no_objects(tmp_path: Path) -> None:
    """As many objects exist after eighty trials as after twenty, once these are in the history."""
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/eval_writes.py").write_text(EVAL)
    (tmp_path / "demeanor.toml").write_text(CONFIG)
    catalog = Catalog(config=read_config(tmp_path), environ={})
    request = RunRequest(policy="all", trials=LATE + 1, jobs=1, paths=(str(tmp_path / "evals"),))
    run = prepare(catalog, plan_run(catalog, request, {}), request, tmp_path / "results")
    store = run.context.store
    found: dict[int, Counter[str]] = {}
    judged = 0

    def written() -> int:
        ((number,),) = store._database.rows("SELECT COALESCE(SUM(attempts), 0) FROM tallies")
        return int(number)

    def watch(news: Progress) -> None:
        nonlocal judged
        judged += isinstance(news, AttemptJudged)
        if isinstance(news, AttemptJudged) and judged in {EARLY, LATE}:
            until(lambda: written() == judged and not store._waiting)
            found[judged] = our_objects()

    def work(coroutine: Coroutine[Any, Any, Any]) -> bool:
        asyncio.run(coroutine)
        return False

    ui = UI(
        run=work,
        progress=lambda plan, kept: show_progress(plan, io.StringIO(), kept=kept, screen=Screen()),
        log=lambda line: None,
    )
    execute(run, ui=ui, watch=watch)
    grown = {kind: (found[EARLY][kind], n) for kind, n in found[LATE].items() if n > found[EARLY][kind] + 5}
    assert grown == {}
