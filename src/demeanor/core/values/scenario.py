"""The situation an agent is put in: files, prompts, settings and limits, but no expectations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from demeanor.core.values.approval import matching_rule, scripted_answer
from demeanor.core.values.fault import Fault
from demeanor.core.values.mcp_fixture import McpServer
from demeanor.core.values.prefix import Prefix
from demeanor.core.values.sandbox_spec import Network
from demeanor.core.values.steering import Steer
from demeanor.core.values.user import User

Answer: TypeAlias = Literal["allow", "deny"]
Answers: TypeAlias = Answer | tuple[Answer, ...]
Setup: TypeAlias = Callable[[Path], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    """How the agent's requests for confirmation are answered.

    Several answers are given one after the other; the last one is repeated from then on.
    """

    default: Answers = "allow"
    """The answers to requests that no rule matches."""

    rules: Mapping[str, Answers] = field(default_factory=dict)
    """Answers by tool name or by kind (`edit`, `execute`, …); a rule for the tool takes precedence."""

    def __post_init__(self) -> None:
        """Reject an empty list of answers, which would leave the agent waiting."""
        for key, answers in {"default": self.default, **self.rules}.items():
            if not answers:
                raise ValueError(f"approval: {key!r} has no answers; write 'allow', 'deny' or a list of them")

    @property
    def denies(self) -> bool:
        """Whether any request may be denied."""
        return any("deny" in _as_tuple(answers) for answers in (self.default, *self.rules.values()))

    def answer(self, *, tool: str, kind: str, earlier: int = 0) -> Answer:
        """The answer for one call of `tool`, after the same rule has answered `earlier` requests."""
        answers = self.rules.get(matching_rule(self.rules, tool, kind)) or self.default
        return cast("Answer", scripted_answer(answers, earlier))


def _as_tuple(answers: Answers) -> tuple[Answer, ...]:
    return (answers,) if isinstance(answers, str) else answers


@dataclass(frozen=True, kw_only=True, slots=True)
class PriorCall:
    """One tool call of an earlier conversation, with its result."""

    tool: str
    """The tool's name, as the agent under test calls it."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments."""

    result: str = ""
    """What the tool returned."""

    failed: bool = False
    """Whether it failed; the result is then the error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PriorMessage:
    """One message of an earlier conversation that the agent resumes."""

    role: Literal["user", "assistant"]
    """The sender: `user` or `assistant`."""

    text: str = ""
    """The message's text. Only a message with calls may be without one."""

    calls: tuple[PriorCall, ...] = field(default=(), repr=False)
    """The tools that the assistant called in this message, each with its result."""

    def __post_init__(self) -> None:
        """Reject a message without content, and calls of the user."""
        if self.calls and self.role != "assistant":
            raise ValueError("only a message of the assistant can have calls")
        if not self.calls and not self.text:
            raise ValueError("a text is required: the message has neither text nor calls")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """What the agent finds and what it is asked. The sentence under a field is also its documentation for authors."""

    prompts: tuple[str, ...]
    """What the agent is asked turn by turn: a list, instead of `prompt`."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """The initial files of the workspace: a mapping of relative path to content."""

    template: Path | None = None
    """A folder that is copied into the workspace; `files` are written over it."""

    setup: Setup | None = None
    """`def setup(workspace: Path)`, called after the files are written; what it leaves is part of the initial state."""

    params: Mapping[str, Any] = field(default_factory=dict)
    """Settings that are passed to the agent's adapter."""

    approval: Approval = field(default_factory=Approval)
    """How the agent's requests for confirmation are answered: `"allow"`, `"deny"`, or a list such as
    `["deny", "allow"]`, whose last answer is repeated. To answer by tool or kind, give a mapping such as
    `{"execute": "deny", "edit": ["deny", "allow"], "default": "allow"}`; each rule counts its own requests.
    """

    messages: tuple[PriorMessage, ...] = ()
    """An earlier conversation that the agent resumes: a list of messages with `role` (`user` or `assistant`) and
    `text`. A message of the assistant may have `calls`, each with `tool`, `arguments`, `result` and `failed`.
    """

    home_files: Mapping[str, bytes] = field(default_factory=dict)
    """Files in the agent's HOME at the start: memory files, skills, extensions, sub-agents, sessions. A mapping of
    path, relative to HOME, to content, in which `{workspace}` and `{home}` stand for the folders that the agent sees.
    """

    keep_home: tuple[str, ...] = ()
    """Files in HOME that are kept at the end, for `rig.home`: patterns such as `[".gemini/**/*.md"]`."""

    then: tuple[tuple[str, ...], ...] = ()
    """Commands that run after the agent, one after the other, in its workspace and with its HOME and environment:
    `[["{agent}", "--version"]]`. `{agent}` is its program; `{workspace}`, `{home}` and `{model}` work, too. They run
    only if the agent succeeded; `rig.then` has their results.
    """

    tools: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of the agent's own tools that are replaced on the way to the model, for an experiment: a mapping of
    `tool` or `tool.parameter` to the text. See [Edit the prompt](cover.md#edit-the-prompt).
    """

    timeout: float | None = None
    """The time limit of one trial, in seconds."""

    requires_env: tuple[str, ...] = ()
    """Environment variables that the eval needs; if one is unset, the eval is reported as skipped."""

    needs: tuple[str, ...] = ()
    """What the agent must be able to do, such as `["sub_agents"]`: for an agent that can't, the eval is reported as
    skipped. The names are the abilities of `demeanor agents check`.
    """

    network: Network | None = None
    """What the agent can reach: `gateway`, `none` or `host`; see [Sandboxes](sandboxes.md)."""

    faults: tuple[Fault, ...] = ()
    """Faults to inject into the model's answers, such as `["429@1", "cut@30%"]`; the first that matches an exchange
    applies. See [Faults](gateway.md#faults).
    """

    mcp: Mapping[str, McpServer] = field(default_factory=dict)
    """MCP servers for the agent, by name: a `Fixture` with scripted tools, or the command of a server program. See
    [MCP servers](users.md#mcp-servers).
    """

    start: Prefix | None = None
    """The recorded beginning of a trial, from which each trial starts: `prefix("NAME")`, or `"NAME"` in scenario.toml.
    `demeanor fork TRIAL --at K --save NAME` saves it beside the eval. See [Forks](debug.md#fork).
    """

    user: User | None = None
    """The user who answers after the agent's turns: a list of replies, a function, a `ScriptedUser`, or a
    `SimulatedUser` that a model plays. See [Users](users.md).
    """

    steer: tuple[Steer, ...] = ()
    """What the user says while the agent works: a list such as `[Steer(after="edit", say="Use tabs.")]`. See
    [Users](users.md#while-the-agent-works).
    """
