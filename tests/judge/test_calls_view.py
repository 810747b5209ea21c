"""`rig.calls`: filters, questions of order, and never a guess where the trajectory has gaps."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demeanor.core.errors import UnknownName
from demeanor.core.trajectory import Called
from demeanor.judge.calls_view import Calls, NoSuchCall
from demeanor.judge.unknowable import LowerBound, Unknowable
from tests.judge.helpers import called, rig

READ = called("read_file", path="a.txt")
WRITE = called("write_file", turn=2, path="a.txt", content="x")
GREP = called("grep", turn=2, pattern="x+", succeeded=False, result="no match")
RUN = called("shell", turn=3, command="ls -la", succeeded=None, result=None)
CALLS = Calls([READ, WRITE, GREP, RUN])
GAPPED = Calls([READ, WRITE], gaps=("exchange 3 could not be read",))


def test_filters_narrow_down():
    """Each filter gives the calls that fit, in their order."""
    assert CALLS.named("grep", "read_file").seen == (READ, GREP)
    assert CALLS.of_kind("edit").seen == (WRITE,)
    assert CALLS.of_kind("read", "search").seen == (READ, GREP)
    assert CALLS.in_turn(2).seen == (WRITE, GREP)
    assert CALLS.first(2).seen == (READ, WRITE)
    assert CALLS.where(path="a.txt").of_kind("edit").seen == (WRITE,)


def test_sequence_can_be_asked_like_one():
    """Truth, length, count, names, items and membership."""
    assert CALLS
    assert not CALLS.named("rm")
    assert (len(CALLS), CALLS.count(), CALLS[0], CALLS[-1]) == (4, 4, READ, RUN)
    assert CALLS.names == ("read_file", "write_file", "grep", "shell")
    assert list(CALLS) == [READ, WRITE, GREP, RUN]
    assert CALLS[1:3] == (WRITE, GREP)
    assert READ in CALLS
    assert READ not in CALLS.named("grep")


def test_unknown_kind_is_refused_with_the_nearest():
    """A misspelt kind would otherwise be a check that can't fail."""
    with pytest.raises(UnknownName, match="did you mean 'delete'"):
        CALLS.of_kind("delet")


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({"path": "a.txt"}, True),
        ({"file_path": "./a.txt"}, True),
        ({"file_path": "/somewhere/work/a.txt"}, True),
        ({"filename": "sub/a.txt"}, False),
        ({"path": "/somewhere/ba.txt"}, False),
        ({"content": "a.txt"}, False),
        ({"path": 3}, False),
        ({}, False),
    ],
)
def test_where_path_finds_the_file_whatever_the_tool_calls_it(given, fits):
    """Agents name their arguments differently; the file is the same."""
    assert bool(Calls([called("t", **given)]).where(path="a.txt")) is fits


def test_where_compares_or_matches_arguments():
    """A value must be equal, a pattern must match, a predicate decides for itself."""
    assert CALLS.where(pattern="x+").seen == (GREP,)
    assert not CALLS.where(pattern="x")
    assert CALLS.where(command=re.compile(r"\bls\b")).seen == (RUN,)
    assert CALLS.where(path=re.compile("txt$"), content="x").seen == (WRITE,)
    assert CALLS.where(predicate=lambda call: call.turn > 1, path="a.txt").seen == (WRITE,)


def test_before_and_after_look_at_the_first_and_the_last():
    """Before the first edit; after the last edit."""
    one, two = called("edit", path="1"), called("edit", path="2")
    calls = Calls([READ, one, GREP, two, RUN])
    edits = calls.of_kind("edit")
    assert calls.before(edits).seen == (READ,)
    assert calls.after(edits).seen == (RUN,)
    assert calls.named("grep").before(two)
    assert not calls.named("grep").before(edits)
    assert calls.named("grep").after(one)


