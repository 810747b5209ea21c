"""The JSON schema of demeanor.toml agrees with the reader and the docs, and the file in docs/ is up to date."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tools.schemas.configuration import config_schema

from demeanor.agents.registry import BUILT_IN
from demeanor.commands.init.starter_files import CI, StarterChoice, starter_files
from demeanor.config.config import read_config
from demeanor.config.table import Table
from demeanor.core.values.errors import BadInput, UsageError
from demeanor.gateway.models.registry import read_model, read_provider
from demeanor.runner.catalog import Catalog

HOME = Path(__file__).parents[1]
FILE = HOME / "docs" / "demeanor.schema.json"
SCHEMA = json.loads(FILE.read_text())
"""Equal to `config_schema()`, as the first test shows, but quicker: every pytest process imports this module."""
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
VALUES = (True, 0, -1, 1, 7, 2.5, 10**9, "", "x", "512 MiB", "none", [], ["a"], [1], {}, {"zzzqqq": 1}, {"usd": 1})
OTHER_TABLES = (
    "[[checks]]",
    "[[judge]]",
    "[project",
    "[agent]",
    "[environment]",
    "[[mcp",
    "[mcp",
    "[user]",
    "policy =",
)
"""What blocks of TOML on the pages contain that are not for demeanor.toml."""


def toml_blocks() -> Iterator[Any]:
    for page in sorted((HOME / "docs").glob("*.md")):
        for index, block in enumerate(re.findall(r"```toml\n(.*?)```", page.read_text(), re.S)):
            if not any(re.search(rf"^{re.escape(start)}", block, re.M) for start in OTHER_TABLES):
                yield pytest.param(block, id=f"{page.name}-{index}")


def keys(schema: dict, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict]]:
    """Every key of a table and of the tables in it, with its schema."""
    for key, found in schema.get("properties", {}).items():
        resolved = SCHEMA["$defs"][found["$ref"].rpartition("/")[2]] if "$ref" in found else found
        yield (*path, key), resolved
        yield from keys(resolved, (*path, key))
        for form in (resolved.get("items"), *resolved.get("anyOf", ())):
            if isinstance(form, dict):
                yield from keys(form, (*path, key))


def accepted(data: dict) -> bool:
    return VALIDATOR.is_valid(data)


def test_schema_in_docs_is_fresh():
    """`make docs` writes the file."""
    assert config_schema() == SCHEMA


def test_schema_is_valid():
    """It is valid JSON Schema, and every reference leads somewhere."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    names = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(SCHEMA)))
    assert names - set(SCHEMA["$defs"]) == set()


@pytest.mark.parametrize("block", list(toml_blocks()))
def test_examples_of_the_pages_fit(block, tmp_path):
    """Every example of a configuration on a page is accepted by the reader and by the schema."""
    data = tomllib.loads(block)
    VALIDATOR.validate(data)
    (tmp_path / "demeanor.toml").write_text(block)
    read_config(tmp_path)


@pytest.mark.parametrize("service", CI)
def test_starter_files_fit(service):
    """So is what `init` writes."""
    choice = StarterChoice(agent="codex", model="openai/gpt-5-mini", ci=service)
    (text,) = (text for path, text in starter_files(choice).items() if path.name == "demeanor.toml")
    VALIDATOR.validate(tomllib.loads(text))


def test_every_key_has_a_description():
    """An editor can show what a key means."""
    assert {path for path, found in keys(SCHEMA) if path[0] != "agents" and not found.get("description")} == set()
    for name in BUILT_IN:
        for path, found in keys(SCHEMA["$defs"][f"adapter-{name}"]):
            assert found.get("description") or path[0] == "events", (name, path)


def test_top_level_keys_are_those_of_the_page():
    """The page lists the keys of the schema, and no others."""
    page = (HOME / "docs/configuration.md").read_text()
    (part,) = re.findall("<!-- generated: configuration -->(.*?)<!-- end -->", page, re.S)
    assert set(re.findall(r"^\| `(\w+)` \|", part, re.M)) == set(SCHEMA["properties"])


