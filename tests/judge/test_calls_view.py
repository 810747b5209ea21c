"""`rig.calls`: filters, questions of order, and never a guess where the trajectory has gaps."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.errors import UnknownName
from demeanor.core.values.messages import Tool
from demeanor.core.values.trajectory import Called
from demeanor.judge.call_context import CallContext
from demeanor.judge.call_set import NoSuchCall
from demeanor.judge.calls_view import Calls
from demeanor.judge.unknowable import UncertainCount, Unknowable
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
    assert CALLS.of_kind("read", "search").seen == (READ, GREP, RUN)
    assert CALLS.of_kind("execute").seen == (RUN,)
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
    with pytest.raises(NoSuchCall, match=r"no call at index 1: <calls of kind edit: write_file"):
        CALLS.of_kind("edit")[1]
    assert issubclass(NoSuchCall, AssertionError)


def test_repr_reads_well_in_a_failed_assert():
    """A view shows what it holds."""
    assert repr(CALLS.of_kind("edit")) == '<calls of kind edit: write_file(path="a.txt", content="x")>'
    assert repr(CALLS.named("rm")) == "<calls of rm: none>"
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
    bound = UncertainCount(seen, ("gap",))
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


def shell(command: str, **fields) -> Called:
    return called("shell", command=command, **fields)


def test_kinds_by_effect():
    """`rm` in a shell deletes, `cat` reads, a redirection edits, an editor that views reads."""
    deletes, reads, edits = shell("rm -rf build"), shell("cat a.txt"), shell("echo x > a.txt")
    views = called("file_editor", command="view", path="a.txt")
    calls = Calls([deletes, reads, edits, views])
    assert calls.of_kind("delete").seen == (deletes,)
    assert calls.of_kind("read").seen == (reads, views)
    assert calls.of_kind("edit").seen == (edits,)
    assert calls.of_kind("execute").seen == (deletes, reads, edits)
    assert not calls.of_kind("fetch")


def test_paths_belong_to_the_kind():
    """`cat a && rm b` reads a and deletes b, not the other way round."""
    calls = Calls([shell("cat a.txt && rm -r old")])
    assert calls.of_kind("read").where(path="a.txt")
    assert calls.of_kind("delete").where(path="old")
    assert calls.of_kind("delete").where(path="old/deep/b.txt")
    assert not calls.of_kind("delete").where(path="a.txt")
    assert not calls.of_kind("read").where(path="old")
    assert calls.where(path="a.txt")


@pytest.mark.parametrize("command", ["python3 clean.py", "./clean.sh", "echo 'unclosed", "$TOOL a.txt"])
def test_missing_effect_is_unknown_if_a_program_may_have_it(command):
    """A program that can't be read may have deleted something: that is neither a pass nor a fail."""
    calls = Calls([shell(command)])
    with pytest.raises(Unknowable, match="effects of shell"):
        assert not calls.of_kind("delete")
    with pytest.raises(Unknowable):
        assert calls.of_kind("read").count() == 0
    assert calls.of_kind("execute").count() == 1
    assert not calls.of_kind("think")
    assert calls.of_kind("delete").count() <= 1


def test_certain_effect_is_not_made_uncertain_by_others():
    """A recorded deletion is proof, whatever else was run."""
    calls = Calls([shell("python3 x.py"), shell("rm a.txt")])
    assert calls.of_kind("delete")
    assert calls.of_kind("delete").where(path="a.txt")
    with pytest.raises(Unknowable):
        calls.of_kind("delete")[0]
    with pytest.raises(Unknowable):
        calls.of_kind("delete").where(path="b.txt").count() == 0  # noqa: B015 - the comparison raises


def test_target_that_the_command_does_not_name_is_unknown():
    """`rm "$FILE"` deletes something; whether it is a.txt, nobody knows."""
    calls = Calls([shell('rm "$FILE"'), shell("rm *.log")])
    assert calls.of_kind("delete").count() == 2
    with pytest.raises(Unknowable, match="does not say which files"):
        bool(calls.of_kind("delete").where(path="a.txt"))
    assert not Calls([shell("rm *.log")]).of_kind("delete").where(path="a.txt")
    with pytest.raises(Unknowable):
        bool(Calls([shell("rm *.log")]).of_kind("delete").where(path="a.log"))


def test_order_within_one_command_counts():
    """`cat a && sed -i … a` reads before it edits; the other order does not."""
    good, bad = Calls([shell("cat a && sed -i s/x/y/ a")]), Calls([shell("sed -i s/x/y/ a && cat a")])
    assert good.of_kind("read").before(good.of_kind("edit"))
    assert not bad.of_kind("read").before(bad.of_kind("edit"))
    assert bad.of_kind("read").after(bad.of_kind("edit"))


