"""The tables of a task.toml, held against those that the real Harbor reads."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from demeanor.config.table import Table
from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.format.task_environment import env_needed, read_environment, read_healthcheck
from demeanor.plugins.harbor.format.task_folder import read_task_folder
from demeanor.plugins.harbor.format.task_tables import (
    check_artifacts,
    read_agent_timeout,
    read_step,
    read_verifier,
)
from tests.helpers.harbor_engine import PROGRAM, needs_harbor
from tests.helpers.harbor_task_files import task


def inside(read: Callable[[Table], object], *path: str) -> Callable[[Table], object]:
    """A reader of a table that holds the one in question."""

    def reader(table: Table) -> object:
        data: object = dict(table._data)
        for key in reversed(path):
            data = [data] if key.endswith("[]") else data
            data = {key.removesuffix("[]"): data}
        return read(Table(data, where="task.toml"))

    return reader


READERS: dict[str, tuple[Callable[[Table], object], dict[str, object]]] = {
    "AgentConfig": (read_agent_timeout, {}),
    "ArtifactConfig": (inside(check_artifacts, "artifacts[]"), {"source": "/a"}),
    "EnvironmentConfig": (read_environment, {}),
    "HealthcheckConfig": (read_healthcheck, {"command": "true"}),
    "MCPServerConfig": (inside(read_environment, "mcp_servers[]"), {"name": "a", "url": "b"}),
    "StepConfig": (read_step, {"name": "a"}),
    "TpuSpec": (inside(read_environment, "tpu"), {"type": "v4", "topology": "2x2"}),
    "VerifierCollectConfig": (inside(read_verifier, "collect[]"), {"command": "true"}),
    "VerifierConfig": (read_verifier, {}),
}
"""The reader of each table of Harbor's, and the least that it must hold."""


@needs_harbor
def test_every_key_that_harbor_knows_is_known_here():
    """A key that is missing here would be refused in a task that is right."""
    done = subprocess.run(
        [PROGRAM, "task", "schema"], env={"HARBOR_TELEMETRY": "off", "HOME": "/nonexistent"}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    schema = json.loads(done.stdout)
    tables = {name: set(table["properties"]) for name, table in schema["$defs"].items() if "properties" in table}
    assert tables.keys() - {"Author", "PackageInfo", "SolutionConfig"} == READERS.keys()
    for name, (read, least) in READERS.items():
        assert [key for key in tables[name] if is_unknown(read, least, key)] == [], name
        assert is_unknown(read, least, "no_such_key"), name


def is_unknown(read: Callable[[Table], object], least: dict[str, object], key: str) -> bool:
    """Whether a key is refused as such; that its value is nothing is another matter."""
    try:
        read(Table({key: None, **least}, where="task.toml"))
    except BadInput as error:
        return error.problem == "unknown key"
    return False


@needs_harbor
@pytest.mark.parametrize("key", ["schema_version", "task", "metadata", "verifier", "agent", "environment", "solution"])
def test_every_table_of_harbor_is_known(tmp_path, key):
    """At the root of the file."""
    folder = task(tmp_path / "greet", f"{key} = 1\n")
    with pytest.raises(BadInput) as caught:
        read_task_folder(folder)
    assert caught.value.problem != "unknown key"


def test_variables_without_a_default_are_needed():
    """The whole value must be one; a part of a text is just that."""
    assert env_needed({"a": "${A}", "b": "${B:-}", "c": "x${C}", "d": "$D", "e": "${E}"}) == ("A", "E")
