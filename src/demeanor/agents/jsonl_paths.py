"""Reads events from JSON lines, printed by an agent or in its session files, by the paths in `[agents.NAME.events]`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from demeanor.agents.jsonl import json_arguments, json_lines, json_objects
from demeanor.agents.log_builder import LogBuilder
from demeanor.config import Table, describe, path_problem
from demeanor.core.text.json_path import Step, json_steps
from demeanor.core.text.json_values import as_text, as_whole
from demeanor.core.values.process import ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

KEYS = ("tool", "arguments", "id", "result", "failed", "exit_code", "text", "thought")
_EXAMPLE = 'such as "item.name", "parts[0].text" or {path = "item.name", when = {type = "tool"}}'


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldPath:
    """Where a field of an event is in a line."""

    steps: tuple[Step, ...] = ()
    """The path of the value; empty for the line as a whole."""

    when: tuple[tuple[tuple[Step, ...], tuple[Any, ...]], ...] = ()
    """Conditions: path → the values that it may have. All must hold."""

    def find(self, line: Mapping[str, Any]) -> Any:
        """The value; None if there is none, or if a condition does not hold."""
        if not all(_is_one_of(_at(line, steps), values) for steps, values in self.when):
            return None
        return _at(line, self.steps)


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonlPaths:
    """One or more paths for each field of an event; the first path that exists is used."""

    paths: Mapping[str, tuple[FieldPath, ...]]
    """By field: `tool`, `arguments`, `id`, `result`, `failed`, `exit_code`, `text`, `thought`."""

    session_files: tuple[str, ...] = ()
    """Files in HOME with the lines, in place of the output; `*` matches within one path component."""

    def read(
        self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes], kinds: Mapping[str, Kind]
    ) -> tuple[Event, ...]:
        """The events in the session files or in the output; raises ValueError if the output was truncated.

        A line may report a call, its result, or both. The first line after a result starts a new model answer.
        """
        if not self.session_files:
            return self._events(json_lines(ends), kinds)
        texts = (leavings[name].decode("utf-8", "replace") for name in sorted(leavings))
        return self._events((line for text in texts for line in json_objects(text)), kinds)

    def _events(self, lines: Iterable[Mapping[str, Any]], kinds: Mapping[str, Kind]) -> tuple[Event, ...]:
        log = LogBuilder(kinds)
        answered = True
        calls = 0
        for line in lines:
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
                succeeded = None if "failed" not in self.paths else not self._find("failed", line)
                code = as_whole(self._find("exit_code", line))
                log.add_result(call or f"call-{calls}", _to_text(result), succeeded=succeeded, exit_code=code)
        return log.events()

    def _find(self, key: str, line: Mapping[str, Any]) -> Any:
        """The value at the first path of a field that exists; None if none does."""
        values = (path.find(line) for path in self.paths.get(key, ()))
        return next((value for value in values if value is not None), None)


def read_jsonl_paths(table: Table) -> JsonlPaths | None:
    """Read `output`, `events` and `session_files` of an agent's table."""
    output = table.choice("output", ("text", "jsonl"), "text")
    files = table.texts("session_files")
    for index, path in enumerate(files):
        if problem := path_problem(path):
            table.fail(f"session_files[{index}]", problem, "write a path relative to HOME, such as '.agent/*.jsonl'")
    events = table.table("events")
    if output == "text" and not files:
        if events is not None:
            table.fail("events", "needs JSON lines", 'set output = "jsonl" too, or session_files')
        return None
    if events is None:
        example = 'such as [agents.NAME.events] with tool = "item.name"'
        reason = "session_files" if files else 'output = "jsonl"'
        table.fail("events", f"is required with {reason}", f"write the paths of its events, {example}")
    paths = {key: read for key in KEYS if (read := _paths(events, key))}
    events.finish()
    if "tool" not in paths:
        table.fail(
            "events.tool",
            "is required",
            "without it, an agent that uses no tools looks like one that does not report them",
        )
    return JsonlPaths(paths=paths, session_files=files)


def _paths(table: Table, key: str) -> tuple[FieldPath, ...]:
    paths = table.anything(key)
    if paths is None:
        return ()
    return tuple(_path(table, key, path) for path in (paths if isinstance(paths, list) else [paths]))


def _path(table: Table, key: str, value: object) -> FieldPath:
    """A path, or a table with `path` and `when`; `failed` needs no path, because its condition is enough."""
    if isinstance(value, str):
        return FieldPath(steps=_steps(table, key, value))
    if not isinstance(value, Mapping):
        table.fail(key, f"expected a path or a list of paths, found {describe(value)}", _EXAMPLE)
    inner = table.nested(value, key)
    path = inner.text("path", required=key != "failed", example='path = "item.name"')
    when = inner.mapping("when")
    inner.finish()
    if not path and not when:
        table.fail(key, "has neither a path nor a condition", _EXAMPLE)
    conditions = tuple(
        (_steps(table, f"{key}.when", name), tuple(value) if isinstance(value, list) else (value,))
        for name, value in when.items()
    )
    return FieldPath(steps=_steps(table, key, path) if path else (), when=conditions)


def _steps(table: Table, key: str, path: str) -> tuple[Step, ...]:
    try:
        return json_steps(path)
    except ValueError as error:
        table.fail(key, str(error), _EXAMPLE)


def _at(value: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps:
        value = _step_into(value, step)
    return value


def _is_one_of(value: Any, values: tuple[Any, ...]) -> bool:
    """Whether the value is one of these; True is not 1."""
    return any(type(value) is type(other) and value == other for other in values)


def _step_into(value: Any, step: Step) -> Any:
    if isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
        return value[step]
    return value.get(step) if isinstance(value, dict) and isinstance(step, str) else None


def _to_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, default=str)