def test_documented_keys_are_known():
    """Every key that a page lists for agents, models' providers or fix is in the schema."""
    known = {path[-1] for name in BUILT_IN for path, _ in keys(SCHEMA["$defs"][f"adapter-{name}"])}
    providers = {path[-1] for path, _ in keys(SCHEMA["properties"]["providers"]["additionalProperties"])}
    fix = {path[-1] for path, _ in keys(SCHEMA["properties"]["fix"])}
    pages = (("agents.md", "key", known), ("fix.md", "key", fix))
    for page, heading, expected in (*pages, ("models.md", "key of `[providers.NAME]`", providers)):
        listed = table_keys((HOME / "docs" / page).read_text(), heading)
        assert listed, page
        assert listed - expected == set(), page
    assert fix - table_keys((HOME / "docs/fix.md").read_text(), "key") == set()
    assert providers - table_keys((HOME / "docs/models.md").read_text(), "key of `[providers.NAME]`") == set()


def table_keys(page: str, heading: str) -> set[str]:
    """The keys in the first column of the tables with that heading."""
    tables = re.findall(rf"^\| {re.escape(heading)} \| meaning \|\n\|[-| ]+\|\n((?:\|.*\n)+)", page, re.M)
    cells = (row.split("|")[1] for table in tables for row in table.splitlines())
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


def candidates() -> list[tuple[str, ...]]:
    """The path of every key of the fixed tables."""
    return [path for path, _ in keys(SCHEMA) if path[0] not in {"agents", "models", "providers"}]


@pytest.mark.parametrize("path", candidates(), ids=".".join)
def test_schema_never_rejects_what_the_reader_accepts(path, tmp_path):
    """And rejects values of the wrong type or out of bounds: tried with values of every kind."""
    for value in VALUES:
        data = nested(path, value)
        error = read_error(data, tmp_path)
        if error is None:
            assert accepted(data), data
        elif re.search("expected (a|one of)|unknown (key|value)|is required", error):
            assert not accepted(data), (data, error)


def nested(path: tuple[str, ...], value: Any) -> dict:
    """A configuration with one value, and the keys that its tables require."""
    required = {"build": {"command": ["make"]}, "replay.replace": {"pattern": "x"}}
    data: Any = value
    for index in range(len(path) - 1, -1, -1):
        above = ".".join(path[:index])
        data = {**required.get(above, {}), path[index]: data}
        data = [data] if above == "replay.replace" else data
    return data


def read_error(data: dict, folder: Path) -> str | None:
    """Why the reader rejects a configuration; None if it does not."""
    from demeanor.agents.settings import toml_file

    (folder / "demeanor.toml").write_bytes(toml_file(data))
    try:
        read_config(folder)
    except (BadInput, UsageError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", BUILT_IN)
def test_adapters_know_the_keys_of_the_schema(name, tmp_path):
    """The reader of each adapter accepts these keys and rejects others, with `adapter` and by name."""
    schema = SCHEMA["$defs"][f"adapter-{name}"]
    required = {
        "command": {"command": ["ls", "{prompt}"]},
        "acp": {"command": ["ls"]},
        "python": {"function": "a.py:b"},
    }
    for table in ("mine", name):
        own = {"adapter": name, **required.get(name, {})}
        assert agent_error(table, own, tmp_path) is None
        error = agent_error(table, {**own, "zzzqqq": 1}, tmp_path) or ""
        known = re.search("known keys: (.*)", error)
        assert known, error
        assert set(known[1].split(", ")) == set(schema["properties"])
        assert accepted({"agents": {table: own}})
        assert not accepted({"agents": {table: {**own, "zzzqqq": 1}}})
    assert accepted({"agents": {name: required.get(name, {})}})
    assert not accepted({"agents": {name: {**required.get(name, {}), "zzzqqq": 1}}})


def agent_error(name: str, table: dict, folder: Path) -> str | None:
    from demeanor.agents.settings import toml_file

    (folder / "demeanor.toml").write_bytes(toml_file({"agents": {name: table}}))
    try:
        Catalog(config=read_config(folder), environ={}).agent(name)
    except BadInput as error:
        return str(error)
    return None


def test_an_agent_with_a_name_of_its_own_needs_an_adapter():
    """An adapter of another package may have any keys."""
    assert not accepted({"agents": {"mine": {"command": ["x"]}}})
    assert accepted({"agents": {"mine": {"adapter": "third-party", "anything": 1}}})


@pytest.mark.parametrize(
    ("kind", "read"),
    [("models", read_model), ("providers", lambda table: read_provider("openai", table, {}, need_key=False))],
)
def test_models_and_providers_know_the_keys_of_the_schema(kind, read):
    """Both have the same keys."""
    with pytest.raises(BadInput) as caught:
        read(Table({"zzzqqq": 1}, where="x"))
    known = re.search("known keys: (.*)", str(caught.value))
    assert known
    assert set(known[1].split(", ")) == set(SCHEMA["properties"][kind]["additionalProperties"]["properties"])
