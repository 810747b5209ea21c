"""A `Recipe` describes one command-line coding agent; `reader` makes an `Agent` from it and a table of `demeanor.toml`.

An adapter is a module with a `RECIPE` and `read = reader(RECIPE)`. It contains only what is specific to its agent:
options, files and output. Finding the program, its version and its settings is the same for all agents and done here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from demeanor.agents.environments.executables import started_by_path, with_executables
from demeanor.agents.mcp_servers import Servers, filled_servers
from demeanor.agents.overrides import KEYS, Overrides, by_own_kinds, read_overrides, read_params
from demeanor.agents.packages.folders import agents_folders
from demeanor.agents.packages.package import Package, find_program, installed_version, program_paths, why_found
from demeanor.agents.program import in_project, named_files, placeholder_values, project_command, read_paths
from demeanor.config import Table
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

DEFAULT_RETRIES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """The configuration of one agent."""

    program: tuple[str, ...]
    """The program and its leading arguments."""

    dialect: str
    """The model API to use."""

    retries: int = DEFAULT_RETRIES
    """How often the agent itself may retry a failed request. Demeanor retries void trials in any case."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Its own settings, of the configuration and the eval, which override those of the adapter."""

    approval_mode: str = ""
    """One of `Recipe.approval_modes`; empty for the adapter's default, which allows everything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """What is specific to one coding agent."""

    name: str
    """Its name, which is also that of the adapter."""

    title: str
    """Its name as people write it."""

    package: Package
    """The package to install it from."""

    dialects: tuple[str, ...]
    """The model APIs that it supports, the default first."""

    orders: Callable[[Task, Setup], Orders]
    """How to start it. `RecipeAgent` adds the arguments, variables and readable paths of the configuration."""

    read_log: Callable[[tuple[ProcessEnd, ...], Mapping[str, bytes]], tuple[Event, ...]]
    """Reads the events in its output and files; raises ValueError if they can't be read."""

    exit_ok: Callable[[ProcessEnd], bool | None] = lambda end: end.exit_code == 0
    """Whether it succeeded; None if its exit code does not tell."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The kinds of its tools, except for tools with common names."""

    shells: tuple[str, ...] = ()
    """Its tools that fail if their command does. Not needed if its log has exit codes."""

    cannot: Mapping[Ability, str] = field(default_factory=dict)
    """What it does not support, with the reason."""

    version_option: str = "--version"
    """The option that prints its version; empty if it has none."""

    params: tuple[str, ...] = ()
    """The `params` of an eval that it supports, in addition to those of every adapter (agents/overrides.py)."""

    mcp: Callable[[Servers], Overrides] | None = None
    """How it is told of MCP servers (name → command or address); None if it has no MCP client."""

    steer: Callable[[Orders, Task, Mapping[str, Kind]], Orders] | None = None
    """How it is started so that a user can speak while it works, given the kinds of its tools; None if it can't."""

    resumes_calls: bool = False
    """Whether its session format can be given tool calls with their results."""

    approval_modes: tuple[str, ...] = ()
    """Its own modes for permissions."""

    no_modes: str = ""
    """Why it has no such modes."""

    debug: Overrides = field(default_factory=Overrides)
    """What makes it write a verbose log: to `{home}/agent-debug.log`, to `debug_files`, or to standard error."""

    debug_files: tuple[str, ...] = ()
    """Where in HOME it writes its verbose log, if it chooses the place itself."""

    start_seconds: float = 0.0
    """How long it may take to start on a busy machine; default time limits are longer by that. 0 for a few seconds."""

    prints_events: bool = True
    """Whether its standard output is a log of events instead of text for the user."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the configuration and of `params` that it supports (agents/overrides.py)."""
        return KEYS if self.mcp is not None else tuple(key for key in KEYS if key != "mcp_servers")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeAgent:
    """A coding agent with a recipe."""

    name: str
    """As written in a subject."""

    recipe: Recipe
    """What is specific to this coding agent."""

    setup: Setup
    """Its configuration."""

    overrides: Overrides = field(default_factory=Overrides)
    """What the configuration sets."""

    pass_env: tuple[str, ...] = ()
    """Environment variables of the host to pass on."""

    reads: tuple[str, ...] = ()
    """Additional paths that must be readable."""

    required_version: str | None = None
    """The version in the configuration."""

    why: str = ""
    """Why this program is used, and no other installed version."""

    @property
    def dialect(self) -> str:
        """The model API that it uses."""
        return self.setup.dialect

    @property
    def tool_kinds(self) -> Mapping[str, Kind]:
        """The kinds of its tools."""
        return {**self.recipe.tool_kinds, **self.overrides.tool_kinds}

    @property
    def cannot(self) -> Mapping[Ability, str]:
        """What it does not support."""
        return self.recipe.cannot

    @property
    def params(self) -> tuple[str, ...]:
        """The `params` of an eval that it supports."""
        return (*self.recipe.params, *self.recipe.keys)

    @property
    def steers(self) -> bool:
        """Whether a user can speak while it works."""
        return self.recipe.steer is not None

    @property
    def resumes_calls(self) -> bool:
        """Whether an earlier conversation may have tool calls."""
        return self.recipe.resumes_calls

    @property
    def start_seconds(self) -> float:
        """How long it may take to start on a busy machine."""
        return self.recipe.start_seconds

    @property
    def tells_requests(self) -> bool:
        """No agent with a recipe reports each request for permission."""
        return False

    @property
    def prints_events(self) -> bool:
        """Whether its standard output is a log of events."""
        return self.recipe.prints_events

    def read_params(self, params: Mapping[str, Any], where: Path | str) -> Overrides:
        """What an eval overrides; raises BadInput if a value is wrong."""
        recipe = self.recipe
        return read_params(params, where=where, keys=recipe.keys, modes=recipe.approval_modes, no_modes=recipe.no_modes)

    def orders(self, task: Task) -> Orders:
        """How to start it: the recipe, and what the configuration and the eval add."""
        own = replace(self.overrides, settings=self.setup.settings).then(self.read_params(task.params, "the eval"))
        if own.mcp_servers and self.recipe.mcp is not None:
            own = self.recipe.mcp(filled_servers(own.mcp_servers, placeholder_values(task))).then(own)
        if task.debug:
            own = self.recipe.debug.then(own)
        program = started_by_path(self.setup.program)
        setup = replace(self.setup, program=program, settings=own.settings, approval_mode=own.approval_mode)
        task = replace(task, approval=by_own_kinds(task.approval, own.tool_kinds))
        orders = own.apply(self.recipe.orders(task, setup), task, program_words=len(setup.program))
        passed = {name: os.environ[name] for name in self.pass_env if name in os.environ}
        files = named_files((*self.overrides.args, *self.overrides.env.values()))
        readable = (*program_paths(setup.program, agents_folders(os.environ)), *files, *self.reads)
        launches = (
            with_executables(
                replace(launch, env={**passed, **launch.env}, reads=(*launch.reads, *readable)), (*program, "node")
            )
            for launch in orders.launches
        )
        orders = replace(orders, launches=tuple(launches))
        if task.steer and self.recipe.steer is not None:
            orders = self.recipe.steer(orders, task, {**self.tool_kinds, **own.tool_kinds})
        debug_files = (*orders.debug_files, *self.recipe.debug_files)
        installation = self._installation()
        return replace(
            orders,
            debug_files=debug_files,
            program=setup.program,
            installation=str(installation.resolve()) if installation else "",
        )

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """Whether it succeeded; None if its exit code does not tell."""
        return self.recipe.exit_ok(end)

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """The events in its output and files."""
        return self.recipe.read_log(ends, leavings)

    def missing(self) -> str | None:
        """Why it can't be started: it is not installed, or a program that its tools need is missing."""
        version = self.required_version
        command = f"run `demeanor agents install {self.recipe.name}{f'@{version}' if version else ''}`"
        if not self.setup.program:
            missing = f"{self.recipe.title} {version}" if version else self.recipe.title
            return f"{missing} is not installed; {command}, or set agents.{self.name}.program"
        package, folder = self.recipe.package, self._installation()
        broken = package.broken_helper(folder) if folder and folder.name == package.version else None
        return f"the installation of {self.recipe.title} is incomplete: {broken}; {command} again" if broken else None

    def _installation(self) -> Path | None:
        """The folder that `agents install` created for it; None if it was installed in another way."""
        program = self.setup.program
        return self.recipe.package.installation_of(Path(program[-1])) if program else None

    def version(self) -> str | None:
        """Its version, from its package or from the program."""
        if not self.setup.program:
            return None
        return installed_version(self.setup.program, self.recipe.package, self.recipe.version_option)


