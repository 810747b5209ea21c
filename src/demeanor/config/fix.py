"""`[fix]` of the configuration: who mends what broke, where it may write, and how its work is proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from demeanor.config.rule_names import FORMER_NAMES, rule_name
from demeanor.config.table import Table

RULES = ("trials", "screen", "classic")
"""How the evals are proven before and after."""

GUARDS = ("always", "all", "none")

Guard: TypeAlias = str | tuple[str, ...]
"""One of GUARDS, or the names of evals."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixRules:
    """What `demeanor fix` may do, and how it proves what was done. Every key may be left out."""

    fixer: str = ""
    """Who mends: an agent and its model, `"claude-code:large"`; any agent of the configuration will do."""

    allowed: tuple[str, ...] = ()
    """What may be changed, as patterns from the top of the repository, `["prompts/**"]` (default: the files in which
    the prompt and the tools' descriptions were found)."""

    evals: bool = False
    """Whether evals may be changed too, beside the prompt: the last resort, under stricter rules (default: no)."""

    subjects: tuple[str, ...] = ()
    """On whom the fix is proven (default: all subjects of the run that had the evals)."""

    rule: str = "trials"
    """How: `trials` (a fixed number of trials), or the gate's rule `screen` or `classic` (as many as they need)."""

    trials: int = 3
    """Trials per eval and subject, before and after, by the rule `trials`."""

    guard: Guard = "always"
    """What must not get worse: `"always"` (the other ALWAYS_PASSES evals), `"all"`, `"none"`, or a list of names."""

    rounds: int = 1
    """How often the fixer may try; each round is told what the last one achieved."""

    timeout: float = 1800.0
    """Seconds that the fixer may take for one round."""

    budget_usd: float | None = None
    """What a fix may spend in all: fixer and trials."""


def read_fix_rules(table: Table | None) -> FixRules:
    """The rules of a table `[fix]`; without one, the usual ones."""
    if table is None:
        return FixRules()
    usual = FixRules()
    found = FixRules(
        fixer=table.text("fixer"),
        allowed=table.texts("allowed"),
        evals=table.flag("evals"),
        subjects=table.texts("subjects"),
        rule=rule_name(table.choice("rule", (*RULES, *FORMER_NAMES)) or usual.rule),
        trials=table.whole("trials", least=1, most=10_000) or usual.trials,
        guard=_guard(table),
        rounds=table.whole("rounds", least=1, most=100) or usual.rounds,
        timeout=table.number("timeout", least=1) or usual.timeout,
        budget_usd=table.number("budget_usd", least=0),
    )
    for index, pattern in enumerate(found.allowed):
        if pattern.startswith("/") or ".." in pattern.split("/"):
            table.fail(f"allowed[{index}]", f"{pattern!r} leads out of the repository", 'for example: "prompts/**"')
    table.finish()
    return found


def _guard(table: Table) -> Guard:
    if isinstance(table.anything("guard"), list):
        return table.texts("guard")
    return table.choice("guard", GUARDS) or "always"
