"""`[judge]` of the configuration: the model that answers the questions of checks."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.config.table import Table


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeRules:
    """The project's judge."""

    model: str = ""
    """The model that is asked (default: the local one)."""

    prompt: str = ""
    """A file with the instructions for the judge, relative to the configuration (default: built-in ones)."""

    trusted: tuple[str, ...] = ()
    """Evals that may block a merge and be promoted although their judge is not calibrated."""


def read_judge(table: Table) -> JudgeRules:
    """The table `[judge]`."""
    with table.section("judge") as judge:
        return JudgeRules(model=judge.text("model"), prompt=judge.text("prompt"), trusted=judge.texts("trusted"))
