"""The table `[executor]`: where attempts run."""

from __future__ import annotations

from typing import Any, cast

from demeanor.config.table import Table
from demeanor.core.executor_spec import BUILD_PLACES, EXECUTORS, ExecutorSpec


def read_executor(table: Table) -> ExecutorSpec:
    """The table `[executor]`."""
    with table.section("executor") as own:
        found = ExecutorSpec(
            name=cast("Any", own.choice("name", EXECUTORS)),
            scheduler=own.text("scheduler"),
            workers=own.whole("workers", least=1, most=1000),
            slots=own.whole("slots", least=1, most=1000),
            certs=own.text("certs"),
            silence=own.number("silence", least=1),
            allow_different=own.flag("allow_different"),
            build=cast("Any", own.choice("build", BUILD_PLACES)),
        )
        if found.scheduler and found.workers:
            own.fail("workers", "a scheduler is given, which has workers of its own", "remove `workers` or `scheduler`")
        return found
