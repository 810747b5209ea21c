"""The tables of a task.toml, read strictly, in every spelling that Harbor has known since version 1.0 of its format.

Harbor itself ignores a key that it does not know, so that `[verifer]` or `timeout_secs` changes nothing and nobody
hears of it. Here that is an error which names the key that was probably meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, cast

from holdfast.core.harbor_task import TaskNetwork, TaskNetworkMode, VerifierMode
from holdfast.core.table import Table

NETWORK_MODES = ("public", "no-network", "allowlist")
_ENV = re.compile(r"\$\{([^}:]+)(:-.*)?\}")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([GMK])\s*", re.IGNORECASE)
_PER_MB = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
_TOPOLOGY = re.compile(r"[1-9]\d*(x[1-9]\d*)+")


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentTable:
    """`[environment]`, also the one of a verifier."""

    image: str | None
    os: Literal["linux", "windows"] | None
    network: TaskNetwork | None
    build_timeout: float
    cpus: float | None
    memory_mb: int | None
    storage_mb: int | None
    gpus: int | None
    workdir: str | None
    needs_env: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseTable:
    """`[agent]`, of a task or of a step."""

    timeout: float | None = None
    network: TaskNetwork | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifierTable:
    """`[verifier]`, of a task or of a step."""

    timeout: float | None = None
    network: TaskNetwork | None = None
    mode: VerifierMode | None = None
    environment: EnvironmentTable | None = None
    needs_env: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTable:
    """One of `[[steps]]`."""

    name: str
    agent: PhaseTable = field(default_factory=PhaseTable)
    verifier: VerifierTable = field(default_factory=VerifierTable)
    min_reward: Mapping[str, float] = field(default_factory=dict)


def read_agent(table: Table | None) -> PhaseTable:
    """`[agent]`; nothing is said where there is no such table."""
    if table is None:
        return PhaseTable()
    found = PhaseTable(timeout=_seconds(table, "timeout_sec"), network=_network(table))
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
        timeout=_seconds(table, "timeout_sec"),
        network=_network(table),
        mode=cast("VerifierMode | None", mode) or ("separate" if environment is not None else None),
        environment=environment,
        needs_env=(*_env(table), *(environment.needs_env if environment else ())),
    )
    _user(table)
    for hook in table.tables("collect"):
        hook.text("command", required=True)
        hook.text("service")
        _seconds(hook, "timeout_sec")
        _user(hook)
        hook.finish()
    table.finish()
    return found


def read_environment(table: Table | None) -> EnvironmentTable:
    """`[environment]`, with today's spellings and those of before."""
    table = Table({}, where="") if table is None else table
    os = table.maybe_text("os")
    if os is not None and os.lower() not in ("linux", "windows"):
        table.fail("os", f"unknown value {os!r}", "expected one of: linux, windows")
    found = EnvironmentTable(
        image=table.maybe_text("docker_image"),
        os=cast("Literal['linux', 'windows'] | None", os.lower() if os else None),
        network=_network(table, legacy="allow_internet"),
        build_timeout=_seconds(table, "build_timeout_sec") or 600.0,
        cpus=table.number("cpus", least=0.001),
        memory_mb=_megabytes(table, "memory"),
        storage_mb=_megabytes(table, "storage"),
        gpus=table.whole("gpus", least=0),
        workdir=table.maybe_text("workdir"),
        needs_env=(*_env(table), *_servers(table)),
    )
    table.texts("gpu_types")
    table.maybe_text("skills_dir")
    read_healthcheck(table.table("healthcheck"))
    _tpu(table.table("tpu"))
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


def read_healthcheck(table: Table | None) -> None:
    """`[environment.healthcheck]`, also a step's: Harbor alone needs it, so it is only checked."""
    if table is None:
        return
    table.text("command", required=True)
    for key in ("interval_sec", "timeout_sec", "start_period_sec", "start_interval_sec"):
        table.number(key, least=0)
    table.whole("retries", least=0)
    table.finish()


def _network(table: Table, *, legacy: str | None = None) -> TaskNetwork | None:
    mode = table.choice("network_mode", NETWORK_MODES)
    hosts = table.texts("allowed_hosts")
    for place, host in enumerate(hosts):
        if not host.strip() or "://" in host or re.search(r"\s", host.strip()):
            table.fail(f"allowed_hosts[{place}]", f"{host!r} is no host", "write a name, *.name, an address or a range")
    if mode != "allowlist" and "allowed_hosts" in table:
        table.fail("allowed_hosts", "is only valid with an allowlist", 'say network_mode = "allowlist"')
    before = table.take(legacy, bool) if legacy else None
    if mode is None and before is not None:
        mode = "public" if before else "no-network"
    return None if mode is None else TaskNetwork(mode=cast("TaskNetworkMode", mode), hosts=hosts)


def _seconds(table: Table, key: str) -> float | None:
    return table.number(key, least=0.001)


def _user(table: Table) -> None:
    given = table.anything("user")
    if given is not None and (isinstance(given, bool) or not isinstance(given, str | int)):
        table.fail("user", "expected a user's name or number")


def _env(table: Table) -> tuple[str, ...]:
    """The variables of the host without which `env` can't be filled in."""
    return env_needed(table.strings("env"))


def env_needed(values: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that `${NAME}` stands for without a default."""
    found = [_ENV.fullmatch(value) for value in values.values()]
    return tuple(match[1] for match in found if match and match[2] is None)


def _megabytes(table: Table, key: str) -> int | None:
    """`memory_mb = 2048`, or as it was written before: `memory = "2G"`."""
    megabytes = table.whole(f"{key}_mb", least=1)
    given = table.maybe_text(key)
    if given is None:
        return megabytes
    size = _SIZE.fullmatch(given)
    if size is None:
        table.fail(key, f"{given!r} is no size", f'write "2G" or "512M", or better {key}_mb = 2048')
    before = int(float(size[1]) * _PER_MB[size[2].upper()])
    if megabytes is not None and megabytes != before:
        table.fail(key, f"{given!r} is {before} MB, and {key}_mb says {megabytes}", f"keep {key}_mb only")
    return before


def _servers(table: Table) -> tuple[str, ...]:
    """`[[environment.mcp_servers]]`: what their headers need of the host's environment."""
    needed: tuple[str, ...] = ()
    for server in table.tables("mcp_servers"):
        server.text("name", required=True)
        transport = server.choice("transport", ("stdio", "sse", "streamable-http", "http"), "sse")
        url, command = server.maybe_text("url"), server.maybe_text("command")
        if transport == "stdio" and not command:
            server.fail("command", "is required with stdio")
        if transport != "stdio" and not url:
            server.fail("url", f"is required with {transport}")
        server.texts("args")
        needed += env_needed(server.strings("headers"))
        server.finish()
    return needed


def _tpu(table: Table | None) -> None:
    if table is None:
        return
    table.text("type", required=True)
    topology = table.text("topology", required=True)
    if not _TOPOLOGY.fullmatch(topology.strip()):
        table.fail("topology", f"{topology!r} is no topology", 'write "2x4" or "2x2x1"')
    table.finish()


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
