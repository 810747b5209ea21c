"""What an agent would do, written down as data: the self-test's behaviours of scenario folders."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


class ScriptedStage(Protocol):
    """What a behaviour may do; the real one is in judge/rehearsal.py."""

    @property
    def workspace(self) -> Path:
        """The folder to change."""
        ...

    def one_turn(self) -> AbstractContextManager[None]:
        """The calls made inside are asked for together."""
        ...

    def call(self, tool: str, /, *, result: str = "", succeeded: bool | None = True, **arguments: Any) -> None:
        """A tool is called."""
        ...

    def say(self, text: str) -> None:
        """The agent says something."""
        ...

    def exit(self, code: int) -> None:
        """The agent's program ends."""
        ...

    def spend(self, *, tokens: int = 0, cost_usd: float = 0.0, seconds: float = 0.0) -> None:
        """Something is used up."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ActedCall:
    """One tool call."""

    tool: str
    """The tool's name."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments."""

    result: str = ""
    """What it answers."""

    succeeded: bool = True
    """Whether it works."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Act:
    """A behaviour: files written and deleted, tools called, last words."""

    title: str
    """What a person calls it, such as `fails_on[0]`."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files to write, by relative path."""

    append: Mapping[str, bytes] = field(default_factory=dict)
    """What to add to the end of files, which are made where they are not there."""

    delete: tuple[str, ...] = ()
    """Files to delete."""

    calls: tuple[ActedCall, ...] = ()
    """Tools to call, one per turn."""

    final_text: str | None = None
    """The agent's last words."""

    exit_code: int = 0
    """How its program ends."""

    tokens: int = 0
    """Tokens used."""

    cost_usd: float = 0.0
    """Money spent."""

    seconds: float = 0.0
    """Time taken."""

    @property
    def __name__(self) -> str:
        """Functions have a name; so do behaviours that are data."""
        return self.title

    def __call__(self, stage: ScriptedStage) -> None:
        """Play it."""
        for path, content in self.files.items():
            _at(stage, path).write_bytes(content)
        for path, content in self.append.items():
            with _at(stage, path).open("ab") as file:
                file.write(content)
        for path in self.delete:
            (stage.workspace / path).unlink()
        for call in self.calls:
            stage.call(call.tool, result=call.result, succeeded=call.succeeded, **call.arguments)
        if self.final_text is not None:
            stage.say(self.final_text)
        stage.spend(tokens=self.tokens, cost_usd=self.cost_usd, seconds=self.seconds)
        stage.exit(self.exit_code)


def _at(stage: ScriptedStage, path: str) -> Path:
    full = stage.workspace / path
    full.parent.mkdir(parents=True, exist_ok=True)
    return full
