"""Strict reading of the tables of a task.toml, in every notation since version 1.0 of the format.

Harbor silently ignores unknown keys such as `[verifer]` or `timeout_secs`. Here, an unknown key is an error that names
the nearest known key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, cast

from demeanor.config import Table
from demeanor.plugins.harbor.format.task import TaskNetwork, VerifierMode
from demeanor.plugins.harbor.format.task_environment import (
    EnvironmentTable,
    read_env,
    read_environment,
    read_healthcheck,
    read_network,
    read_seconds,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifierTable:
    """`[verifier]`, of a task or of a step."""

    timeout: float | None = None
    """The verifier's time limit in seconds."""

    network: TaskNetwork | None = None
    """The verifier's network access, if it differs from its environment's."""

    mode: VerifierMode | None = None
    """Where it runs, explicit or implied; None if neither."""

    environment: EnvironmentTable | None = None
    """The environment of a separate verifier, if it has its own."""

    needs_env: tuple[str, ...] = ()
    """The host's environment variables that it needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTable:
    """One of `[[steps]]`."""

    name: str
    """Its folder below `steps/`."""

    agent_timeout: float | None = None
    """The agent's time limit in seconds."""

    verifier: VerifierTable = field(default_factory=VerifierTable)
    """Its `[verifier]` table."""

    min_reward: Mapping[str, float] = field(default_factory=dict)
    """The rewards that are required to start the next step, by key."""


def read_agent_timeout(table: Table | None) -> float | None:
    """The time limit in `[agent]`; the rest is only checked."""
    if table is None:
        return None
    timeout = read_seconds(table, "timeout_sec")
    read_network(table)
    _user(table)
    table.finish()
    return timeout


def read_verifier(table: Table | None) -> VerifierTable:
    """`[verifier]`; empty if there is no such table."""
    if table is None:
        return VerifierTable()
    inner = table.table("environment")
    environment = None if inner is None else read_environment(inner)
    mode = table.choice("environment_mode", ("shared", "separate"))
    if mode == "shared" and environment is not None:
        table.fail("environment_mode", 'is "shared", but there is a [verifier.environment]', 'write "separate"')
    verifier = VerifierTable(
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
    return verifier


def read_step(table: Table) -> StepTable:
    """One of `[[steps]]`."""
    name = table.text("name", required=True)
    problem = step_problem(name)
    if problem:
        table.fail("name", f"{name!r} can't be a step's name", problem)
    step = StepTable(
        name=name,
        agent_timeout=read_agent_timeout(table.table("agent")),
        verifier=read_verifier(table.table("verifier")),
        min_reward=_min_reward(table),
    )
    read_healthcheck(table.table("healthcheck"))
    check_artifacts(table)
    table.finish()
    return step


def step_problem(name: str) -> str | None:
    """Why `name` can't be a folder name on every operating system; None if it can."""
    if not name.strip() or name in {".", ".."} or name.endswith((".", " ")) or len(name.encode()) > 255:
        return "a step's name is also its folder's: it must not be empty or end with a dot or a blank"
    if re.search(r'[<>:"/\\|?*\x00-\x1f\x7f]', name):
        return "a step's name is also its folder's: it must not contain < > : \" / \\ | ? * or control characters"
    return None


def check_artifacts(table: Table) -> None:
    """`artifacts`, which Harbor copies to a separate verifier: paths, or tables with `source`."""
    for index, artifact in enumerate(table.take("artifacts", list, []) or []):
        if isinstance(artifact, str):
            source = artifact
        else:
            inner = Table(artifact, where=table.where, prefix=f"{table.prefix}artifacts[{index}].")
            source = inner.text("source", required=True)
            destination = PurePosixPath(inner.text("destination") or "-")
            if destination.is_absolute() or ".." in destination.parts or destination.name == "manifest.json":
                inner.fail("destination", f"{str(destination)!r} is not a valid destination", "write a relative path")
            inner.texts("exclude")
            inner.text("service")
            inner.finish()
        if not source or ".." in PurePosixPath(source).parts:
            table.fail(f"artifacts[{index}]", f"{source!r} is not a path in the environment", "write it without «..»")


def _user(table: Table) -> None:
    user = table.anything("user")
    if user is not None and (isinstance(user, bool) or not isinstance(user, str | int)):
        table.fail("user", "expected a user's name or number")


def _min_reward(table: Table) -> dict[str, float]:
    """`min_reward`: a number for the key «reward», or a table of keys."""
    reward: Any = table.anything("min_reward")
    if reward is None:
        return {}
    rewards = reward if isinstance(reward, dict) else {"reward": reward}
    for key, value in rewards.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            table.fail("min_reward", f"expected a number for {key!r}, found {value!r}")
    return {key: float(value) for key, value in rewards.items()}
