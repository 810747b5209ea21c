"""How one question of the contract went: a case put to a converter, or a probe put to a server."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.core.text import printable


@dataclass(frozen=True, kw_only=True, slots=True)
class ContractOutcome:
    """One question, and how it went."""

    name: str
    """What was asked."""

    why: str
    """What breaks in an agent where it does not hold."""

    problems: tuple[str, ...] = ()
    """What was not as expected, readable; none where it passed."""

    @property
    def passed(self) -> bool:
        """Whether all was as expected."""
        return not self.problems

    def explain(self) -> str:
        """What was asked, why it matters, and what was not as expected."""
        lines = "\n".join(f"    {line}" for problem in self.problems for line in problem.splitlines())
        return f"{self.name}\n  {self.why}\n{printable(lines)}"