def test_nothing_is_before_or_after_what_never_happened():
    """`reads.before(edits)` is not true just because nothing was edited."""
    assert not CALLS.before(CALLS.named("rm"))
    assert not CALLS.after(CALLS.named("rm"))


def test_same_turn_means_asked_for_together():
    """A call is not together with itself."""
    assert CALLS.named("grep").in_same_turn(CALLS.of_kind("edit")).seen == (GREP,)
    assert CALLS.named("grep").in_same_turn(WRITE)
    assert not CALLS.named("shell").in_same_turn(CALLS.named("shell"))
    assert not CALLS.named("shell").in_same_turn(CALLS.of_kind("edit"))


def test_in_order_lets_other_calls_stand_between():
    """The names must come in this order, as often as they are given."""
    assert CALLS.in_order("read_file", "grep")
    assert CALLS.in_order("read_file", "write_file", "grep", "shell")
    assert not CALLS.in_order("grep", "read_file")
    assert not CALLS.in_order("grep", "grep")


def test_success_is_known_only_where_it_was_reported():
    """Succeeded and failed are distinguished from unknown."""
    calls = Calls([READ, GREP])
    assert calls.succeeded().seen == (READ,)
    assert calls.failed().seen == (GREP,)
    assert not calls.named("read_file").failed()


def test_success_that_was_not_reported_is_unknown():
    """«No call failed» can't be said while one call's end is unknown."""
    assert CALLS.failed()
    assert CALLS.succeeded().count() >= 2
    with pytest.raises(Unknowable, match="it is not recorded whether shell succeeded"):
        bool(CALLS.named("shell").failed())


def test_missing_item_fails_the_check_and_says_what_there_is():
    """Asking for a call that was not made is the agent's failure, not the check's."""
    with pytest.raises(NoSuchCall, match=r"no calls edit\[1\].*write_file"):
        CALLS.of_kind("edit")[1]
    assert issubclass(NoSuchCall, AssertionError)


def test_repr_reads_well_in_a_failed_assert():
    """A view shows what it holds."""
    assert repr(CALLS.of_kind("edit")) == '<calls edit: write_file(path="a.txt", content="x")>'
    assert repr(CALLS.named("rm")) == "<calls rm: none>"
    assert "perhaps more" in repr(GAPPED)
    assert "… 20 more" in repr(Calls([READ] * 30))


@pytest.mark.parametrize(
    "question",
    [
        lambda calls: bool(calls.named("rm")),
        lambda calls: not calls.named("rm"),
        lambda calls: calls.named("rm").count() == 0,
        lambda calls: calls.named("rm").count() < 1,
        lambda calls: calls.count() <= 2,
        lambda calls: calls.count() == 2,
        len,
        list,
        lambda calls: calls.names,
        lambda calls: all(call.tool != "rm" for call in calls),
        lambda calls: any(call.tool == "rm" for call in calls),
        lambda calls: called("rm") in calls,
        lambda calls: calls[2],
        lambda calls: calls[:1],
        lambda calls: calls.in_order("write_file", "read_file"),
        lambda calls: calls.before(calls.of_kind("edit")).count(),
        lambda calls: bool(calls.after(calls.named("read_file"))),
        lambda calls: bool(calls.first(1)),
        lambda calls: calls.first(1).named("read_file")[0],
        lambda calls: bool(calls.named("read_file").in_same_turn(calls.of_kind("edit"))),
    ],
)
def test_gap_makes_what_was_not_seen_unknown(question):
    """Where calls may be missing, «it did not» is never the answer."""
    with pytest.raises(Unknowable, match="exchange 3 could not be read"):
        question(GAPPED)


