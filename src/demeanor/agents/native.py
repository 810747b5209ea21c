"""The adapter of the native agent (demeanor/agents/native_agent/), Demeanor's own small coding agent."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor._version import __version__
from demeanor.agents.environments.executables import PACKAGE_ENV, package_paths
from demeanor.agents.jsonl import read_events
from demeanor.agents.overrides import Overrides, read_overrides, read_params
from demeanor.config import Table
from demeanor.core.text.codec import encode
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

_PARAMS = ("args", "env", "home_files", "tool_kinds")


_CANNOT = {
    Ability.SUB_AGENTS: "it offers its model no tool that starts a sub-agent",
    Ability.MCP: "it has no client for MCP servers",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltinAgent:
    """The native agent."""

    name: str = "native"
    """As written in a subject."""

    dialect: str = "openai-chat"
    """The model API that it uses."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """Only those of the configuration: its own tools have common names."""

    cannot: Mapping[Ability, str] = field(default_factory=lambda: _CANNOT)
    """What it does not support, with the reason."""

    params: tuple[str, ...] | None = _PARAMS
    """The `params` of an eval that it supports."""

    tells_requests: bool = True
    """It reports each request for permission."""

    prints_events: bool = True
    """It prints one event per line."""

    asks_user: bool = True
    """It asks the gateway for the user's next message."""

    steers: bool = True
    """It takes messages of the user while it works."""

    resumes_calls: bool = True
    """An earlier conversation may have tool calls."""

    max_turns: int = 25
    """Maximum model answers per prompt."""

    overrides: Overrides = field(default_factory=Overrides)
    """What the configuration sets."""

    def read_params(self, params: Mapping[str, Any], where: Path | str) -> Overrides:
        """What an eval overrides; raises BadInput if a value is wrong."""
        return read_params(params, where=where, keys=_PARAMS)

    def orders(self, task: Task) -> Orders:
        """One launch for all prompts. They go into a file, so that a prompt can't be read as an option."""
        file = json.dumps(
            {
                "prompts": task.prompts,
                "messages": encode(task.messages),
                "approval": encode(task.approval),
                **({"steer": encode(task.steer)} if task.steer else {}),
                **({"user": task.base_url} if task.user else {}),
            }
        )
        # -P keeps the workspace off the import path: a file `json.py` there must not be imported.
        program = (sys.executable, "-P", "-s", "-S", "-m", "demeanor.agents.native_agent")
        options: dict[str, object] = {"--task": task.home / "task.json", "--model": task.model}
        options |= {"--max-turns": self.max_turns, "--seed": task.seed}
        words = (str(word) for option in options.items() for word in option)
        env = {"OPENAI_BASE_URL": f"{task.base_url}/v1", "OPENAI_API_KEY": task.token, **PACKAGE_ENV}
        orders = Orders(
            launches=(Launch(argv=(*program, *words), env=env, reads=package_paths()),),
            home_files={"task.json": file.encode()},
        )
        own = self.overrides.then(self.read_params(task.params, "the eval"))
        return own.apply(orders, task, program_words=len(program))

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """Its exit code is reliable."""
        return end.exit_code == 0

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """It prints one event per line."""
        return read_events(ends)

    def missing(self) -> str | None:
        """None: it is part of Demeanor."""
        return None

    def version(self) -> str | None:
        """The version of Demeanor."""
        return __version__


def read(name: str, table: Table) -> BuiltinAgent:
    """The agent of an `[agents.NAME]` table. `max_turns`: maximum model answers per prompt (default 25)."""
    overrides = read_overrides(table, keys=_PARAMS)
    max_turns = table.whole("max_turns", least=1) or 25
    return BuiltinAgent(name=name, max_turns=max_turns, overrides=overrides, tool_kinds=overrides.tool_kinds)
