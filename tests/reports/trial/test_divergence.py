"""Where a failing and a passing trial diverge."""

from __future__ import annotations

import pytest

from demeanor.core.values.trajectory import Event, Faulted, ModelFailed
from demeanor.reports.trial.divergence import find_divergence, nearest_pass
from tests.helpers.trial_steps import PASS, call, failed, said, trial_steps

READ, EDIT = call("read_file", path="a"), call("write_file", path="a")
BROKEN = ModelFailed(turn=1, status=500, reason="server", message="x")
FAULT = Faulted(turn=1, kind="cut", detail="x")


@pytest.mark.parametrize(
    ("failing", "passing", "title"),
    [
        ((EDIT,), (READ, EDIT), "does not call read_file, but passing trials do"),
        ((READ, EDIT), (EDIT,), "calls read_file, but passing trials do not"),
        ((READ,), (READ, EDIT), "stops where passing trials call write_file"),
        ((READ,), (READ, said()), "stops where passing trials write a message"),
        ((said(),), (READ,), "calls no tool where passing trials call read_file"),
        ((said(),), (READ, EDIT, said()), "calls no tool where passing trials call read_file"),
        ((), (READ,), "calls no tool where passing trials call read_file"),
        ((EDIT,), (READ,), "calls write_file where passing trials call read_file"),
        (
            (call("read_file", path="b", lines="3"),),
            (READ,),
            "calls read_file with other arguments (lines, path) than passing trials",
        ),
        ((BROKEN,), (READ,), "gets a model error (server) where passing trials call read_file"),
        ((FAULT,), (READ,), "gets an injected fault (cut) where passing trials call read_file"),
        ((READ,), (BROKEN,), "calls read_file where passing trials get an error"),
    ],
)
def test_the_title_describes_the_difference(failing: tuple[Event, ...], passing: tuple[Event, ...], title: str):
    """It fits every trial with the same difference."""
    found, divergence = find_divergence(trial_steps(failed("x"), *failing), trial_steps(PASS, *passing, number=2))
    assert found == title
    assert divergence is not None
    assert divergence.step == (2 if failing[:1] == passing[:1] else 1)


def test_trials_with_the_same_steps_do_not_diverge():
    """Nor do trials without known steps."""
    assert find_divergence(trial_steps(failed("x"), READ), trial_steps(PASS, READ)) == ("", None)
    assert find_divergence(trial_steps(failed("x"), READ), None) == ("", None)
    assert find_divergence(trial_steps(failed("x"), has_steps=False), trial_steps(PASS, READ)) == ("", None)


def test_a_passing_trial_without_steps_is_never_the_nearest():
    """It can't be compared."""
    assert nearest_pass(trial_steps(failed("x"), READ), [trial_steps(PASS, has_steps=False)]) is None


def test_tools_with_hostile_names_stay_on_their_line():
    """A model can call a tool by any name."""
    title, _ = find_divergence(trial_steps(failed("x"), call("\x1b[2J\nrm -rf" + "x" * 500)), trial_steps(PASS, READ))
    assert "\n" not in title
    assert "\x1b" not in title
    assert len(title) < 200
