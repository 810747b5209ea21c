"""What both the configuration (`[agents.NAME]`) and an eval (`params`) can set for an agent.

The eval overrides the configuration, and the configuration overrides the adapter. Texts may contain placeholders
(agents/program.py), such as {workspace}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from demeanor.agents.mcp_servers import Servers, read_mcp_servers
from demeanor.agents.program import (
    PLACEHOLDERS,
    check_placeholders,
    fill,
    in_project,
    placeholder_values,
    project_path,
    read_tool_kinds,
)
from demeanor.agents.settings import merged
from demeanor.config import Table, path_problem
from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.scenario import Approval
from demeanor.core.values.trajectory import Kind

KEYS = ("approval_mode", "args", "env", "home_files", "mcp_servers", "settings", "tool_kinds")
"""The keys, in the configuration and in an eval's `params`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overrides:
    """What the configuration or an eval sets for an agent."""

    args: tuple[str, ...] = ()
    """Additional arguments."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables."""

    home_files: Mapping[str, str] = field(default_factory=dict)
    """Additional files in its HOME: path → text."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Its own settings, merged into its settings file."""

    mcp_servers: Servers = field(default_factory=dict)
    """MCP servers: name → the command of a program, or an address."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The kinds of tools."""

    approval_mode: str = ""
    """Its own mode for permissions, such as `plan`; empty for the mode that allows everything."""

    def then(self, other: Overrides) -> Overrides:
        """These and then `other`, which wins; arguments are added."""
        return Overrides(
            args=(*self.args, *other.args),
            env={**self.env, **other.env},
            home_files={**self.home_files, **other.home_files},
            settings=merged(self.settings, other.settings),
            mcp_servers={**self.mcp_servers, **other.mcp_servers},
            tool_kinds={**self.tool_kinds, **other.tool_kinds},
            approval_mode=other.approval_mode or self.approval_mode,
        )

    def apply(self, orders: Orders, task: Task, *, program_words: int) -> Orders:
        """The orders with these arguments, variables and files. `program_words`: how many words are the program."""
        if self is _NOTHING:
            return orders
        values = placeholder_values(task)
        args = tuple(fill(word, values) for word in self.args)
        env = {name: fill(text, values) for name, text in self.env.items()}
        files = {path: fill(text, values).encode() for path, text in self.home_files.items()}
        preparing = len(orders.launches) - len(task.prompts)  # these import a session, so they get no arguments
        launches = (
            replace(
                launch,
                argv=insert_args(launch.argv, args, start=program_words) if index >= preparing else launch.argv,
                env={**launch.env, **env},
            )
            for index, launch in enumerate(orders.launches)
        )
        return replace(orders, launches=tuple(launches), home_files={**orders.home_files, **files})


_NOTHING = Overrides()


def read_overrides(
    table: Table, *, keys: Sequence[str] = KEYS, modes: Sequence[str] = (), no_modes: str = "", in_eval: bool = False
) -> Overrides:
    """Read the keys of a table. `modes` are the agent's approval modes, `no_modes` says why it has none.

    In the configuration, {project} and paths that begin with a dot are relative to its file.
    """
    flags = {key: key in keys for key in KEYS}
    args = table.texts("args") if flags["args"] else ()
    texts = {key: table.strings(key) if flags[key] else {} for key in ("env", "home_files")}
    if not in_eval:
        args = tuple(project_path(table, in_project(table, word)) for word in args)
        texts = {
            key: {name: in_project(table, text) for name, text in entries.items()} for key, entries in texts.items()
        }
    for index, word in enumerate(args):
        check_placeholders(table, f"args[{index}]", word, PLACEHOLDERS)
    for key, entries in texts.items():
        for name, text in entries.items():
            check_placeholders(table, f"{key}.{name}", text, PLACEHOLDERS)
    servers = read_mcp_servers(table, in_eval=in_eval) if flags["mcp_servers"] else {}
    for path in texts["home_files"]:
        if problem := path_problem(path):
            table.fail(f"home_files.{path}", problem, "write a path relative to HOME, such as '.config/agent.json'")
    return Overrides(
        args=args,
        env=texts["env"],
        home_files=texts["home_files"],
        settings=table.mapping("settings") if flags["settings"] else {},
        mcp_servers=servers,
        tool_kinds=read_tool_kinds(table) if flags["tool_kinds"] else {},
        approval_mode=_mode(table, modes, no_modes) if flags["approval_mode"] else "",
    )


def read_params(
    params: Mapping[str, Any],
    *,
    where: Path | str,
    keys: Sequence[str] = KEYS,
    modes: Sequence[str] = (),
    no_modes: str = "",
) -> Overrides:
    """Read the overrides in an eval's `params`; `where` is the file of the eval. Other keys are ignored here."""
    own = {key: value for key, value in params.items() if key in KEYS}
    if not own:
        return _NOTHING
    table = Table(own, where=where, prefix="params.")
    return read_overrides(table, keys=keys, modes=modes, no_modes=no_modes, in_eval=True)


def by_own_kinds(approval: Approval, kinds: Mapping[str, Kind]) -> Approval:
    """The approval with a rule for each of these tools, so that a rule for a kind applies to them too."""
    rules = {tool: approval.rules[kind] for tool, kind in kinds.items() if kind in approval.rules}
    return replace(approval, rules={**rules, **approval.rules}) if rules else approval


def insert_args(argv: tuple[str, ...], args: tuple[str, ...], *, start: int) -> tuple[str, ...]:
    """Add arguments at the end, or before a `--` that comes after `start`: options are not read after it."""
    index = argv.index("--", start) if "--" in argv[start:] else len(argv)
    return (*argv[:index], *args, *argv[index:])


def _mode(table: Table, modes: Sequence[str], no_modes: str) -> str:
    if modes:
        return table.choice("approval_mode", modes) or ""
    if "approval_mode" in table:
        table.fail("approval_mode", f"is not supported: {no_modes or 'it has no such modes'}", "remove the key")
    return ""