def reader(recipe: Recipe) -> Callable[[str, Table], RecipeAgent]:
    """A function that makes an agent from its table in the configuration."""

    def read(name: str, table: Table) -> RecipeAgent:
        version = table.maybe_text("version")
        dialect = table.choice("dialect", recipe.dialects, recipe.dialects[0])
        retries = table.whole("retries", least=0, most=20)
        overrides = read_overrides(table, keys=recipe.keys, modes=recipe.approval_modes, no_modes=recipe.no_modes)
        program, why = _program(name, table, recipe, version)
        return RecipeAgent(
            name=name,
            recipe=recipe,
            setup=Setup(
                program=program,
                dialect=dialect or recipe.dialects[0],
                retries=DEFAULT_RETRIES if retries is None else retries,
                settings=overrides.settings,
            ),
            overrides=overrides,
            pass_env=table.texts("pass_env"),
            reads=read_paths(table),
            required_version=version,
            why=why,
        )

    return read


def _program(name: str, table: Table, recipe: Recipe, version: str | None) -> tuple[tuple[str, ...], str]:
    """`program` of the configuration, a string or a list of strings; else the installed program. Also why."""
    words = table.words("program")
    if words:
        command = project_command(table, (in_project(table, word) for word in words))
        return command, f"agents.{name}.program in the configuration"
    folders = agents_folders(os.environ)
    program = find_program(recipe.name, recipe.package, folders, version)
    if program is None:
        return (), ""
    if version is not None:
        return (str(program),), f"agents.{name}.version in the configuration"
    return (str(program),), why_found(recipe.name, recipe.package, folders)
