"""The table `[executor]`: where attempts run."""

from __future__ import annotations

from typing import Any, cast

from demeanor.config.table import Table
from demeanor.core.values.executor_spec import BUILD_PLACES, MOST_WORKERS, PLACES, ExecutorSpec


def read_executor(table: Table) -> ExecutorSpec:
    """The table `[executor]`."""
    with table.section("executor") as own:
        spec = ExecutorSpec(
            slots=own.whole("slots", least=1, most=1000),
            certs=own.text("certs"),
            silence=own.number("silence", least=1),
            allow_different=own.flag("allow_different"),
            build=cast("Any", own.choice("build", BUILD_PLACES)),
        )
        place = own.whole_or_text("on", least=1, most=MOST_WORKERS)
        try:
            return spec.at(place or "local")
        except ValueError as problem:
            own.fail("on", str(problem), PLACES)
