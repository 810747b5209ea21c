"""Any agent that speaks the Agent Client Protocol, by configuration alone.

The client (demeanor/acp/) runs in the bench beside the agent: it prompts it, answers its requests for permission by the
eval's approval, and prints what it hears as events.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor._version import __version__
from demeanor.agents.events import read_events
from demeanor.agents.placeholders import PLACES, check_places, fill, places_of
from demeanor.agents.program import AgentProgram, read_program
from demeanor.agents.python_paths import PACKAGES, python_folders
from demeanor.config.table import Table
from demeanor.core.agent import Ability, Orders, Task
from demeanor.core.codec import encode
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event, Kind, usual_kinds

_OURS = {"PYTHONPATH": PACKAGES, "PYTHONDONTWRITEBYTECODE": "1"}
_TASK = ".demeanor/acp.json"
_CANNOT = {
    Ability.MESSAGES: "the protocol can load a session that the agent kept itself, but none that others wrote",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AcpAgent:
    """An agent at the other end of the Agent Client Protocol."""

    name: str
    """As written in a subject."""

    program: AgentProgram
    """How it is started."""

    files: bool = False
    """Whether it is offered to read and write files of the workspace through the client."""

    mode: str = ""
    """The session mode to set, such as `approve`; empty for the agent's own choice."""

    session_model: str = ""
    """The model to set in the session, with places; empty where the agent knows it by its own settings."""

    authenticate: str = ""
    """The way of authentication to name first, where the agent insists."""

    session: str = ""
    """The session to load, which must lie in `home_files`; empty for a new one."""

    cannot: Mapping[Ability, str] = field(default_factory=lambda: _CANNOT)
    """What it can't do, with the reason."""

    params: tuple[str, ...] | None = ()
    """The protocol has no settings."""

    tells_requests: bool = True
    """Every request for permission comes to the client."""

    @property
    def dialect(self) -> str | None:
        """The model API it speaks; None where it uses no gateway."""
        return self.program.dialect

    @property
    def tool_kinds(self) -> Mapping[str, Kind]:
        """What its own tools do."""
        return self.program.tool_kinds

    def orders(self, task: Task) -> Orders:
        """One client, one session, all prompts."""
        places = places_of(task)
        env = self.program.environment(places)
        fields = {
            "command": [fill(word, places) for word in self.program.command],
            "env": {name: env[name] for name in _OURS if name in env},
            "hide": [*_OURS],
            "prompts": task.prompts,
            "workspace": str(task.workspace),
            "approval": encode(task.approval),
            "own_kinds": dict(self.tool_kinds),
            "usual_kinds": dict(usual_kinds()),
            "files": self.files,
            "mode": self.mode,
            "model": fill(self.session_model, places),
            "authenticate": self.authenticate,
            "session": self.session,
            "version": __version__,
        }
        # -P keeps the workspace off the import path: a file `json.py` there must not become part of the client.
        argv = (sys.executable, "-P", "-s", "-S", "-m", "demeanor.acp", str(task.home / _TASK))
        launch = Launch(argv=argv, env={**env, **_OURS}, reads=(*python_folders(), PACKAGES, *self.program.readable()))
        laid = {**self.program.files(places), _TASK: json.dumps(fields).encode()}
        return Orders(launches=(launch,), home_files=laid)

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """An error, an early end or an unfinished turn is a failure; «end_turn» says nothing of the model's answers."""
        return None if end.exit_code == 0 else False

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """What the client heard."""
        return read_events(ends)

    def missing(self) -> str | None:
        """The program."""
        return self.program.missing(self.name)

    def version(self) -> str | None:
        """As its version command says."""
        return self.program.version()


def read(name: str, table: Table) -> AcpAgent:
    """The agent of an `[agents.NAME]` table with `adapter = "acp"`."""
    session_model = table.text("session_model")
    check_places(table, "session_model", session_model, PLACES)
    return AcpAgent(
        name=name,
        program=read_program(table, prompt=False),
        files=table.flag("files"),
        mode=table.text("mode"),
        session_model=session_model,
        authenticate=table.text("authenticate"),
        session=table.text("session"),
    )
