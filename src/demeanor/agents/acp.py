"""Any agent that speaks the Agent Client Protocol, described in the configuration only.

The client (agents/acp_client/) runs in the sandbox and starts the agent. It sends the prompts, answers requests for
permission by the eval's `approval`, and prints the agent's updates as events.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor._version import __version__
from demeanor.agents.environments.executables import PACKAGE_ENV, package_paths, started_by_path
from demeanor.agents.jsonl import read_events
from demeanor.agents.mcp_servers import Servers, filled_servers, read_mcp_servers, server_tables
from demeanor.agents.overrides import Overrides, read_params
from demeanor.agents.program import (
    PLACEHOLDERS,
    AgentProgram,
    check_placeholders,
    fill,
    placeholder_values,
    read_program,
)
from demeanor.config import Table
from demeanor.core.text.codec import encode
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind, usual_kinds

_TASK_FILE = ".demeanor/acp.json"
_CANNOT = {
    Ability.MESSAGES: "the protocol can load a session of the agent's own, but not one that Demeanor writes",
}


_PARAMS = ("approval_mode", "args", "env", "home_files", "mcp_servers", "tool_kinds")


@dataclass(frozen=True, kw_only=True, slots=True)
class AcpAgent:
    """An agent that speaks the Agent Client Protocol."""

    name: str
    """As written in a subject."""

    program: AgentProgram
    """How to start it."""

    files: bool = False
    """Whether the client offers to read and write files of the workspace."""

    mode: str = ""
    """The session mode to set, such as `approve`; empty for the agent's default."""

    session_model: str = ""
    """The model to set in the session, with placeholders; empty if the agent's settings name the model."""

    authenticate: str = ""
    """The authentication method to send first, if the agent requires one."""

    mcp_servers: Servers = field(default_factory=dict)
    """MCP servers: name → command or address."""

    session: str = ""
    """The session to load, which must be in `home_files`; empty for a new one."""

    cannot: Mapping[Ability, str] = field(default_factory=lambda: _CANNOT)
    """What it does not support, with the reason."""

    params: tuple[str, ...] | None = _PARAMS
    """The `params` of an eval that it supports."""

    tells_requests: bool = True
    """Every request for permission goes to the client."""

    prints_events: bool = True
    """The client prints events."""

    asks_user: bool = True
    """The client asks the gateway for the user's next message."""

    steers: bool = True
    """The client sends messages while the agent works, or interrupts it."""

    @property
    def dialect(self) -> str | None:
        """The model API that it uses; None if it does not use the gateway."""
        return self.program.dialect

    def read_params(self, params: Mapping[str, Any], where: Path | str) -> Overrides:
        """What an eval overrides; raises BadInput if a value is wrong. The agent checks `approval_mode` itself."""
        mode = params.get("approval_mode")
        return read_params(params, where=where, keys=_PARAMS, modes=(mode,) if isinstance(mode, str) else ("ask",))

    @property
    def tool_kinds(self) -> Mapping[str, Kind]:
        """The kinds of its tools."""
        return self.program.tool_kinds

    def orders(self, task: Task) -> Orders:
        """One client, one session for all prompts."""
        own = self.read_params(task.params, "the eval")
        values = placeholder_values(task)
        env = {**self.program.environment(values), **{name: fill(text, values) for name, text in own.env.items()}}
        command = started_by_path(tuple(fill(word, values) for word in (*self.program.command, *own.args)))
        fields = {
            "command": command,
            "env": {name: env[name] for name in PACKAGE_ENV if name in env},
            "hide": [*PACKAGE_ENV],
            "prompts": task.prompts,
            "user": task.user,
            "steer": encode(task.steer),
            "workspace": str(task.workspace),
            "base_url": task.base_url,
            "token": task.token,
            "approval": encode(task.approval),
            "own_kinds": {**self.tool_kinds, **own.tool_kinds},
            "usual_kinds": dict(usual_kinds()),
            "files": self.files,
            "mode": own.approval_mode or self.mode,
            "model": fill(self.session_model, values),
            "authenticate": self.authenticate,
            "mcp_servers": self._servers(own, values),
            "session": self.session,
            "version": __version__,
        }
        # -P keeps the workspace off the import path: a file `json.py` there must not be imported.
        argv = (sys.executable, "-P", "-s", "-S", "-m", "demeanor.agents.acp_client", str(task.home / _TASK_FILE))
        launch = self.program.readable(Launch(argv=argv, env={**env, **PACKAGE_ENV}, reads=package_paths()))
        files = {path: fill(text, values).encode() for path, text in own.home_files.items()}
        home_files = {**self.program.files(values), **files, _TASK_FILE: json.dumps(fields).encode()}
        return Orders(launches=(launch,), home_files=home_files, program=command[:1])

    def _servers(self, own: Overrides, values: Mapping[str, str]) -> list[dict[str, Any]]:
        """MCP servers in the form of the protocol."""
        servers = {**self.mcp_servers, **own.mcp_servers}
        return [
            {"name": name, **table, **({"headers": []} if "url" in table else {"env": []})}
            for name, table in server_tables(filled_servers(servers, values)).items()
        ]

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """An error, an early exit or an unfinished turn is a failure; `end_turn` alone is not proof of success."""
        return None if end.exit_code == 0 else False

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """The events that the client printed."""
        return read_events(ends)

    def missing(self) -> str | None:
        """Why it can't be started."""
        return self.program.missing(self.name)

    def version(self) -> str | None:
        """The first line that its version command prints."""
        return self.program.version()


def read(name: str, table: Table) -> AcpAgent:
    """The agent of an `[agents.NAME]` table with `adapter = "acp"`."""
    session_model = table.text("session_model")
    check_placeholders(table, "session_model", session_model, PLACEHOLDERS)
    return AcpAgent(
        name=name,
        program=read_program(table, prompt=False),
        files=table.flag("files"),
        mode=table.text("mode"),
        session_model=session_model,
        authenticate=table.text("authenticate"),
        session=table.text("session"),
        mcp_servers=read_mcp_servers(table, in_eval=False),
    )
