"""Any program as an agent, described in the configuration only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor.agents.environments.executables import started_by_path
from demeanor.agents.jsonl import json_arguments, json_lines, json_objects
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import filled_servers, server_tables
from demeanor.agents.overrides import Overrides, read_params
from demeanor.agents.program import (
    MCP_CONFIG,
    PLACEHOLDERS,
    PROMPT,
    AgentProgram,
    fill,
    has_placeholder,
    placeholder_values,
    read_command,
    read_program,
)
from demeanor.config import Table, describe, path_problem
from demeanor.core.text.json_path import Step, json_steps
from demeanor.core.text.json_values import as_text, as_whole
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

_CANNOT = {
    Ability.MESSAGES: "a command can't be given prior messages",
    Ability.DENY: "a command's requests for permission can't be answered; use an agent that speaks ACP",
}


_NO_MCP = "its command has no {mcp_config}, the file that names the MCP servers"
_NO_EVENTS = "its output is plain text, so how its calls end is not recorded"
_NO_EXIT_CODE = "its events name no exit_code"
_MCP_FILE = ".demeanor/mcp-servers.json"
_PARAMS = ("args", "env", "home_files", "mcp_servers", "tool_kinds")


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandAgent:
    """A program that is started once per prompt, in the same workspace and HOME."""

    name: str
    """As written in a subject."""

    program: AgentProgram
    """How to start it, with {prompt} somewhere."""

    resume_command: tuple[str, ...] = ()
    """How to start it from the second prompt on, if that is another command."""

    events: JsonlPaths | None = None
    """Where the events are in its output or session files; None if it prints plain text only."""

    exit_codes: tuple[int, ...] | None = (0,)
    """Exit codes that mean success; None if the exit code does not tell."""

    stdout_contains: str | None = None
    """A string that its output must contain on success."""

    cannot: Mapping[Ability, str] = field(default_factory=lambda: _CANNOT)
    """What it does not support, with the reason."""

    params: tuple[str, ...] | None = _PARAMS
    """The `params` of an eval that it supports."""

    tells_requests: bool = False
    """Its requests for permission are not visible."""

    @property
    def dialect(self) -> str | None:
        """The model API that it uses; None if it does not use the gateway."""
        return self.program.dialect

    @property
    def names_model(self) -> bool:
        """Whether it is told the name of a model."""
        return self.program.names_model

    def read_params(self, params: Mapping[str, Any], where: Path | str) -> Overrides:
        """What an eval overrides; raises BadInput if a value is wrong."""
        return read_params(params, where=where, keys=_PARAMS)

    @property
    def tool_kinds(self) -> Mapping[str, Kind]:
        """The kinds of its tools."""
        return self.program.tool_kinds

    @property
    def prints_events(self) -> bool:
        """Whether it prints JSON lines; otherwise its output is text for the user."""
        return self.events is not None

    def orders(self, task: Task) -> Orders:
        """One launch per prompt."""
        launches = (self._launch(task, prompt, first=index == 0) for index, prompt in enumerate(task.prompts))
        values = placeholder_values(task)
        files = self.program.files(values)
        if Ability.MCP not in self.cannot:
            files[_MCP_FILE] = self._servers(task, values)
        leavings = self.events.session_files if self.events else ()
        orders = Orders(launches=tuple(launches), home_files=files, leavings=leavings)
        return self.read_params(task.params, "the eval").apply(orders, task, program_words=1)

    def _servers(self, task: Task, values: Mapping[str, str]) -> bytes:
        """The file of MCP servers, in the form that most clients read."""
        servers = self.read_params(task.params, "the eval").mcp_servers
        return json.dumps({"mcpServers": server_tables(filled_servers(servers, values))}).encode()

    def _launch(self, task: Task, prompt: str, *, first: bool) -> Launch:
        values = {**placeholder_values(task), PROMPT: prompt, MCP_CONFIG: str(task.home / _MCP_FILE)}
        words = self.program.command if first else self.resume_command or self.program.command
        argv = started_by_path(tuple(fill(word, values) for word in words))
        return self.program.readable(Launch(argv=argv, env=self.program.environment(values)), self.resume_command)

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """Whether it succeeded, by exit code and output; None if the exit code does not tell."""
        if self.stdout_contains is not None and self.stdout_contains not in end.stdout.text:
            return False
        return None if self.exit_codes is None else end.exit_code in self.exit_codes

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """The events in its output or session files, if the configuration has their paths; plain text has none."""
        return self.events.read(ends, leavings, self.tool_kinds) if self.events else ()

    def missing(self) -> str | None:
        """Why it can't be started."""
        return self.program.missing(self.name)

    def version(self) -> str | None:
        """The first line that its version command prints."""
        return self.program.version()


def read(name: str, table: Table) -> CommandAgent:
    """The agent of an `[agents.NAME]` table with `adapter = "command"`."""
    program = read_program(table, prompt=True)
    resume = read_command(table, "resume_command", (PROMPT, MCP_CONFIG, *PLACEHOLDERS))
    events = read_jsonl_paths(table)
    cannot = dict(_CANNOT)
    if not any(has_placeholder(text, MCP_CONFIG) for text in (*program.command, *program.env.values())):
        cannot[Ability.MCP] = _NO_MCP
    if events is None:
        cannot[Ability.CALLS] = _NO_EVENTS
    if events is None or "exit_code" not in events.paths:
        cannot[Ability.EXIT_CODE] = _NO_EXIT_CODE
    for key, words in (("command", program.command), ("resume_command", resume)):
        if words and not any(has_placeholder(text, PROMPT) for text in (*words, *program.env.values())):
            table.fail(key, "has no {prompt}", "write {prompt} where the agent expects its prompt")
    return CommandAgent(
        name=name,
        program=program,
        resume_command=resume,
        events=events,
        exit_codes=_exit_codes(table),
        cannot=cannot,
        stdout_contains=table.maybe_text("stdout_contains"),
    )


def _exit_codes(table: Table) -> tuple[int, ...] | None:
    if table.flag("ignore_exit_code"):
        return None
    codes: list[object] = table.take("exit_codes", list, [0]) or []
    numbers = tuple(code for code in codes if isinstance(code, int) and not isinstance(code, bool))
    if len(numbers) != len(codes):
        table.fail("exit_codes", "expected a list of whole numbers", "for example: exit_codes = [0]")
    return numbers


# Reads events from JSON lines, printed by an agent or in its session files, by the paths in `[agents.NAME.events]`.

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
