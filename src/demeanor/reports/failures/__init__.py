"""The failures of a run, in as few groups as there are things to fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.failures.render import (
        MOST_GROUPS as MOST_GROUPS,
        NO_INSTRUCTION as NO_INSTRUCTION,
        group_brief as group_brief,
        triage_markdown as triage_markdown,
        triage_terminal as triage_terminal,
    )
    from demeanor.reports.failures.report import (
        TRIAGE_DOCUMENT as TRIAGE_DOCUMENT,
        Group as Group,
        Triage as Triage,
        group_failures as group_failures,
    )
    from demeanor.reports.failures.workflow import (
        make_triage as make_triage,
        reproduce as reproduce,
        with_commands as with_commands,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "render": "MOST_GROUPS NO_INSTRUCTION group_brief triage_markdown triage_terminal",
        "report": "Group TRIAGE_DOCUMENT Triage group_failures",
        "workflow": "make_triage reproduce with_commands",
    },
)
