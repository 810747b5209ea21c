"""`[harbor]` of the configuration: how Harbor runs whole tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from demeanor.config import Config, Table
from demeanor.plugins.harbor.format.task import ENGINE

_SECRET = re.compile(r"KEY|SECRET|TOKEN(?!S)|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)
_MIN_LENGTH = 8

Images: TypeAlias = Literal["cached", "pull", "host"]
BuildNetwork: TypeAlias = Literal["host", "none"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskAgentRules:
    """An agent of Harbor or of the user: `[harbor.agents.NAME]`."""

    agent: str
    """Harbor's name for it, or `module:Class`."""

    model: str = "{model}"
    """The model name for Harbor; `{model}` is replaced by the subject's."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Its environment variables. `{url}`, `{origin}` and `{path}` are replaced by the gateway's URL and its parts,
    `{token}` by the API key.
    """

    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Options of its class, like Harbor's `--agent-kwarg`, with the same placeholders."""

    keys: tuple[str, ...] = ()
    """Variables with the API keys that it needs to call its provider directly."""

    output: str = ""
    """The file below `agent/` with its output, for the adapter of the same name (default: none)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborRules:
    """How Harbor runs whole tasks."""

    program: tuple[str, ...] = ()
    """The command that starts Harbor (default: search for it)."""

    env: str | None = None
    """The environment of tasks, like `--env` (default: a container engine, or bubblewrap if none works)."""

    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Options of the environment, like Harbor's `--environment-kwarg`."""

    images: Images = "cached"
    """The base images of tasks in bubblewrap: those in the cache, or else this machine's programs (`cached`); those in
    the cache, or else pulled from their registry (`pull`); or always this machine's programs (`host`).
    """

    build_network: BuildNetwork = "host"
    """The network of a Dockerfile's steps on top of an image: that of this machine, or none."""

    gateway_host: str | None = None
    """The name or address of this machine as seen from a task's environment (default: it can't be reached)."""

    direct: bool = False
    """Whether agents may call their provider directly if they can't reach the gateway, without recorded exchanges."""

    pass_env: tuple[str, ...] = ()
    """Environment variables that are passed to Harbor itself, such as a cloud's API key."""

    agents: Mapping[str, TaskAgentRules] = field(default_factory=dict)
    """Further agents, by their name in subjects."""

    def command(self, root: Path) -> tuple[str, ...]:
        """The command that starts Harbor, with relative paths resolved below `root`; empty if none is configured."""
        return tuple(str(root / part) if part.startswith(("./", "../")) else part for part in self.program)


def harbor_rules(config: Config) -> HarborRules:
    """The settings in a configuration."""
    return read_rules(config.engine_table(ENGINE))


def read_rules(table: Table) -> HarborRules:
    """The table `[harbor]`."""
    rules = HarborRules(
        program=table.words("program"),
        env=table.maybe_text("env"),
        env_kwargs=table.mapping("env_kwargs"),
        images=cast("Images", table.choice("images", get_args(Images), "cached")),
        build_network=cast("BuildNetwork", table.choice("build_network", get_args(BuildNetwork), "host")),
        gateway_host=table.maybe_text("gateway_host"),
        direct=table.flag("direct"),
        pass_env=table.texts("pass_env"),
        agents=table.named("agents", read_task_agent),
    )
    for name in rules.agents:
        if ":" in name or not name.strip():
            table.fail(f"agents.{name}", "a name must not contain a colon", "subjects are written agent:model")
    return rules


def read_task_agent(table: Table) -> TaskAgentRules:
    """A table `[harbor.agents.NAME]`."""
    rules = TaskAgentRules(
        agent=table.text("agent", required=True),
        model=table.text("model", "{model}"),
        env=_variables(table),
        kwargs=table.mapping("kwargs"),
        keys=table.texts("keys"),
        output=table.text("output"),
    )
    table.finish()
    return rules


def _variables(table: Table) -> dict[str, str]:
    """The variables. Harbor redacts the values of variables that are named like secrets in everything it writes."""
    variables = table.strings("env")
    for name, value in variables.items():
        if breaks_results(name, value):
            table.fail(
                f"env.{name}",
                f"is named like a secret, so Harbor would redact {value!r} in its results and make them unreadable",
                "give it a longer value, or set it in the task's environment",
            )
    return variables


def breaks_results(name: str, value: str) -> bool:
    """Whether Harbor would make its own results unreadable by redacting this variable's value."""
    return bool(_SECRET.search(name)) and 0 < len(value) < _MIN_LENGTH and "{" not in value
