"""`[passes_on]` and `[fails_on]` of scenario.toml: what an agent might do, as data that the self-test plays."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from demeanor.config import Table, path_problem
from demeanor.define.field import (
    BOOLEAN,
    FILES,
    OBJECT,
    STRING,
    STRINGS,
    Field,
    amount,
    count,
    read_fields,
    required_text,
)
from demeanor.define.template import checked_files


class ScriptedStage(Protocol):
    """The methods of `Stage` (judge/simulation.py) that a scripted behaviour uses."""

    @property
    def workspace(self) -> Path:
        """The folder to change."""
        ...

    @property
    def home(self) -> Path:
        """The agent's HOME."""
        ...

    def one_turn(self) -> AbstractContextManager[None]:
        """Group the calls made inside into one turn."""
        ...

    def call(self, tool: str, /, *, result: str = "", succeeded: bool | None = True, **arguments: Any) -> None:
        """Call a tool."""
        ...

    def say(self, text: str) -> None:
        """Write a message to the user."""
        ...

    def exit(self, code: int) -> None:
        """End the agent's process."""
        ...

    def spend(self, *, tokens: int = 0, cost_usd: float = 0.0, seconds: float = 0.0) -> None:
        """Use tokens, money or time."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedCall:
    """One tool call. The sentence under a field is also its documentation for authors."""

    tool: str
    """The tool's name."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments."""

    result: str = ""
    """Its result."""

    succeeded: bool = True
    """Whether it succeeds; true by default."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedBehaviour:
    """What an agent might do. The sentence under a field is also its documentation for authors."""

    title: str
    """The name shown in reports."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files to write: `files."path" = "text"`."""

    append: Mapping[str, bytes] = field(default_factory=dict)
    """Content to append to files, which are created if necessary."""

    delete: tuple[str, ...] = ()
    """Files to delete."""

    home_files: Mapping[str, bytes] = field(default_factory=dict)
    """Files to write in the agent's HOME."""

    calls: tuple[ScriptedCall, ...] = ()
    """Tools to call, one per turn: `{ tool = "read_file", arguments = { path = "a.txt" }, result = "…" }`."""

    final_text: str | None = None
    """The agent's final text."""

    exit_code: int = 0
    """The exit code of the agent's process."""

    tokens: int = 0
    """Tokens used."""

    cost_usd: float = 0.0
    """Money spent, in US dollars."""

    seconds: float = 0.0
    """Time taken, in seconds."""

    @property
    def __name__(self) -> str:
        """The title, so that reports can name it like a function."""
        return self.title

    def __call__(self, stage: ScriptedStage) -> None:
        """Play the behaviour."""
        for path, content in self.files.items():
            _with_parents(stage.workspace / path).write_bytes(content)
        for path, content in self.append.items():
            with _with_parents(stage.workspace / path).open("ab") as file:
                file.write(content)
        for path in self.delete:
            (stage.workspace / path).unlink()
        for path, content in self.home_files.items():
            _with_parents(stage.home / path).write_bytes(content)
        for call in self.calls:
            stage.call(call.tool, result=call.result, succeeded=call.succeeded, **call.arguments)
        if self.final_text is not None:
            stage.say(self.final_text)
        stage.spend(tokens=self.tokens, cost_usd=self.cost_usd, seconds=self.seconds)
        stage.exit(self.exit_code)


def _with_parents(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def read_behaviours(table: Table, key: str) -> tuple[ScriptedBehaviour, ...]:
    """`[passes_on]` for one behaviour, `[[passes_on]]` for several."""
    if isinstance(table.anything(key), list):
        return tuple(_behaviour(entry, f"{key}[{index}]") for index, entry in enumerate(table.tables(key)))
    entry = table.table(key)
    return () if entry is None else (_behaviour(entry, key),)


def _behaviour(table: Table, title: str) -> ScriptedBehaviour:
    return ScriptedBehaviour(**{"title": title, **read_fields(table, BEHAVIOUR_FIELDS)})


def _calls(table: Table, key: str) -> tuple[ScriptedCall, ...]:
    return tuple(ScriptedCall(**read_fields(entry, CALL_FIELDS)) for entry in table.tables(key))


def _files(table: Table, key: str) -> dict[str, bytes]:
    return checked_files(table.strings(key), where=table.where, key=f"{table.prefix}{key}")


def _paths(table: Table, key: str) -> tuple[str, ...]:
    for path in (paths := table.texts(key)):
        if problem := path_problem(path):
            table.fail(key, problem, "write a path relative to the workspace")
    return paths


CALL_FIELDS = (
    Field(name="tool", doc_of=ScriptedCall, schema=STRING, toml=required_text, required=True),
    Field(name="arguments", doc_of=ScriptedCall, schema=OBJECT, toml=Table.mapping),
    Field(name="result", doc_of=ScriptedCall, schema=STRING, toml=Table.text),
    Field(name="succeeded", doc_of=ScriptedCall, schema=BOOLEAN, toml=Table.flag),
)
"""The keys of one entry of `calls`."""

BEHAVIOUR_FIELDS = (
    Field(name="title", doc_of=ScriptedBehaviour, schema=STRING, toml=Table.text),
    Field(name="files", doc_of=ScriptedBehaviour, schema=FILES, toml=_files),
    Field(name="delete", doc_of=ScriptedBehaviour, schema=STRINGS, toml=_paths),
    Field(name="home_files", doc_of=ScriptedBehaviour, schema=FILES, toml=_files),
    Field(
        name="calls",
        doc_of=ScriptedBehaviour,
        schema={"type": "array"},
        toml=_calls,
    ),
    Field(name="final_text", doc_of=ScriptedBehaviour, schema=STRING, toml=Table.text),
    Field(
        name="exit_code",
        doc_of=ScriptedBehaviour,
        schema={"type": "integer", "minimum": 0, "maximum": 255},
        toml=lambda table, key: table.whole(key, least=0, most=255),
    ),
    Field(name="tokens", doc_of=ScriptedBehaviour, schema={"type": "integer", "minimum": 0}, toml=count),
    Field(name="cost_usd", doc_of=ScriptedBehaviour, schema={"type": "number", "minimum": 0}, toml=amount),
    Field(name="seconds", doc_of=ScriptedBehaviour, schema={"type": "number", "minimum": 0}, toml=amount),
)
"""The keys of `[passes_on]` and `[fails_on]`."""
