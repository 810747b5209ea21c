"""Reads events from the JSON lines that an agent prints, by the paths in `[agents.NAME.events]`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from demeanor.agents.jsonl import as_text, json_arguments, json_lines
from demeanor.agents.log_builder import LogBuilder
from demeanor.config.table import Table
from demeanor.core.json_path import Step, json_steps
from demeanor.core.process import ProcessEnd
from demeanor.core.trajectory import Event, Kind

Paths: TypeAlias = tuple[tuple[Step, ...], ...]

KEYS = ("tool", "arguments", "id", "result", "failed", "text", "thought")


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonlPaths:
    """One or more paths for each field of an event; the first path that exists is used."""

    paths: Mapping[str, Paths]
    """By field: `tool`, `arguments`, `id`, `result`, `failed`, `text`, `thought`."""

    def read(self, ends: tuple[ProcessEnd, ...], kinds: Mapping[str, Kind]) -> tuple[Event, ...]:
        """The events in the output; raises ValueError if it was truncated.

        A line may report a call, its result, or both. The first line after a result starts a new model answer.
        """
        log = LogBuilder(kinds)
        answered = True
        calls = 0
        for line in json_lines(ends):
            tool, text, thought = (as_text(self._find(key, line)) for key in ("tool", "text", "thought"))
            result = self._find("result", line)
            if (tool or text or thought) and answered:
                log.next_turn()
                answered = False
            log.add_thought(thought)
            log.add_text(text)
            call = _to_text(self._find("id", line))
            if tool:
                calls += 1
                call = call or f"call-{calls}"
                log.add_call(call, tool, json_arguments(self._find("arguments", line)))
            if result is not None:
                answered = True
                failed = self._find("failed", line) if "failed" in self.paths else None
                succeeded = None if "failed" not in self.paths else not failed
                log.add_result(call or f"call-{calls}", _to_text(result), succeeded=succeeded)
        return log.events()

    def _find(self, key: str, line: Mapping[str, Any]) -> Any:
        """The value at the first path of a field that exists; None if none does."""
        for steps in self.paths.get(key, ()):
            found: Any = line
            for step in steps:
                found = _step_into(found, step)
            if found is not None:
                return found
        return None


def read_jsonl_paths(table: Table) -> JsonlPaths | None:
    """Read `output` and `events` of an agent's table."""
    output = table.choice("output", ("text", "jsonl"), "text")
    events = table.table("events")
    if output == "text":
        if events is not None:
            table.fail("events", "needs JSON lines", 'set output = "jsonl" too')
        return None
    if events is None:
        example = 'such as [agents.NAME.events] with tool = "item.name"'
        table.fail("events", 'is required with output = "jsonl"', f"write the paths of its events, {example}")
    paths = {key: found for key in KEYS if (found := _paths(events, key))}
    events.finish()
    if "tool" not in paths:
        table.fail(
            "events.tool",
            "is required",
            "without it, an agent that uses no tools looks like one that does not report them",
        )
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


def _to_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, default=str)