@pytest.mark.parametrize(
    "question",
    [
        lambda calls: bool(calls.named("read_file")),
        lambda calls: calls.count() >= 2,
        lambda calls: calls.count() > 1,
        lambda calls: calls.count() != 1,
        lambda calls: not calls.count() <= 1,
        lambda calls: any(call.tool == "read_file" for call in calls),
        lambda calls: not all(call.tool == "read_file" for call in calls),
        lambda calls: READ in calls,
        lambda calls: calls[0] == READ,
        lambda calls: calls.in_order("read_file", "write_file"),
        lambda calls: bool(calls.in_same_turn(called("x", turn=2))),
        lambda calls: calls.seen == (READ, WRITE),
    ],
)
def test_gap_does_not_hide_what_was_seen(question):
    """What was seen settles what it settles."""
    assert question(GAPPED) is True


@given(
    seen=st.integers(0, 5),
    more=st.integers(0, 5),
    other=st.integers(0, 8),
    op=st.sampled_from(["lt", "le", "eq", "ne", "ge", "gt"]),
)
def test_lower_bound_is_never_wrong(seen, more, other, op):
    """Whatever a lower bound answers is true of every count it may stand for."""
    bound = LowerBound(seen, ("gap",))
    try:
        answered = getattr(bound, f"__{op}__")(other)
    except Unknowable:
        counts = [getattr(count, f"__{op}__")(other) for count in range(seen, 20)]
        assert len(set(counts)) == 2
    else:
        assert answered is getattr(seen + more, f"__{op}__")(other)


names = st.sampled_from(["read_file", "write_file", "grep", "rm"])
some_calls = st.lists(st.builds(lambda tool, turn: called(tool, turn=turn), names, st.integers(1, 3)), max_size=6)


@given(calls=some_calls, hidden=st.sets(st.integers(0, 5)), wanted=names, other=names)
def test_gapped_view_never_contradicts_the_truth(calls, hidden, wanted, other):
    """Hide some calls: every answer that is still given is the one that all calls would have given."""
    ordered = sorted(calls, key=lambda call: call.turn)
    seen = [call for place, call in enumerate(ordered) if place not in hidden]
    whole, part = Calls(ordered), Calls(seen, gaps=("hidden",))
    questions = [
        lambda view: bool(view.named(wanted)),
        lambda view: view.named(wanted).count() >= 2,
        lambda view: view.named(wanted).count() == 0,
        lambda view: view.in_order(wanted, other),
        lambda view: bool(view.named(wanted).before(view.named(other))),
        lambda view: bool(view.named(wanted).after(view.named(other))),
        lambda view: bool(view.named(wanted).in_same_turn(view.named(other))),
        lambda view: bool(view.first(2).named(wanted)),
        lambda view: all(call.tool == wanted for call in view),
    ]
    for question in questions:
        try:
            answered = question(part)
        except Unknowable:
            continue
        assert answered == question(whole)


def test_rig_hands_the_gaps_on():
    """The rig's calls know that the trajectory is incomplete."""
    with pytest.raises(Unknowable, match="lost"):
        bool(rig(READ, gaps=("lost",)).calls.of_kind("delete"))


def test_hostile_call_is_shown_harmlessly():
    """Terminal escapes and newlines of an agent do not reach the screen."""
    call = called("ev\x1b[31mil\n", path="\x1b]0;title\x07x")
    assert isinstance(call, Called)
    assert repr(Calls([call])) == '<calls: evil(path="x")>'


def test_what_was_asked_for_is_known_call_by_call():
    """Asked and allowed, asked and denied, or not asked at all."""
    allowed, denied, unasked = (replace(WRITE, permission=how) for how in ("allow", "deny", "unasked"))
    calls = Calls([allowed, denied, unasked])
    assert calls.asked().seen == (allowed, denied)
    assert calls.denied().seen == (denied,)
    assert calls.unasked().seen == (unasked,)
    assert calls.of_kind("edit").unasked().count() == 1


def test_that_nothing_was_asked_is_not_guessed():
    """An agent that does not tell of its requests may have made some."""
    with pytest.raises(Unknowable, match="it is not recorded whether permission was requested for read_file"):
        assert not CALLS.of_kind("read").unasked()
    assert not CALLS.named("rm").unasked()
