"""Any agent that speaks the Agent Client Protocol, described in the configuration only.

The client (demeanor/acp/) runs in the sandbox and starts the agent. It sends the prompts, answers requests for
permission by the eval's `approval`, and prints the agent's updates as events.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor._version import __version__
from demeanor.agents.executables import PACKAGE_ROOT, python_paths
from demeanor.agents.jsonl import read_events
from demeanor.agents.program import (
    PLACEHOLDERS,
    AgentProgram,
    check_placeholders,
    fill,
    placeholder_values,
    read_program,
)
from demeanor.config.table import Table
from demeanor.core.agent import Ability, Orders, Task
from demeanor.core.codec import encode
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event, Kind, usual_kinds

_CLIENT_ENV = {"PYTHONPATH": PACKAGE_ROOT, "PYTHONDONTWRITEBYTECODE": "1"}
_TASK_FILE = ".demeanor/acp.json"
_CANNOT = {
    Ability.MESSAGES: "the protocol can load a session of the agent's own, but not one that Demeanor writes",
}


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

    session: str = ""
    """The session to load, which must be in `home_files`; empty for a new one."""

    cannot: Mapping[Ability, str] = field(default_factory=lambda: _CANNOT)
    """What it does not support, with the reason."""

    params: tuple[str, ...] | None = ()
    """None: the protocol has no settings."""

    tells_requests: bool = True
    """Every request for permission goes to the client."""

    prints_events: bool = True
    """The client prints events."""

    @property
    def dialect(self) -> str | None:
        """The model API that it uses; None if it does not use the gateway."""
        return self.program.dialect

    @property
    def tool_kinds(self) -> Mapping[str, Kind]:
        """The kinds of its tools."""
        return self.program.tool_kinds

    def orders(self, task: Task) -> Orders:
        """One client, one session for all prompts."""
        values = placeholder_values(task)
        env = self.program.environment(values)
        fields = {
            "command": [fill(word, values) for word in self.program.command],
            "env": {name: env[name] for name in _CLIENT_ENV if name in env},
            "hide": [*_CLIENT_ENV],
            "prompts": task.prompts,
            "workspace": str(task.workspace),
            "approval": encode(task.approval),
            "own_kinds": dict(self.tool_kinds),
            "usual_kinds": dict(usual_kinds()),
            "files": self.files,
            "mode": self.mode,
            "model": fill(self.session_model, values),
            "authenticate": self.authenticate,
            "session": self.session,
            "version": __version__,
        }
        # -P keeps the workspace off the import path: a file `json.py` there must not be imported.
        argv = (sys.executable, "-P", "-s", "-S", "-m", "demeanor.acp", str(task.home / _TASK_FILE))
        launch = Launch(
            argv=argv, env={**env, **_CLIENT_ENV}, reads=(*python_paths(), PACKAGE_ROOT, *self.program.readable())
        )
        home_files = {**self.program.files(values), _TASK_FILE: json.dumps(fields).encode()}
        return Orders(launches=(launch,), home_files=home_files)

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
    )
