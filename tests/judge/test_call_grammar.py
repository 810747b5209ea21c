"""`rig.calls`: sequences, ends, order against any call of a kind, numbers per turn, results and functions."""

from __future__ import annotations

import re

import pytest

from demeanor.core.values.checks import FunctionCheck
from demeanor.judge.calls_view import Calls
from demeanor.judge.check_answers import answer
from demeanor.judge.unknowable import Unknowable
from tests.judge.helpers import called, rig

READ = called("read_file", path="a.txt", result="A")
WRITE = called("write_file", turn=2, path="a.txt", content="x")
GREP = called("grep", turn=2, pattern="x+", succeeded=False, result="error: no match")
TEST = called("shell", turn=3, command="pytest -q", result="1 passed")
AGAIN = called("write_file", turn=4, path="b.txt", content="y", succeeded=None, result=None)
SCRIPT = called("shell", turn=4, command="python3 fix.py", result="")
CALLS = Calls([READ, WRITE, GREP, TEST, AGAIN])
EDITS, READS = CALLS.of_kind("edit"), CALLS.of_kind("read")
TESTS = CALLS.where(command=re.compile("pytest"))
UNSURE = Calls([READ, TEST, SCRIPT, GREP])
GAPPED = Calls([READ, WRITE], gaps=("exchange 3 could not be read",))


def test_sequences_take_views_and_names():
    """Read, edited, tested: in this order, with anything in between."""
    assert CALLS.in_order(READS, EDITS, TESTS)
    assert CALLS.in_order("read_file", EDITS, "shell", EDITS)
    assert not CALLS.in_order(TESTS, READS)
    assert not CALLS.in_order(EDITS, EDITS, EDITS)


def test_one_command_can_be_two_steps():
    """A shell command that reads and then edits is in order, and not the other way round."""
    calls = Calls([called("shell", command="cat a.py && sed -i s/x/y/ a.py")])
    assert calls.in_order(calls.of_kind("read"), calls.of_kind("edit"))
    assert not calls.in_order(calls.of_kind("edit"), calls.of_kind("read"))


def test_sequence_that_depends_on_an_unknown_effect_is_void():
    """A script may edit; a missing answer may be the missing step."""
    assert UNSURE.in_order("read_file", "shell", "grep")
    with pytest.raises(Unknowable, match=r"in this order.*fix\.py"):
        UNSURE.in_order("read_file", UNSURE.of_kind("edit"), "grep")
    assert not UNSURE.in_order("grep", UNSURE.of_kind("edit"))
    with pytest.raises(Unknowable, match="exchange 3"):
        GAPPED.in_order("write_file", "read_file")


def test_first_and_last():
    """The ends of a view, one call unless told otherwise."""
    assert CALLS.first().seen == (READ,)
    assert CALLS.last().seen == (AGAIN,)
    assert CALLS.last(3).of_kind("edit", "search").seen == (GREP, AGAIN)
    assert not Calls([]).last()
    with pytest.raises(Unknowable, match="exchange 3"):
        bool(GAPPED.last())


def test_never_after():
    """`after` looks at the last call of the others, `after_first` at any of them."""
    commit = Calls([READ, TEST, WRITE, GREP, final := called("shell", turn=5, command="pytest")])
    tests = commit.where(command=re.compile("pytest"))
    assert not commit.of_kind("edit").after(tests)
    assert commit.of_kind("edit").after_first(tests).seen == (WRITE,)
    assert commit.of_kind("edit").before_last(tests).seen == (WRITE,)
    assert not commit.of_kind("read").after_first(tests)
    assert commit.of_kind("search").before_last(final).seen == (GREP,)


def test_never_after_is_void_where_the_others_are_uncertain():
    """A search after a script that may have edited: neither proven nor refuted."""
    with pytest.raises(Unknowable, match=r"fix\.py"):
        bool(UNSURE.named("grep").after_first(UNSURE.of_kind("edit")))
    assert not UNSURE.named("read_file").after_first(UNSURE.of_kind("edit"))
    assert GAPPED.of_kind("edit").after_first(GAPPED.of_kind("read")).seen == (WRITE,)
    with pytest.raises(Unknowable, match="exchange 3"):
        bool(GAPPED.of_kind("read").after_first(GAPPED.of_kind("edit")))


def test_twice_in_a_row():
    """Calls that follow one another with none in between."""
    calls = Calls([READ, other := called("read_file", path="b.txt"), WRITE])
    assert calls.named("read_file").directly_after(calls.named("read_file")).seen == (other,)
    assert not calls.of_kind("edit").directly_after(READ)


def test_numbers_within_turns():
    """How many calls of a kind the model requested at once, and in some turns."""
    assert CALLS.most_in_one_turn() == 2
    assert EDITS.most_in_one_turn() == 1
    assert Calls([]).most_in_one_turn() == 0
    assert CALLS.in_turns(2, 3).seen == (WRITE, GREP, TEST)
    assert GAPPED.most_in_one_turn() >= 1
    with pytest.raises(Unknowable):
        assert GAPPED.most_in_one_turn() <= 3


