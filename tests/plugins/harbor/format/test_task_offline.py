"""A task without a network differs in this one line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.plugins.harbor.format.task_folder import read_task_folder
from demeanor.plugins.harbor.format.task_offline import offline, without_network
from tests.helpers.harbor_task_files import MINIMAL, task

TABLES = st.permutations(
    [
        "[agent]\ntimeout_sec = 1\n",
        "[ environment ] # the machine\ncpus = 1\n",
        "[environment.env]\nA = '1'\n",
        "[metadata]\nnote = '''\n[environment]\n'''\n",
        "[verifier]\n",
    ]
)


@given(TABLES.flatmap(lambda some: st.integers(0, 5).map(lambda number: "".join(some[:number]))))
def test_nothing_else_is_changed(source):
    """Wherever the table stands, and where there is none."""
    text = without_network(source)
    if text is None:  # a text in it looks like the table: nothing is risked
        assert "note" in source
        return
    offline = tomllib.loads(text)
    assert offline["environment"].pop("network_mode") == "no-network"
    before = tomllib.loads(source)
    assert offline == ({**before, "environment": {}} if "environment" not in before else before)


def test_a_copy_is_tried_where_the_task_says_nothing(tmp_path: Path):
    """And the task itself is left alone."""
    one = read_task_folder(task(tmp_path / "greet"))
    (tmp_path / "copy").mkdir()
    found = offline(one, tmp_path / "copy")
    assert found is not None
    assert found.task is not None
    assert found.task.steps[0].verifier_network.mode == "no-network"
    assert found.task.folder == tmp_path / "copy" / "greet"
    assert (tmp_path / "greet" / "task.toml").read_text() == MINIMAL


@pytest.mark.parametrize(
    "declared",
    ['[environment]\nnetwork_mode = "public"\n', "[environment]\nallow_internet = true\n", 'network_mode = "public"\n'],
)
def test_a_task_that_declares_its_network_is_not_copied(tmp_path: Path, declared: str):
    """Its own declaration applies."""
    assert offline(read_task_folder(task(tmp_path / "greet", MINIMAL + declared)), tmp_path) is None
