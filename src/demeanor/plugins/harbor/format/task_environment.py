"""`[environment]` of a task.toml, in every notation that Harbor has supported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from demeanor.config import Table
from demeanor.plugins.harbor.format.task import TaskNetwork, TaskNetworkMode

NETWORK_MODES = ("public", "no-network", "allowlist")
_ENV = re.compile(r"\$\{([^}:]+)(:-.*)?\}")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([GMK])\s*", re.IGNORECASE)
_PER_MB = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
_TOPOLOGY = re.compile(r"[1-9]\d*(x[1-9]\d*)+")


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentTable:
    """`[environment]` of a task or verifier."""

    image: str | None
    """A prebuilt image."""

    os: Literal["linux", "windows"] | None
    """The operating system, if specified."""

    network: TaskNetwork | None
    """The network access, if specified."""

    build_timeout: float
    """The time limit of the build in seconds."""

    gpus: int | None
    """The number of GPUs."""

    needs_env: tuple[str, ...]
    """The host's environment variables that it needs."""


def read_environment(table: Table | None) -> EnvironmentTable:
    """`[environment]`, in the current and in former notations."""
    table = Table({}, where="") if table is None else table
    os = table.maybe_text("os")
    if os is not None and os.lower() not in ("linux", "windows"):
        table.fail("os", f"unknown value {os!r}", "expected one of: linux, windows")
    environment = EnvironmentTable(
        image=table.maybe_text("docker_image"),
        os=cast("Literal['linux', 'windows'] | None", os.lower() if os else None),
        network=read_network(table, legacy="allow_internet"),
        build_timeout=read_seconds(table, "build_timeout_sec") or 600.0,
        gpus=table.whole("gpus", least=0),
        needs_env=(*read_env(table), *_servers(table)),
    )
    _check_unused_settings(table)
    table.finish()
    return environment


def _check_unused_settings(table: Table) -> None:
    """Settings that only Harbor uses."""
    table.number("cpus", least=0.001)
    _check_megabytes(table, "memory")
    _check_megabytes(table, "storage")
    table.maybe_text("workdir")
    table.texts("gpu_types")
    table.maybe_text("skills_dir")
    read_healthcheck(table.table("healthcheck"))
    _tpu(table.table("tpu"))


def read_healthcheck(table: Table | None) -> None:
    """`[environment.healthcheck]`, also of a step, is only checked; Harbor uses it."""
    if table is None:
        return
    table.text("command", required=True)
    for key in ("interval_sec", "timeout_sec", "start_period_sec", "start_interval_sec"):
        table.number(key, least=0)
    table.whole("retries", least=0)
    table.finish()


def read_network(table: Table, *, legacy: str | None = None) -> TaskNetwork | None:
    mode = table.choice("network_mode", NETWORK_MODES)
    for index, host in enumerate(table.texts("allowed_hosts")):
        if not host.strip() or "://" in host or re.search(r"\s", host.strip()):
            table.fail(
                f"allowed_hosts[{index}]", f"{host!r} is not a host", "write a name, *.name, an address or a range"
            )
    if mode != "allowlist" and "allowed_hosts" in table:
        table.fail("allowed_hosts", "is only valid with an allowlist", 'set network_mode = "allowlist"')
    before = table.take(legacy, bool) if legacy else None
    if mode is None and before is not None:
        mode = "public" if before else "no-network"
    return None if mode is None else TaskNetwork(mode=cast("TaskNetworkMode", mode))


def read_seconds(table: Table, key: str) -> float | None:
    """A duration in seconds; None if it is not given."""
    return table.number(key, least=0.001)


def read_env(table: Table) -> tuple[str, ...]:
    """The host's environment variables that `env` needs."""
    return env_needed(table.strings("env"))


def env_needed(values: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that are used as `${NAME}` without a default."""
    matches = [_ENV.fullmatch(value) for value in values.values()]
    return tuple(match[1] for match in matches if match and match[2] is None)


def _check_megabytes(table: Table, key: str) -> None:
    """`memory_mb = 2048`, or in the former notation `memory = "2G"`."""
    megabytes = table.whole(f"{key}_mb", least=1)
    text = table.maybe_text(key)
    if text is None:
        return
    size = _SIZE.fullmatch(text)
    if size is None:
        table.fail(key, f"{text!r} is not a size", f'write "2G" or "512M", or better {key}_mb = 2048')
    before = int(float(size[1]) * _PER_MB[size[2].upper()])
    if megabytes is not None and megabytes != before:
        table.fail(key, f"{text!r} is {before} MB, but {key}_mb is {megabytes}", f"keep {key}_mb only")


def _servers(table: Table) -> tuple[str, ...]:
    """`[[environment.mcp_servers]]`: the host's environment variables that their headers need."""
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
        table.fail("topology", f"{topology!r} is not a topology", 'write "2x4" or "2x2x1"')
    table.finish()
