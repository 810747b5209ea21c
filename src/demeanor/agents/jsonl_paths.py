"""Where to look in an agent's output for what it did: paths into the JSON objects that it prints, one per line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from demeanor.agents.jsonl import json_lines
from demeanor.agents.log_builder import LogBuilder
from demeanor.config.table import Table
from demeanor.core.json_path import Step, json_steps
from demeanor.core.process import ProcessEnd
from demeanor.core.trajectory import Event, Kind

Paths: TypeAlias = tuple[tuple[Step, ...], ...]

KEYS = ("tool", "arguments", "id", "result", "failed", "text", "thought")


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonlPaths:
    """Several places for each fact; the first that is there counts."""

    paths: Mapping[str, Paths]
    """By fact: `tool`, `arguments`, `id`, `result`, `failed`, `text`, `thought`."""

    def read(self, ends: tuple[ProcessEnd, ...], kinds: Mapping[str, Kind]) -> tuple[Event, ...]:
        """The events of the output; raises ValueError where it is cut.

        A line may tell of a call, of its result, or of both. A new answer of the model is taken to begin with what
        comes after a result.
        """
        story = LogBuilder(kinds)
        answered = True
        calls = 0
        for line in json_lines(ends):
            tool, said, thought = (_text(self._find(key, line)) for key in ("tool", "text", "thought"))
            result = self._find("result", line)
            if (tool or said or thought) and answered:
                story.next_turn()
                answered = False
            story.thought(thought)
            story.said(said)
            call = _shown(self._find("id", line))
            if tool:
                calls += 1
                call = call or f"call-{calls}"
                story.called(call, tool, _arguments(self._find("arguments", line)))
            if result is not None:
                answered = True
                failed = self._find("failed", line) if "failed" in self.paths else None
                worked = None if "failed" not in self.paths else not failed
                story.answered(call or f"call-{calls}", _shown(result), succeeded=worked)
        return story.events()

    def _find(self, key: str, line: Mapping[str, Any]) -> Any:
        """What lies at the first of a fact's paths that leads somewhere; None where none does."""
        for steps in self.paths.get(key, ()):
            found: Any = line
            for step in steps:
                found = _step_into(found, step)
            if found is not None:
                return found
        return None


def read_line_paths(table: Table) -> JsonlPaths | None:
    """`output` and `events` of an agent's table."""
    output = table.choice("output", ("text", "jsonl"), "text")
    events = table.table("events")
    if output == "text":
        if events is not None:
            table.fail("events", "can't be looked for in plain text", 'write output = "jsonl" beside it')
        return None
    if events is None:
        example = 'such as [agents.NAME.events] with tool = "item.name"'
        table.fail("events", 'is required with output = "jsonl"', f"name the paths to its events, {example}")
    paths = {key: found for key in KEYS if (found := _paths(events, key))}
    events.finish()
    if "tool" not in paths:
        table.fail("events.tool", "is required", "else nobody could tell an agent that used no tool from a silent one")
    return JsonlPaths(paths=paths)


def _paths(table: Table, key: str) -> Paths:
    given = table.anything(key)
    if given is None:
        return ()
    found = []
    for path in given if isinstance(given, list) else [given]:
        if not isinstance(path, str):
            table.fail(
                key, f"expected a path or a list of paths, found {path!r}", 'such as "item.name" or "parts[0].text"'
            )
        try:
            found.append(json_steps(path))
        except ValueError as error:
            table.fail(key, str(error), 'such as "item.name" or "parts[0].text"')
    return tuple(found)


def _step_into(value: Any, step: Step) -> Any:
    if isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
        return value[step]
    return value.get(step) if isinstance(value, dict) and isinstance(step, str) else None


def _arguments(value: Any) -> dict[str, Any]:
    """A call's arguments: a table, or one written as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, default=str)
