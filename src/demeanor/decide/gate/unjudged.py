"""What a change takes away from the gate: cells that the nights judged and the gate does not, and weaker policies.

A change could turn green by it, so each needs a person's consent, by name.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from demeanor.core.values.policy import Policy

_STRICTNESS = (Policy.USUALLY_FAILS, Policy.USUALLY_PASSES, Policy.ALWAYS_PASSES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unjudged:
    """A cell, or all cells of an eval, that the gate judged before the change, and now does not, or less strictly."""

    eval: str
    """The eval's name."""

    subject: str = ""
    """The subject, as `agent:model`; empty for all."""

    why: str
    """What happened to it."""

    @property
    def name(self) -> str:
        """The name by which it is accepted."""
        return f"{self.eval}/{self.subject}" if self.subject else self.eval

    def accepted_by(self, names: Container[str]) -> bool:
        """Whether it is accepted: by its own name, or that of its eval or, as `*/SUBJECT`, of its subject."""
        return self.name in names or self.eval in names or (bool(self.subject) and f"*/{self.subject}" in names)


def weaker(now: Policy, before: Policy | None) -> bool:
    """Whether a policy demands less than before."""
    return before is not None and _STRICTNESS.index(now) < _STRICTNESS.index(before)


def weaker_policies(before: Mapping[str, Policy], now: Mapping[str, Policy]) -> Iterator[Unjudged]:
    """The evals whose policy the change lowers."""
    for name, policy in now.items():
        if weaker(policy, then := before.get(name)) and then is not None:
            yield Unjudged(eval=name, why=f"its policy was {then.value}, and is {policy.value} now")
