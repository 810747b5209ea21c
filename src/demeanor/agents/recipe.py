"""What one coding agent's file says of it: a recipe, of which an `Agent` is made for each table of the configuration.

An adapter for a command-line agent is a module with a `RECIPE` and `read = reader(RECIPE)`. It knows its own agent's
switches, files and output, and nothing else; finding the program, its version and its settings is the same for all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from demeanor.agents.package import Package, agents_folder, find, reads, version_of
from demeanor.config.table import Table
from demeanor.core.agent import Ability, Orders, Task
from demeanor.core.process import ProcessEnd
from demeanor.core.trajectory import Event, Kind

DEFAULT_RETRIES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """How this one agent was set up in the configuration."""

    program: tuple[str, ...]
    """The words that start it."""

    dialect: str
    """The model API it is to speak."""

    retries: int = DEFAULT_RETRIES
    """How often it may ask again by itself where the provider fails; voids are retried by Demeanor anyway."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Its own settings, laid over those that the adapter writes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """What is known of one coding agent."""

    name: str
    """Its name, which is also the adapter's."""

    title: str
    """Its name as people write it."""

    package: Package
    """Where it comes from."""

    dialects: tuple[str, ...]
    """The model APIs it can speak, its usual one first."""

    orders: Callable[[Task, Setup], Orders]
    """How to start it. Arguments, variables and readable folders of the configuration are added to what it gives."""

    read_log: Callable[[tuple[ProcessEnd, ...], Mapping[str, bytes]], tuple[Event, ...]]
    """The events its own output tells; raises ValueError where it can't be read."""

    exit_ok: Callable[[ProcessEnd], bool | None] = lambda end: end.exit_code == 0
    """Whether its exit is a success; None where its exit says nothing."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """What its own tools do, where their names are not in common use."""

    cannot: Mapping[Ability, str] = field(default_factory=dict)
    """What it can't do, with the reason."""

    version_option: str = "--version"
    """What makes it print its version; empty where nothing does."""

    params: tuple[str, ...] = ()
    """Settings that an eval may hand to it (`params`)."""

    tells_requests: bool = False
    """Whether its output tells each time that it asks for permission."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeAgent:
    """A coding agent, started by its recipe."""

    name: str
    """As written in a subject."""

    recipe: Recipe
    """What is known of it."""

    setup: Setup
    """How it was set up."""

    args: tuple[str, ...] = ()
    """Arguments to add."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables to set besides those of the recipe."""

    pass_env: tuple[str, ...] = ()
    """Variables of the host that it may see."""

    reads: tuple[str, ...] = ()
    """Folders that it must be able to read besides its installation."""

    asked_version: str | None = None
    """The version that the configuration asks for."""

    @property
    def dialect(self) -> str:
        """The model API it speaks."""
        return self.setup.dialect

    @property
    def tool_kinds(self) -> Mapping[str, Kind]:
        """What its own tools do."""
        return self.recipe.tool_kinds

    @property
    def cannot(self) -> Mapping[Ability, str]:
        """What it can't do."""
        return self.recipe.cannot

    @property
    def params(self) -> tuple[str, ...]:
        """The settings that an eval may hand to it."""
        return self.recipe.params

    @property
    def tells_requests(self) -> bool:
        """Whether it tells each time that it asks for permission."""
        return self.recipe.tells_requests

    def orders(self, task: Task) -> Orders:
        """As the recipe says, with what the configuration adds."""
        orders = self.recipe.orders(task, self.setup)
        passed = {name: os.environ[name] for name in self.pass_env if name in os.environ}
        seen = (*reads(self.setup.program, agents_folder(os.environ)), *self.reads)
        return replace(
            orders,
            launches=tuple(
                replace(
                    launch,
                    argv=_with(self.args, launch.argv, behind=len(self.setup.program)),
                    env={**passed, **launch.env, **self.env},
                    reads=(*launch.reads, *seen),
                )
                for launch in orders.launches
            ),
        )

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """As the recipe says."""
        return self.recipe.exit_ok(end)

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """As the recipe says."""
        return self.recipe.read_log(ends, leavings)

    def missing(self) -> str | None:
        """The program."""
        if self.setup.program:
            return None
        version = f"@{self.asked_version}" if self.asked_version else ""
        return (
            f"{self.recipe.title} is not installed; `demeanor agents install {self.recipe.name}{version}`, "
            f"or name it: agents.{self.name}.program"
        )

    def version(self) -> str | None:
        """Told by its package, or by itself."""
        if not self.setup.program:
            return None
        return version_of(self.setup.program, self.recipe.package, self.recipe.version_option)


def _with(args: tuple[str, ...], argv: tuple[str, ...], *, behind: int) -> tuple[str, ...]:
    """The words with arguments added to them: at their end, or before a `--`, behind which there are no options."""
    place = argv.index("--", behind) if "--" in argv[behind:] else len(argv)
    return (*argv[:place], *args, *argv[place:])


def reader(recipe: Recipe) -> Callable[[str, Table], RecipeAgent]:
    """What makes an agent of a table in the configuration, or of an empty one."""

    def read(name: str, table: Table) -> RecipeAgent:
        version = table.maybe_text("version")
        dialect = table.choice("dialect", recipe.dialects, recipe.dialects[0])
        retries = table.whole("retries", least=0, most=20)
        return RecipeAgent(
            name=name,
            recipe=recipe,
            setup=Setup(
                program=_program(table, recipe, version),
                dialect=dialect or recipe.dialects[0],
                retries=DEFAULT_RETRIES if retries is None else retries,
                settings=table.mapping("settings"),
            ),
            args=table.texts("args"),
            env=table.strings("env"),
            pass_env=table.texts("pass_env"),
            reads=table.texts("reads"),
            asked_version=version,
        )

    return read


def _program(table: Table, recipe: Recipe, version: str | None) -> tuple[str, ...]:
    """The words of `program`, which is one text or a list of them; else what is installed."""
    named: object = table.anything("program")
    if named is None:
        found = find(recipe.name, recipe.package, agents_folder(os.environ), version)
        return (str(found),) if found else ()
    words = (named,) if isinstance(named, str) else tuple(named) if isinstance(named, list) else ()
    texts = tuple(word for word in words if isinstance(word, str) and word)
    if not texts or len(texts) != len(words):
        table.fail("program", f"expected a program, found {named!r}", 'for example: program = ["node", "cli.js"]')
    root = Path(table.where).resolve().parent
    return tuple(str(root / word) if word.startswith(("./", "../")) else word for word in texts)
