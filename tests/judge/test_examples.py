"""The shipped examples are sound: each can pass and can fail, and says so offline."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.values.policy import Policy
from demeanor.define.discovery import discover
from demeanor.judge.offline_test import self_test
from tests.judge.helpers import lay_out, read_back, run_command

EXAMPLES = [one for one in discover([Path(__file__).parents[2] / "examples"]) if one.task is None]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.name)
def test_example_can_pass_and_can_fail(example):
    """Each shipped eval passes on good behaviour, and fails on bad behaviour and on none."""
    found = self_test(example, lay_out=lay_out, read_back=read_back, run_command=run_command)
    assert not found.complaints
    assert found.rehearsed >= 3


def test_examples_show_the_whole_range():
    """There are the five smoke scenarios, evals of every rehearsable kind, and a known weakness."""
    assert [one.name for one in EXAMPLES if one.suite == "smoke"] == [
        "01-create-file",
        "02-edit-file",
        "03-read-and-summarise",
        "04-several-files",
        "05-typescript-function",
    ]
    assert {one.policy for one in EXAMPLES} == {Policy.USUALLY_PASSES, Policy.USUALLY_FAILS}
    assert all(one.fails_on and one.passes_on and one.description and one.tags for one in EXAMPLES)