def test_program_with_unknown_effects_can_still_be_after_the_last_edit():
    """Running a program after an edit is certain, although the program itself may edit."""
    edit, script = called("write_file", path="a", content="x"), shell("python3 test_a.py")
    calls = Calls([edit, script])
    edits = calls.of_kind("edit")
    assert calls.of_kind("execute").after(edits).seen == (script,)
    assert calls.of_kind("execute").where(command=re.compile("test_a")).after(edits)
    later = Calls([edit, script, shell("./other")])
    with pytest.raises(Unknowable):
        bool(later.of_kind("execute").where(command=re.compile("test_a")).after(later.of_kind("edit")))


def test_read_after_a_program_with_unknown_effects_may_be_too_late():
    """If a program may have edited first, nobody knows whether the read came before the first edit."""
    early = Calls([called("read_file", path="a"), shell("./run"), called("write_file", path="a", content="x")])
    assert early.of_kind("read").before(early.of_kind("edit"))
    late = Calls([shell("./run"), called("read_file", path="a"), called("write_file", path="a", content="x")])
    with pytest.raises(Unknowable):
        bool(late.of_kind("read").before(late.of_kind("edit")))


@pytest.mark.parametrize(
    "call",
    [
        called("exec_command", cmd="git push --force"),
        called("shell", command=["bash", "-lc", "git push --force"]),
        called("run_commands", commands=["ls", "git push --force"]),
        called("shell", command="git push --force"),
        called("terminal", zeile="git push --force"),
    ],
)
def test_command_is_found_under_any_name(call):
    """codex calls it `cmd`, cline `commands`; a bad agent must not pass because of a name."""
    calls = Calls([call])
    assert calls.of_kind("execute").where(command=re.compile("push --force"))
    assert not calls.of_kind("execute").where(command=re.compile("push --tags"))
    assert calls.where(command="git push --force")


def test_texts_patterns_and_urls_are_found_under_any_name():
    """In the arguments of tools, in shell commands and in patches."""
    patch = "*** Begin Patch\n*** Update File: a\n-x\n+secret\n*** End Patch"
    writes = [
        called("Write", file_path="a", content="my secret"),
        called("edit", filePath="a", oldString="x", newString="secret"),
        called("apply_patch", input=patch),
        shell("cat > a <<'E'\nsecret\nE"),
        shell("echo secret >> a"),
    ]
    for call in writes:
        assert Calls([call]).of_kind("edit").where(content=re.compile("secret")), call
        assert not Calls([call]).of_kind("edit").where(content=re.compile("absent")), call
    assert Calls([called("grep_search", pattern="TODO")]).of_kind("search").where(pattern="TODO")
    assert Calls([shell("rg TODO src")]).of_kind("search").where(pattern="TODO")
    assert Calls([shell("curl https://e.com")]).of_kind("fetch").where(url=re.compile("e.com"))
    assert Calls([called("edit", path="a", before="x", after="y")]).where(old="x", new="y")
    with pytest.raises(Unknowable, match="does not say its content"):
        bool(Calls([shell("sed -i s/x/y/ a")]).of_kind("edit").where(content="y"))


def test_argument_that_no_call_has_is_unknown():
    """A misspelt argument would otherwise be a check that can't fail."""
    with pytest.raises(Unknowable, match=r"no call of write_file has an argument 'contnt'.*they have: path, content"):
        assert not CALLS.of_kind("edit").where(contnt="x")
    with pytest.raises(Unknowable, match=r"no call of shell has an argument 'command'.*: eins, zwei"):
        assert not Calls([called("shell", eins="a", zwei="b")]).of_kind("execute").where(command="rm")
    assert not Calls([]).where(contnt="x")
    assert not CALLS.of_kind("edit").where(command="rm")


def test_argument_of_the_schema_is_known_even_if_no_call_gives_it():
    """The agent offered the argument, and the model did not use it: that is certain."""
    listing = called("list_files", path=".")
    tool = Tool(name="list_files", schema={"properties": {"path": {}, "recursive": {"type": "boolean"}}})
    context = CallContext({id(listing): 0}, tools={"list_files": tool})
    assert not Calls([listing], context=context).where(recursive=True)


def test_first_calls_are_certain_only_before_a_possible_one():
    """Which is the first edit, if the program before it may have edited?"""
    calls = Calls([shell("./run"), called("write_file", path="a", content="x")])
    with pytest.raises(Unknowable):
        bool(calls.of_kind("edit").first(1).where(path="b"))
    assert calls.of_kind("edit").first(2).count() >= 1


@given(st.integers(0, 9), st.integers(0, 9), st.integers(-1, 20), st.integers(0, 9))
def test_count_between_two_numbers_answers_only_what_holds_for_all_of_them(seen, more, other, real):
    """For every number that it may be, an answer is the answer of that number."""
    count = UncertainCount(seen, ("reason",), most=seen + more)
    actual = seen + min(real, more)
    for name in ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"):
        try:
            answer = getattr(count, name)(other)
        except Unknowable:
            continue
        assert answer is getattr(actual, name)(other)
