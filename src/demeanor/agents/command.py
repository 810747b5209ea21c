"""Any program as an agent, described in the configuration only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor.agents.executables import started_by_path
from demeanor.agents.jsonl_paths import JsonlPaths, read_jsonl_paths
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
from demeanor.config import Table
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
