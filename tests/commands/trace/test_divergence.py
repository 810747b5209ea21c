"""Where two trials part, in words."""

from __future__ import annotations

import pytest

from demeanor.commands.trace.divergence import nearest, parted
from demeanor.core.trajectory import Event, Faulted, ModelFailed
from tests.commands.triage_lab import PASS, call, failed, said, story

READ, EDIT = call("read_file", path="a"), call("write_file", path="a")
BROKEN = ModelFailed(turn=1, status=500, reason="server", message="x")
FAULT = Faulted(turn=1, kind="cut", detail="x")


@pytest.mark.parametrize(
    ("failing", "passing", "title"),
    [
        ((EDIT,), (READ, EDIT), "leaves out a call of read_file, which trials that passed do not"),
        ((READ, EDIT), (EDIT,), "calls read_file, which trials that passed do not"),
        ((READ,), (READ, EDIT), "ends before a call of write_file, which trials that passed come to"),
        ((READ,), (READ, said()), "ends before words to the user, which trials that passed come to"),
        ((said(),), (READ,), "says something where trials that passed go on with a call of read_file"),
        ((EDIT,), (READ,), "calls write_file where trials that passed go on with a call of read_file"),
        (
            (call("read_file", path="b", lines="3"),),
            (READ,),
            "calls read_file with other arguments (lines, path) than trials that passed",
        ),
        (
            (BROKEN,),
            (READ,),
            "meets a model that fails (server) where trials that passed go on with a call of read_file",
        ),
        ((FAULT,), (READ,), "meets an injected fault (cut) where trials that passed go on with a call of read_file"),
        ((READ,), (BROKEN,), "calls read_file where trials that passed go on with an answer that failed"),
    ],
)
def test_what_went_otherwise_is_said_in_a_line(failing: tuple[Event, ...], passing: tuple[Event, ...], title: str):
    """In words that fit every trial of which it is true."""
    found, parting = parted(story(failed("x"), *failing), story(PASS, *passing, number=2))
    assert found == title
    assert parting is not None
    assert parting.step == (2 if failing[0] is passing[0] else 1)


def test_who_took_the_same_steps_does_not_part():
    """Nor does one of whom nothing is known."""
    assert parted(story(failed("x"), READ), story(PASS, READ)) == ("", None)
    assert parted(story(failed("x"), READ), None) == ("", None)
    assert parted(story(failed("x"), told=False), story(PASS, READ)) == ("", None)


def test_a_trial_of_which_nothing_is_known_is_near_to_none():
    """What has no steps at hand says nothing."""
    assert nearest(story(failed("x"), READ), [story(PASS, told=False)]) is None


def test_tools_with_hostile_names_stay_on_their_line():
    """A model may call what it likes."""
    title, _ = parted(story(failed("x"), call("\x1b[2J\nrm -rf" + "x" * 500)), story(PASS, READ))
    assert "\n" not in title
    assert "\x1b" not in title
    assert len(title) < 200
