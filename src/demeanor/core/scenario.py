"""The situation an agent is put in: files, prompts, settings and limits, but no expectations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from demeanor.core.approval import matching_rule, scripted_answer
from demeanor.core.fault import Fault
from demeanor.core.sandbox_spec import Network

Answer: TypeAlias = Literal["allow", "deny"]
Answers: TypeAlias = Answer | tuple[Answer, ...]
Setup: TypeAlias = Callable[[Path], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    """How the agent's requests for confirmation are answered.

    Several answers are a script: they are given one after the other, and the last of them from then on.
    """

    default: Answers = "allow"
    """The answer, or answers, where no rule speaks."""

    rules: Mapping[str, Answers] = field(default_factory=dict)
    """Answers by tool name or by kind (`edit`, `execute`, …); a name wins over a kind."""

    def __post_init__(self) -> None:
        """A script without an answer would leave an agent waiting."""
        for key, answers in {"default": self.default, **self.rules}.items():
            if not answers:
                raise ValueError(f"approval: {key!r} holds no answer; write 'allow', 'deny' or several of them")

    @property
    def denies(self) -> bool:
        """Whether any request may be answered with «no»."""
        return any("deny" in _several(answers) for answers in (self.default, *self.rules.values()))

    def answer(self, *, tool: str, kind: str, earlier: int = 0) -> Answer:
        """The answer for one call of `tool`, where the same rule has answered `earlier` requests already."""
        answers = self.rules.get(matching_rule(self.rules, tool, kind)) or self.default
        return cast("Answer", scripted_answer(answers, earlier))


def _several(answers: Answers) -> tuple[Answer, ...]:
    return (answers,) if isinstance(answers, str) else answers


@dataclass(frozen=True, kw_only=True, slots=True)
class PriorMessage:
    """One message of the conversation that the agent is told has already happened."""

    role: Literal["user", "assistant"]
    """Who said it."""

    text: str
    """What was said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """The situation: what the agent finds and what it is asked. No expectations."""

    prompts: tuple[str, ...]
    """What the agent is asked, turn by turn; at least one."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """The workspace's files at the start, by relative path."""

    template: Path | None = None
    """A folder whose content is the workspace at the start; `files` are laid over it."""

    setup: Setup | None = None
    """Called with the workspace's path once it is laid out; what it leaves is part of the starting state."""

    params: Mapping[str, Any] = field(default_factory=dict)
    """Settings handed to the agent's adapter."""

    approval: Approval = field(default_factory=Approval)
    """How the agent's requests for confirmation are answered."""

    messages: tuple[PriorMessage, ...] = ()
    """An earlier conversation that the agent resumes."""

    timeout: float | None = None
    """Seconds that one trial may take; None means the configuration's default."""

    requires_env: tuple[str, ...] = ()
    """Environment variables without which the eval can't run; the cell is skipped, visibly."""

    network: Network | None = None
    """What the agent can reach; None means the configuration's."""

    faults: tuple[Fault, ...] = ()
    """How the model's answers are broken on purpose; of several rules for one exchange the first counts."""
