"""The native agent (demeanor/native/): Demeanor's own small tool-using agent, started like any other program."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor._version import __version__
from demeanor.agents.events import read_events
from demeanor.agents.python_paths import PACKAGES, python_folders
from demeanor.config.table import Table
from demeanor.core.agent import Ability, Orders, Task
from demeanor.core.codec import encode
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event, Kind


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltinAgent:
    """The native agent."""

    name: str = "native"
    """As written in a subject."""

    dialect: str = "openai-chat"
    """The model API it speaks."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """Its tools' names are the usual ones."""

    cannot: Mapping[Ability, str] = field(default_factory=dict)
    """What it can't do, with the reason."""

    params: tuple[str, ...] | None = None
    """An eval may hand any setting to it."""

    tells_requests: bool = True
    """It tells each time that it asks for permission."""

    max_turns: int = 25
    """Model answers per prompt."""

    def orders(self, task: Task) -> Orders:
        """One program for all prompts; they go in a file, so that no prompt is ever taken for an option."""
        file = json.dumps(
            {"prompts": task.prompts, "messages": encode(task.messages), "approval": encode(task.approval)}
        )
        # -P keeps the workspace off the import path: a file `json.py` there must not become part of the agent.
        program = (sys.executable, "-P", "-s", "-S", "-m", "demeanor.native")
        options: dict[str, object] = {"--task": task.home / "task.json", "--model": task.model}
        options |= {"--max-turns": self.max_turns, "--seed": task.seed}
        words = (str(word) for option in options.items() for word in option)
        env = {"OPENAI_BASE_URL": f"{task.base_url}/v1", "OPENAI_API_KEY": task.token, "PYTHONPATH": PACKAGES}
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        return Orders(
            launches=(Launch(argv=(*program, *words), env=env, reads=(*python_folders(), PACKAGES)),),
            home_files={"task.json": file.encode()},
        )

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """It tells the truth with its exit code."""
        return end.exit_code == 0

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """It prints one event per line."""
        return read_events(ends)

    def missing(self) -> str | None:
        """It comes with Demeanor."""
        return None

    def version(self) -> str | None:
        """Demeanor's own."""
        return __version__


def read(name: str, table: Table) -> BuiltinAgent:
    """`max_turns`: model answers per prompt (default 25)."""
    return BuiltinAgent(name=name, max_turns=table.whole("max_turns", least=1) or 25)