def test_results_and_errors_of_tools():
    """What a tool answered, and how it failed; void where that is not recorded."""
    assert CALLS.returned("passed").seen == (TEST,)
    assert CALLS.named("grep").failed("no match").seen == (GREP,)
    assert not CALLS.named("grep").failed(re.compile("timeout"))
    with pytest.raises(Unknowable, match=r"result of write_file\(.*is not recorded"):
        bool(EDITS.returned("saved"))


def test_arguments_by_function():
    """A function of the value, for a path too; where a target is unknown, so is the answer."""
    assert CALLS.where(path=lambda path: path.endswith("b.txt")).seen == (AGAIN,)
    assert EDITS.where(content=lambda text: len(text) > 5).count() == 0
    removed = Calls([called("shell", command='rm "$FILE"')])
    with pytest.raises(Unknowable):
        bool(removed.of_kind("delete").where(path=lambda path: path.startswith("src/")))


@pytest.mark.parametrize("command", ["rm app/[id]/page.tsx", "rm 'app/[id]/page.tsx'"])
def test_paths_with_brackets_are_themselves(command):
    """Routes of web frameworks have such names; a shell takes them literally where they match no other file."""
    calls = Calls([called("shell", command=command)])
    assert calls.of_kind("delete").where(path="app/[id]/page.tsx")
    assert Calls([called("read_file", path="app/[id]/page.tsx")]).where(path="app/[id]/page.tsx")


def said(check, *calls):
    return answer(FunctionCheck(function=check), rig(*calls)).reason.splitlines()[0]


def test_failures_are_sentences():
    """One sentence with the calls in question, instead of a line per step of the expression."""

    def edits_after(rig, result):
        assert rig.calls.of_kind("edit").where(path="c.txt").after(rig.calls.of_kind("read")), "must edit last"

    def never(rig, result):
        assert not rig.calls.of_kind("edit").where(path=lambda path: True)

    def frugal(rig, result):
        assert rig.calls.named("write_file").count() <= 1

    def ordered(rig, result):
        assert rig.calls.in_order("grep", "read_file")

    found = answer(FunctionCheck(function=edits_after), rig(READ, WRITE)).reason.splitlines()
    assert found[:2] == [
        "must edit last",
        "expected calls of kind edit with path='c.txt' after the last of (calls of kind read), found none",
    ]
    assert said(never, READ, WRITE) == (
        'expected no calls of kind edit with path=<lambda>, found 1: write_file(path="a.txt", content="x")'
    )
    assert said(frugal, WRITE, AGAIN).startswith("expected at most 1 call of write_file, found 2: write_file(")
    assert said(ordered, READ, GREP) == (
        "expected calls of grep, then calls of read_file, in this order; found: "
        'read_file(path="a.txt"), grep(pattern="x+")'
    )
    assert said(ordered) == "expected calls of grep, then calls of read_file, in this order; found none"


def test_failures_about_order_turns_and_sub_agents_are_sentences():
    def never_in_order(rig, result):
        assert not rig.calls.in_order(rig.calls.of_kind("read"), "grep")

    def together(rig, result):
        assert rig.calls.of_kind("read").most_in_one_turn() >= 2

    def delegated(rig, result):
        assert rig.sub_agents

    def accepted(rig, result):
        assert not rig.calls.where(predicate=lambda call: call.turn > 0)

    def errors(rig, result):
        assert not rig.calls.failed("no match")

    assert said(never_in_order, READ, GREP).startswith(
        "expected no calls of kind read, then calls of grep, in this order; found: read_file("
    )
    assert (
        said(together, READ) == 'expected at least 2 calls of kind read in one turn, found 1: read_file(path="a.txt")'
    )
    assert said(delegated, READ) == "expected sub-agents, found none"
    assert said(accepted, READ).startswith("expected no calls accepted by <lambda>, found 1: ")
    assert said(errors, GREP).startswith("expected no calls that failed with 'no match', found 1: ")


def test_other_asserts_keep_their_explanation():
    """Only views of calls become sentences."""

    def compared(rig, result):
        assert rig.final_text == "yes"

    found = answer(FunctionCheck(function=compared), rig(READ, "no")).reason
    assert "'no' == 'yes'" in found


def test_steps_that_are_not_about_calls_are_kept():
    """How a value was made can be the explanation."""

    def measured(rig, result):
        assert len(rig.final_text) > 5

    found = answer(FunctionCheck(function=measured), rig(READ, "no")).reason
    assert "assert 2 > 5" in found
    assert "where 2 = len('no')" in found
    assert "where 'no' = <rig of eval/subject/1>.final_text" in found
