"""The tables of a task.toml, read strictly, in every spelling that Harbor has known since version 1.0 of its format.

Harbor itself ignores a key that it does not know, so that `[verifer]` or `timeout_secs` changes nothing and nobody
hears of it. Here that is an error which names the key that was probably meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, cast

from demeanor.config.table import Table
from demeanor.core.harbor_task import TaskNetwork, VerifierMode
from demeanor.define.harbor.task_environment import (
    EnvironmentTable,
    read_env,
    read_environment,
    read_healthcheck,
    read_network,
    read_seconds,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseTable:
    """`[agent]`, of a task or of a step."""

    timeout: float | None = None
    """Seconds that the agent may take."""

    network: TaskNetwork | None = None
    """What it may reach, if not what the environment says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifierTable:
    """`[verifier]`, of a task or of a step."""

    timeout: float | None = None
    """Seconds that the verifier may take."""

    network: TaskNetwork | None = None
    """What it may reach, if not what its environment says."""

    mode: VerifierMode | None = None
    """Where it runs, said or implied; None where nothing is."""

    environment: EnvironmentTable | None = None
    """The machine of a separate verifier, if it is another."""

    needs_env: tuple[str, ...] = ()
    """The variables of the host that it needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTable:
    """One of `[[steps]]`."""

    name: str
    """Its folder below `steps/`."""

    agent: PhaseTable = field(default_factory=PhaseTable)
    """What it says of the agent."""

    verifier: VerifierTable = field(default_factory=VerifierTable)
    """What it says of its verifier."""

    min_reward: Mapping[str, float] = field(default_factory=dict)
    """What must be reached for the next step, by key."""


def read_agent(table: Table | None) -> PhaseTable:
    """`[agent]`; nothing is said where there is no such table."""
    if table is None:
        return PhaseTable()
    found = PhaseTable(timeout=read_seconds(table, "timeout_sec"), network=read_network(table))
    _user(table)
    table.finish()
    return found


def read_verifier(table: Table | None) -> VerifierTable:
    """`[verifier]`; nothing is said where there is no such table."""
    if table is None:
        return VerifierTable()
    inner = table.table("environment")
    environment = None if inner is None else read_environment(inner)
    mode = table.choice("environment_mode", ("shared", "separate"))
    if mode == "shared" and environment is not None:
        table.fail("environment_mode", "is shared, and yet there is [verifier.environment]", 'say "separate"')
    found = VerifierTable(
        timeout=read_seconds(table, "timeout_sec"),
        network=read_network(table),
        mode=cast("VerifierMode | None", mode) or ("separate" if environment is not None else None),
        environment=environment,
        needs_env=(*read_env(table), *(environment.needs_env if environment else ())),
    )
    _user(table)
    for hook in table.tables("collect"):
        hook.text("command", required=True)
        hook.text("service")
        read_seconds(hook, "timeout_sec")
        _user(hook)
        hook.finish()
    table.finish()
    return found


def read_step(table: Table) -> StepTable:
    """One of `[[steps]]`."""
    name = table.text("name", required=True)
    problem = step_problem(name)
    if problem:
        table.fail("name", f"{name!r} can't be a step's name", problem)
    found = StepTable(
        name=name,
        agent=read_agent(table.table("agent")),
        verifier=read_verifier(table.table("verifier")),
        min_reward=_least(table),
    )
    read_healthcheck(table.table("healthcheck"))
    read_artifacts(table)
    table.finish()
    return found


def step_problem(name: str) -> str | None:
    """Why `name` can't be the folder of a step on every machine, or None if it can."""
    if not name.strip() or name in {".", ".."} or name.endswith((".", " ")) or len(name.encode()) > 255:
        return "a step's name is that of its folder: not empty, and without a dot or a blank at its end"
    if re.search(r'[<>:"/\\|?*\x00-\x1f\x7f]', name):
        return "a step's name is that of its folder: without < > : \" / \\ | ? * and control characters"
    return None


def read_artifacts(table: Table) -> tuple[str, ...]:
    """What is handed to a separate verifier: paths, or tables with `source`."""
    found = []
    for place, given in enumerate(table.take("artifacts", list, []) or []):
        if isinstance(given, str):
            source = given
        else:
            inner = Table(given, where=table.where, prefix=f"{table.prefix}artifacts[{place}].")
            source = inner.text("source", required=True)
            destination = PurePosixPath(inner.text("destination") or "-")
            if destination.is_absolute() or ".." in destination.parts or destination.name == "manifest.json":
                inner.fail("destination", f"{str(destination)!r} is no place for an artifact", "write a relative path")
            inner.texts("exclude")
            inner.text("service")
            inner.finish()
        if not source or ".." in PurePosixPath(source).parts:
            table.fail(f"artifacts[{place}]", f"{source!r} is no path in the environment", "write it without «..»")
        found.append(source)
    return tuple(found)


def _user(table: Table) -> None:
    given = table.anything("user")
    if given is not None and (isinstance(given, bool) or not isinstance(given, str | int)):
        table.fail("user", "expected a user's name or number")


def _least(table: Table) -> dict[str, float]:
    """`min_reward = 0.5` is about the key «reward»; a table names the keys itself."""
    given: Any = table.anything("min_reward")
    if given is None:
        return {}
    found = given if isinstance(given, dict) else {"reward": given}
    for key, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            table.fail("min_reward", f"expected a number for {key!r}, found {value!r}")
    return {key: float(value) for key, value in found.items()}
