"""The JSON schema of scenario.toml matches the reader, and the file in docs/ is up to date."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from tools.schemas.scenario import scenario_schema

from demeanor.core.values.errors import BadInput
from demeanor.define.folder.check_table import CHECKS
from demeanor.define.folder.toml_folder import read_toml_folder

HOME = Path(__file__).parents[1]
FILE = HOME / "docs" / "scenario.schema.json"
SCHEMA = scenario_schema()
HEAD = 'policy = "USUALLY_PASSES"\nprompt = "x"\n'
CHECK = '[[checks]]\ncheck = "file_exists"\npath = "a"\n'
SMALLEST = {
    "file_exists": 'path = "a"',
    "file_absent": 'path = "a"',
    "file_equals": 'path = "a"\ntext = "x"',
    "file_contains": 'path = "a"\ntext = "x"',
    "file_matches": 'path = "a"\npattern = "x"',
    "json_path": 'path = "a"\njson_path = "b"\nvalue = 1',
    "unchanged_except": "",
    "command_succeeds": 'argv = ["ls"]',
    "tool_used": 'tool = "a"',
    "tool_not_used": 'tool = "a"',
    "at_most": 'quantity = "turns"\nlimit = 1',
    "final_text": 'contains = "x"',
    "prompt_snapshot": 'file = "a.md"',
}


def known_keys(tmp_path: Path, text: str) -> set[str]:
    """The keys that the reader knows, taken from its error for an unknown key."""
    (tmp_path / "scenario.toml").write_text(text)
    with pytest.raises(BadInput) as caught:
        read_toml_folder(tmp_path)
    found = re.search("known keys: (.*)", str(caught.value))
    assert found, caught.value
    return set(found[1].split(", "))


def check_schema(name: str) -> dict:
    options = SCHEMA["properties"]["checks"]["items"]["oneOf"]
    return next(option for option in options if option["properties"]["check"]["const"] == name)


def test_schema_in_docs_is_fresh():
    """`make docs` writes the file."""
    assert json.loads(FILE.read_text()) == SCHEMA


def test_schema_is_valid():
    """It is valid JSON Schema."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", sorted((HOME / "examples").rglob("scenario.toml")), ids=lambda path: path.parent.name)
def test_examples_fit(path):
    """Every shipped scenario is valid."""
    jsonschema.Draft202012Validator(SCHEMA).validate(tomllib.loads(path.read_text()))


def test_schema_knows_the_keys_of_the_reader(tmp_path):
    """Both have the same keys."""
    assert known_keys(tmp_path, f"zzzqqq = 1\n{HEAD}{CHECK}") == set(SCHEMA["properties"])


def test_schema_knows_the_keys_of_a_behaviour(tmp_path):
    """The same for `passes_on` and `fails_on`."""
    known = known_keys(tmp_path, f"{HEAD}{CHECK}[passes_on]\nzzzqqq = 1\n")
    assert known == set(SCHEMA["$defs"]["act"]["properties"])


@pytest.mark.parametrize("name", CHECKS)
def test_schema_knows_the_keys_of_each_check(tmp_path, name):
    """The same for every check; and the smallest form of each is valid."""
    text = f'{HEAD}[[checks]]\ncheck = "{name}"\n{SMALLEST[name]}\n'
    assert known_keys(tmp_path, f"{text}zzzqqq = 1\n") == set(check_schema(name)["properties"])
    jsonschema.Draft202012Validator(SCHEMA).validate(tomllib.loads(text))


def test_every_key_has_a_description():
    """An editor can show what a key means."""
    for name in CHECKS:
        for key, value in check_schema(name)["properties"].items():
            assert value["description"].endswith((".", "…")) or len(value["description"]) > 10, key
