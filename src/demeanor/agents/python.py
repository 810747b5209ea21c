"""A Python function as an agent, for tests and first steps. It runs in its own process, like any other agent."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demeanor.agents.environments.executables import PACKAGE_ROOT, python_paths, with_executables
from demeanor.agents.environments.python_environment import eval_folders, is_wide
from demeanor.agents.jsonl import read_events
from demeanor.agents.program import read_paths
from demeanor.config import Table
from demeanor.core.text.codec import encode
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

_HOST = str(Path(__file__).with_name("python_host.py"))


@dataclass(frozen=True, kw_only=True, slots=True)
class PythonAgent:
    """A function `def agent(session)`; the session is described in agents/python_host.py."""

    name: str
    """As written in a subject."""

    function: str
    """`path/to/file.py:name` or `package.module:name`."""

    dialect: str | None = None
    """The model API that it uses; None if it needs no model."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The kinds of its tools."""

    cannot: Mapping[Ability, str] = field(default_factory=dict)
    """What it does not support, with the reason."""

    params: tuple[str, ...] | None = None
    """Any `params` of an eval are passed to the function."""

    reads: tuple[str, ...] = ()
    """Additional paths that must be readable: its own folder, and those of the configuration."""

    project: str = ""
    """The folder of the configuration file."""

    tells_requests: bool = True
    """It reports each request for permission."""

    prints_events: bool = True
    """It prints one event per line."""

    resumes_calls: bool = True
    """An earlier conversation is passed on as it is."""

    asks_user: bool = True
    """It asks the gateway for the user's next message, by `session.reply`."""

    def orders(self, task: Task) -> Orders:
        """One launch for all prompts."""
        fields: dict[str, object] = {
            "prompts": task.prompts,
            "messages": encode(task.messages),
            "approval": encode(task.approval),
            "params": encode(task.params),
            "workspace": str(task.workspace),
            "model": task.model,
            "base_url": task.base_url,
            "token": task.token,
            "seed": task.seed,
            "user": task.user,
        }
        argv = (sys.executable, "-P", _HOST, self.function, str(task.home / "task.json"))
        search_path = tuple(dict.fromkeys((*filter(self._may_search, sys.path), PACKAGE_ROOT)))
        env = {"PYTHONPATH": os.pathsep.join(search_path), "PYTHONDONTWRITEBYTECODE": "1"}
        reads = (*python_paths(), _HOST, self.function.rpartition(":")[0], *search_path, *self.reads)
        launch = Launch(argv=argv, env=env, reads=tuple(path for path in reads if Path(path).is_absolute()))
        launch = with_executables(launch, (sys.executable,))
        return Orders(launches=(launch,), home_files={"task.json": json.dumps(fields).encode()})

    def _may_search(self, folder: str) -> bool:
        """Whether the agent imports from a folder of Python's search path. `python -m demeanor` adds the project's own,
        with its evals; only a function that is named by its module needs it.
        """
        by_file = self.function.rpartition(":")[0].endswith(".py")
        own = by_file and Path(self.project).is_relative_to(Path(folder).resolve())
        return bool(folder) and not own and not is_wide(Path(folder))

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """It failed if it raised an exception or returned a number other than 0."""
        return end.exit_code == 0

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """The events that it reported to its session."""
        return read_events(ends)

    def missing(self) -> str | None:
        """Why it can't be started: its file is missing."""
        file = self.function.rpartition(":")[0]
        if file.endswith(".py") and not Path(file).is_file():
            return f"{file} does not exist; correct agents.{self.name}.function"
        return None

    def version(self) -> str | None:
        """None: a function has no version."""
        return None


def read(name: str, table: Table) -> PythonAgent:
    """The agent of an `[agents.NAME]` table with `adapter = "python"`."""
    function, root = table.text("function", required=True), Path(table.where).resolve().parent
    file, colon, attribute = function.rpartition(":")
    if not colon or not file or not attribute.isidentifier():
        table.fail("function", f"expected 'file.py:name' or 'module:name', found {function!r}")
    if file.endswith(".py"):
        file = str(root / file)
    return PythonAgent(
        name=name,
        function=f"{file}:{attribute}",
        dialect=table.maybe_text("dialect"),
        reads=(*_own_folder(file, root), *read_paths(table)),
        project=str(root),
    )


def _own_folder(file: str, root: Path) -> tuple[str, ...]:
    """The folder of an agent's file, with its prompts and helpers; empty if it may contain more than the agent.

    An agent must not read the evals: neither the folder of the configuration nor one with evals is the agent's own.
    """
    folder = Path(file).resolve().parent
    if not file.endswith(".py") or root not in folder.parents:
        return ()
    return (str(folder),) if eval_folders(folder) == () else ()
