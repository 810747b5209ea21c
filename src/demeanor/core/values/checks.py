"""Checks as values: `define/` reads them from files, `judge/` answers them.

An author's Python function is a check, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from demeanor.core.text.wording import slug
from demeanor.core.values.judge_question import JudgeWord

IN_HOME = "~/"
"""The beginning of the path of a file in the agent's HOME; other paths are relative to the workspace."""

CheckFunction: TypeAlias = Callable[..., Any]
"""`def check(rig, result)`, plain or async; `result` is the agent's final text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionCheck:
    """An author's function; it fails by raising AssertionError."""

    function: CheckFunction
    """Called as `function(rig, result)`."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments by name: fields of the eval's case."""

    fixtures: tuple[str, ...] = ()
    """The fixtures of pytest that it takes as further arguments."""

    marks: tuple[Any, ...] = ()
    """The marks of pytest that belong to the eval's case; those of the function are on the function."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileExists:
    """The file exists at the end."""

    path: str
    """Relative to the workspace; `~/` is the agent's HOME."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileAbsent:
    """The file does not exist at the end."""

    path: str
    """Relative to the workspace; `~/` is the agent's HOME."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEquals:
    """The file has exactly this text; one trailing newline more or less does not matter."""

    path: str
    """Relative to the workspace; `~/` is the agent's HOME."""

    text: str
    """The whole text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileContains:
    """The file contains, or does not contain, a string (case-sensitive)."""

    path: str
    """Relative to the workspace; `~/` is the agent's HOME."""

    text: str
    """The string."""

    negated: bool = False
    """If true, the file must exist and must not contain the string."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileMatches:
    """A regular expression matches somewhere in the file (re.MULTILINE)."""

    path: str
    """Relative to the workspace; `~/` is the agent's HOME."""

    pattern: str
    """A Python regular expression."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonPathEquals:
    """A value in a JSON file equals the given one."""

    path: str
    """Relative to the workspace; `~/` is the agent's HOME."""

    json_path: str
    """The path of the value: `scripts.test`, `users[0].name`."""

    value: Any
    """The expected JSON value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnchangedExcept:
    """Only files that match the patterns have changed."""

    patterns: tuple[str, ...] = ()
    """Glob patterns of the files that may change; without any, nothing may change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandSucceeds:
    """A command exits with 0; it runs in a copy of the workspace after the trial."""

    argv: tuple[str, ...]
    """The program and its arguments; it runs without a shell."""

    stdout_contains: str | None = None
    """A string that its output must contain."""

    timeout: float = 60.0
    """The time limit in seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUsed:
    """A tool, or any tool of a kind, was called between `at_least` and `at_most` times."""

    tool: str | None = None
    """The tool's name; exactly one of `tool` and `kind` is required."""

    kind: str | None = None
    """A kind: read, edit, delete, search, execute, fetch, think, other."""

    at_least: int = 1
    """The minimum number of calls."""

    at_most: int | None = None
    """The maximum number of calls; 0 means that the tool must not be used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AtMost:
    """A measured quantity stays within a limit."""

    quantity: str
    """One of: turns, tokens, cost_usd, seconds, calls."""

    limit: float
    """The largest value allowed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FinalText:
    """The agent's final text contains, does not contain, or matches something."""

    contains: str | None = None
    """A string that it must contain (case-insensitive)."""

    excludes: str | None = None
    """A string that it must not contain (case-insensitive)."""

    matches: str | None = None
    """A regular expression that must match somewhere."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptSnapshot:
    """The agent's system prompt and tools match a file next to the eval.

    A missing file fails. `demeanor run --update-snapshots` writes it.
    """

    file: Path
    """The file; `{subject}` in its name is replaced by the subject."""

    def file_of(self, subject: str) -> Path:
        """The file of one subject."""
        return self.file.with_name(self.file.name.replace("{subject}", slug(subject)))


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeCheck:
    """A model answers a question about the evidence."""

    question: str
    """A statement about what the agent did, or a question about it."""

    rubric: str = ""
    """How to decide in cases that the question leaves open."""

    model: str | None = None
    """The model to ask; by default that of `[judge]` in the configuration."""

    votes: int = 1
    """How many times the model is asked, an odd number; the majority decides."""

    evidence: tuple[str, ...] = ("prompt", "final_text")
    """What the judge is shown: `prompt`, `final_text`, `said`, `trajectory`, `diff`."""

    expect: JudgeWord = "yes"
    """The answer that passes: `yes` or `no`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardCheck:
    """The verifier of a Harbor task gave a sufficient reward."""

    key: str = "reward"
    """The key of the reward."""

    at_least: float = 1.0
    """The least reward that passes."""


DeclaredCheck: TypeAlias = (
    FileExists
    | FileAbsent
    | FileEquals
    | FileContains
    | FileMatches
    | JsonPathEquals
    | UnchangedExcept
    | CommandSucceeds
    | ToolUsed
    | AtMost
    | FinalText
    | PromptSnapshot
)
Check: TypeAlias = FunctionCheck | DeclaredCheck | JudgeCheck | RewardCheck
