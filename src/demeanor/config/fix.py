"""`[fix]` of the configuration: the agent that fixes failures, what it may change, and how its fix is tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from demeanor.config.table import Table

RULES = ("trials", "optimal")
"""The rules for testing the evals before and after a fix."""

GUARDS = ("always", "all", "none")

Guard: TypeAlias = str | tuple[str, ...]
"""One of GUARDS, or the names of evals."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixRules:
    """What `demeanor fix` may do, and how it tests the fix. Every key is optional."""

    fixer: str = ""
    """The agent that writes the fix and its model, such as `"claude-code:large"`; any configured agent works."""

    allowed: tuple[str, ...] = ()
    """The files it may change, as patterns relative to the repository, such as `["prompts/**"]` (default: the files
    that contain the prompt and the tool descriptions)."""

    evals: bool = False
    """Whether it may also change evals, under stricter rules, as a last resort (default: no)."""

    subjects: tuple[str, ...] = ()
    """The subjects to test the fix on (default: all subjects of the run that had the evals)."""

    rule: str = "trials"
    """How the fix is tested: `trials` (a fixed number, the default), or the gate's `optimal`, which runs trials until
    the result is clear."""

    trials: int = 3
    """Trials per eval and subject, before and after the fix, for the rule `trials` (default: 3)."""

    wire_trials: int = 3
    """Trials per failing eval and subject with the change made by the gateway, before it is built (default: 3). If none
    of them passes, the change is dropped. 0 builds every change."""

    guard: Guard = "always"
    """The evals that must not get worse: `"always"` (the other ALWAYS_PASSES evals, the default), `"all"`, `"none"`, or
    a list of names."""

    rounds: int = 1
    """How often the agent may try (default: 1); each round gets the results of the previous ones."""

    timeout: float = 1800.0
    """The time limit of one round in seconds (default: 1800)."""

    budget_usd: float | None = None
    """The budget of a fix in US dollars, including the agent and the trials (default: none)."""

    budget_tokens: int | None = None
    """The same in tokens, input and output together (default: none)."""


def read_fix_rules(table: Table | None) -> FixRules:
    """The table `[fix]`, or the defaults without one."""
    if table is None:
        return FixRules()
    default = FixRules()
    wire_trials = table.whole("wire_trials", least=0, most=100)
    rules = FixRules(
        fixer=table.text("fixer"),
        allowed=table.texts("allowed"),
        evals=table.flag("evals"),
        subjects=table.texts("subjects"),
        rule=table.choice("rule", RULES) or default.rule,
        trials=table.whole("trials", least=1, most=10_000) or default.trials,
        wire_trials=default.wire_trials if wire_trials is None else wire_trials,
        guard=_guard(table),
        rounds=table.whole("rounds", least=1, most=100) or default.rounds,
        timeout=table.number("timeout", least=1) or default.timeout,
        budget_usd=table.number("budget_usd", least=0),
        budget_tokens=table.whole("budget_tokens", least=1),
    )
    for index, pattern in enumerate(rules.allowed):
        if pattern.startswith("/") or ".." in pattern.split("/"):
            table.fail(f"allowed[{index}]", f"{pattern!r} is outside the repository", 'for example: "prompts/**"')
    table.finish()
    return rules


def _guard(table: Table) -> Guard:
    names = table.maybe_texts("guard")
    return names if names is not None else table.choice("guard", GUARDS) or "always"
