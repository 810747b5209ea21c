"""The author's guide is complete: it documents every argument, key, check and attribute of the rig."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from tools.schemas.scenario import scenario_schema

from demeanor import Rig, Stage, eval_test
from demeanor.define.eval_fields import EVAL_FIELDS
from demeanor.define.folder.check_table import CHECKS
from demeanor.judge.calls_view import Calls
from demeanor.judge.git_view import GitView
from demeanor.judge.offline_test import SelfTestFault
from demeanor.judge.workspace_view import FileView, WorkspaceView

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = scenario_schema()


def words_of_tables(page: str) -> set[str]:
    """The words in code style in a page's tables."""
    lines = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("|")]
    return {word for code in re.findall("`([^`]+)`", "\n".join(lines)) for word in re.findall(r"\w+", code)}


def public(kind: type) -> set[str]:
    names = {name for name in vars(kind) if not name.startswith("_")}
    source = inspect.getsource(kind)
    return names | set(re.findall(r"self\.([a-z]\w*) = ", source))


@pytest.mark.parametrize("kind", [Rig, WorkspaceView, FileView, GitView, Calls], ids=lambda kind: kind.__name__)
def test_every_attribute_of_the_rig_is_documented(kind):
    """checks.md lists every public name of the rig and of its views."""
    assert public(kind) - words_of_tables("checks.md") == set()


def test_every_argument_is_documented():
    """eval-keys.md lists every argument of the decorator; define.md every method of the stage, and every fault."""
    arguments = set(inspect.signature(eval_test).parameters) - {"policy"}
    assert arguments == {one.name for one in EVAL_FIELDS if one.python}
    assert arguments - words_of_tables("eval-keys.md") == set()
    assert public(Stage) - {"evidence"} - words_of_tables("define.md") == set()
    page = (DOCS / "define.md").read_text()
    assert all(f"| {fault.value} |" in page for fault in SelfTestFault)


def test_every_key_is_documented():
    """eval-keys.md lists every key, every check with its keys, and the keys of behaviours."""
    words = words_of_tables("eval-keys.md")
    assert set(SCHEMA["properties"]) - words == set()
    assert set(SCHEMA["$defs"]["act"]["properties"]) - words == set()
    for check in SCHEMA["properties"]["checks"]["items"]["oneOf"]:
        row = re.search(
            rf"^\| `{check['properties']['check']['const']}` \|(.*)$", (DOCS / "eval-keys.md").read_text(), re.M
        )
        assert row, check
        assert set(check["properties"]) - {"check"} - set(re.findall(r"\w+", row[1])) == set()
    assert set(CHECKS) <= words


def test_example_of_the_page_is_a_valid_scenario(tmp_path):
    """The example on the page is a valid scenario with a self-test."""
    from demeanor.define.folder.toml_folder import read_toml_folder

    (example,) = re.findall(r"```toml\n(.*?)```", (DOCS / "eval-keys.md").read_text(), re.S)
    (tmp_path / "scenario.toml").write_text(example)
    (found,) = read_toml_folder(tmp_path)
    assert (len(found.checks), len(found.passes_on), len(found.fails_on)) == (2, 1, 1)
