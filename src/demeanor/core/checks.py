"""The questions that can be asked of the evidence without writing Python.

Each is a value: `define/` reads them from files, `judge/` answers them. A function written by an author is a check too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from demeanor.core.text import slug

CheckFunction: TypeAlias = Callable[..., Any]
"""`def check(rig, result)`, plain or async; `result` is the agent's final text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionCheck:
    """An author's function; it fails by raising AssertionError."""

    function: CheckFunction
    """Called as `function(rig, result)`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileExists:
    """A file is there at the end."""

    path: str
    """Relative to the workspace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileAbsent:
    """A file is not there at the end."""

    path: str
    """Relative to the workspace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEquals:
    """A file's whole text is as given; one trailing newline more or less does not matter."""

    path: str
    """Relative to the workspace."""

    text: str
    """The whole text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileContains:
    """A file's text contains, or does not contain, a string; case-sensitive."""

    path: str
    """Relative to the workspace."""

    text: str
    """The string."""

    negated: bool = False
    """True: the file must exist and must not contain it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileMatches:
    """A file's text matches a regular expression somewhere (re.MULTILINE)."""

    path: str
    """Relative to the workspace."""

    pattern: str
    """A Python regular expression."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonPathEquals:
    """A value inside a JSON file is as given."""

    path: str
    """Relative to the workspace."""

    json_path: str
    """Dotted, with indices in brackets: `scripts.test`, `users[0].name`."""

    value: Any
    """The JSON value expected there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnchangedExcept:
    """Nothing changed but files that match the patterns."""

    patterns: tuple[str, ...] = ()
    """Glob patterns of what may change; none means nothing may."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandSucceeds:
    """A command, run in a copy of the workspace after the trial, exits with 0."""

    argv: tuple[str, ...]
    """The program and its arguments; no shell."""

    stdout_contains: str | None = None
    """A string its output must contain."""

    timeout: float = 60.0
    """Seconds it may take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUsed:
    """A tool, or any tool of a kind, was called between `at_least` and `at_most` times."""

    tool: str | None = None
    """The tool's name; exactly one of `tool` and `kind` is given."""

    kind: str | None = None
    """A kind: read, edit, delete, search, execute, fetch, think, other."""

    at_least: int = 1
    """The least number of calls."""

    at_most: int | None = None
    """The most; 0 means the tool must not be used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AtMost:
    """A measured quantity stays within a limit."""

    quantity: str
    """One of: turns, tokens, cost_usd, seconds, calls."""

    limit: float
    """The largest value allowed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FinalText:
    """The agent's last words contain, do not contain, or match something."""

    contains: str | None = None
    """A string that must be in them; case-insensitive."""

    excludes: str | None = None
    """A string that must not be in them; case-insensitive."""

    matches: str | None = None
    """A regular expression that must match somewhere."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptSnapshot:
    """The system prompt and the tools that the agent sent are those of a file, which is kept beside the eval.

    A file that is not there fails. `demeanor run --update-snapshots` writes it.
    """

    file: Path
    """The file; `{subject}` in its name stands for the subject."""

    def file_of(self, subject: str) -> Path:
        """The file of one subject."""
        return self.file.with_name(self.file.name.replace("{subject}", slug(subject)))


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardCheck:
    """The verifier of a Harbor task gave a reward that is high enough."""

    key: str = "reward"
    """Which reward, where the verifier gives several."""

    at_least: float = 1.0
    """The least that passes."""


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
Check: TypeAlias = FunctionCheck | DeclaredCheck | RewardCheck
