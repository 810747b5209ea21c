"""What a project says of Harbor, once: `[harbor]` of the configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor.config.table import Table

_SECRET = re.compile(r"KEY|SECRET|TOKEN(?!S)|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)
_LONG_ENOUGH = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskAgentRules:
    """How Harbor is asked for an agent, of its own or of the user's: `[harbor.agents.NAME]`."""

    agent: str
    """What Harbor calls it, or `module:Class`."""

    model: str = "{model}"
    """How Harbor is told the model; `{model}` stands for the subject's."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables it is given: `{url}`, `{origin}` and `{path}` tell where the gateway is, `{token}` the key."""

    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Options of its class, as with Harbor's `--agent-kwarg`; texts may hold the same words."""

    keys: tuple[str, ...] = ()
    """Variables with the keys that it needs where it goes straight to its provider."""

    output: str = ""
    """The file below `agent/` that holds what it prints, as our own adapter reads it; empty where none does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborRules:
    """How whole tasks are run."""

    program: tuple[str, ...] = ()
    """The words that start Harbor; none where it is looked for."""

    env: str | None = None
    """Where tasks run, as with `--env`; None means a container engine, or bubblewrap where none answers."""

    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Options of the environment, as with Harbor's `--environment-kwarg`."""

    gateway_host: str | None = None
    """By which name or address this machine is reached from a task's environment; None where it can't be."""

    direct: bool = False
    """Whether agents may go straight to their provider where the gateway can't be reached: nobody sees the wire."""

    pass_env: tuple[str, ...] = ()
    """Variables of this machine that Harbor itself may see, such as the key of a cloud."""

    agents: Mapping[str, TaskAgentRules] = field(default_factory=dict)
    """Further agents, by the name that subjects call them."""

    def words(self, root: Path) -> tuple[str, ...]:
        """The command that starts Harbor, with relative paths resolved below `root`; empty if none is configured."""
        return tuple(str(root / word) if word.startswith(("./", "../")) else word for word in self.program)


def read_harbor(table: Table) -> HarborRules:
    """The table `[harbor]`."""
    own = table.table("harbor")
    if own is None:
        return HarborRules()
    found = HarborRules(
        program=_words(own),
        env=own.maybe_text("env"),
        env_kwargs=own.mapping("env_kwargs"),
        gateway_host=own.maybe_text("gateway_host"),
        direct=own.flag("direct"),
        pass_env=own.texts("pass_env"),
        agents=_agents(own),
    )
    own.finish()
    return found


def _words(table: Table) -> tuple[str, ...]:
    """A program: one text, or a list of them."""
    named = table.anything("program")
    return (named,) if isinstance(named, str) and named else table.texts("program")


def _agents(own: Table) -> dict[str, TaskAgentRules]:
    named = own.table("agents")
    if named is None:
        return {}
    found = {}
    for name in own.mapping("agents"):
        if ":" in name or not name.strip():
            named.fail(name, "a name holds no colon", "subjects are written agent:model")
        if table := named.table(name):
            found[name] = TaskAgentRules(
                agent=table.text("agent", required=True),
                model=table.text("model", "{model}"),
                env=_variables(table),
                kwargs=table.mapping("kwargs"),
                keys=table.texts("keys"),
                output=table.text("output"),
            )
            table.finish()
    named.finish()
    return found


def _variables(table: Table) -> dict[str, str]:
    """Variables; Harbor strikes the values of those that are named like secrets out of all that it writes."""
    found = table.strings("env")
    for name, value in found.items():
        if spoils(name, value):
            table.fail(
                f"env.{name}",
                f"is named like a secret, so Harbor strikes {value!r} out of its results, and nobody can read them",
                "give it a longer value, or set it in the task's environment",
            )
    return found


def spoils(name: str, value: str) -> bool:
    """Whether Harbor would spoil its own results by striking out this variable's value."""
    return bool(_SECRET.search(name)) and 0 < len(value) < _LONG_ENOUGH and "{" not in value
