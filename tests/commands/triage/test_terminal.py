"""A triage on a screen."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest

from demeanor.commands.triage.report import Triage, triage
from demeanor.commands.triage.terminal import triage_terminal
from demeanor.render.terminal import Screen
from tests.commands.conftest import HOSTILE
from tests.commands.triage.test_brief import groups
from tests.commands.triage_lab import PASS, failed, story


def test_there_is_little_to_say_where_all_passed():
    """No groups, and no hint what to do with them."""
    assert triage_terminal(Triage(run="r", trials=3, failed=0, voided=0, groups=())) == (
        "r: all 3 trials passed, there is nothing to sort\n"
    )


@pytest.mark.parametrize("width", [40, 60, 140])
def test_commands_can_be_copied_from_a_narrow_window_too(width: int):
    """Put together again they are the same command, whatever the names of evals."""
    command = shlex.join(["demeanor", "trace", "an --eval/a:m/1", "--run", "2026-11-16T03-24-20", "--diff"])
    (group,) = triage([story(failed("x"), name="an --eval")])
    found = Triage(run="r", trials=1, failed=1, voided=0, groups=(replace(group, trace=command),))
    text = triage_terminal(found, Screen(width=width))
    shown = text[text.index("$ ") + 2 :].split("\n\n")[0]
    assert shlex.split(shown.replace("\\\n", "")) == shlex.split(command)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("width", [60, 140])
def test_hostile_text_can_do_nothing_to_a_terminal(text: str, width: int):
    """No escape, no control, no direction mark, and no flood."""
    found = Triage(run="r", trials=4, failed=2, voided=1, groups=groups(text), notes=(text,))
    shown = triage_terminal(found, Screen(width=width))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert len(shown) < 40_000


def test_of_many_groups_the_first_are_shown():
    """And how to see the rest."""
    stories = [story(PASS)] + [story(failed(f"{'x' * n}"), number=n + 1) for n in range(1, 6)]
    found = Triage(run="r", trials=6, failed=5, voided=0, groups=triage(stories))
    assert "and 3 more groups: --all shows them" in triage_terminal(found, most=2)
