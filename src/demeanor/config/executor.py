"""The table `[executor]`: where attempts run, and the settings of each executor, such as `[executor.cluster]`.

Executors are found by the entry point `demeanor.executors`, and loaded only if one is named or has a table.
"""

from __future__ import annotations

from collections.abc import Mapping

from demeanor.config.table import Table
from demeanor.core.entry_points import installed, loaded
from demeanor.core.values.errors import UsageError
from demeanor.core.values.executor_spec import LOCAL, ExecutorSpec

EXECUTORS = "demeanor.executors"
"""The group of entry points (runner/executors.py)."""

_LARGEST = 10**6


class UnknownPlace(ValueError):
    """A place at which no executor makes attempts, with the forms that there are."""

    def __init__(self, problem: str, forms: str) -> None:
        super().__init__(problem)
        self.remedy = f"write {forms}"


def read_executor(table: Table) -> tuple[ExecutorSpec, Mapping[str, ExecutorSpec]]:
    """The executor that `on` names, and the settings of all executors that have a table."""
    with table.section("executor") as own:
        place = own.whole_or_text("on", least=1, most=_LARGEST)
        settings: dict[str, ExecutorSpec] = {}
        for point in installed(EXECUTORS) if own.unread else ():
            if (rules := own.table(point.name)) is not None:
                settings[point.name] = loaded(point).read_config(rules)
                rules.finish()
        try:
            return executor_at(place or LOCAL, settings), settings
        except UnknownPlace as problem:
            own.fail("on", str(problem), problem.remedy)


def executor_at(place: str, settings: Mapping[str, ExecutorSpec]) -> ExecutorSpec:
    """The executor that makes attempts at a place, with its settings; raises UnknownPlace."""
    if place == LOCAL:
        return ExecutorSpec()
    forms, broken = [], None
    for point in installed(EXECUTORS):
        try:
            module = loaded(point)
        except UsageError as error:
            broken = error
            continue
        forms.append(module.PLACES)
        try:
            spec: ExecutorSpec | None = module.at(place, settings.get(point.name))
        except ValueError as problem:
            raise UnknownPlace(str(problem), module.PLACES) from None
        if spec is not None:
            return spec
    if broken is not None:
        raise broken
    raise UnknownPlace(f"{place!r} is not a place where attempts can run", ", ".join([*forms, f"or {LOCAL}"]))
