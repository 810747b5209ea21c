"""Two trajectories side by side."""

from __future__ import annotations

from hypothesis import given, strategies as st

from demeanor.core.values.trajectory import Called, Event, Kind, Said, Thought
from demeanor.results.trajectory_diff import Pair, align, distance, first_divergence

TOOLS = st.sampled_from(["read_file", "write_file", "shell"])
CALLS = st.builds(
    lambda tool, path: Called(turn=1, id="", tool=tool, kind=Kind.OTHER, arguments={"path": path}),
    TOOLS,
    st.sampled_from(["a", "b"]),
)
EVENTS = st.lists(st.one_of(CALLS, st.builds(lambda text: Said(turn=1, text=text), st.text(max_size=3))), max_size=12)


def call(tool: str, **arguments: str) -> Called:
    """A call."""
    return Called(turn=1, id="", tool=tool, kind=Kind.OTHER, arguments=arguments)


def test_they_part_where_one_does_not_read_first():
    """The failing trial edits at once; the passing one reads, and then does the same."""
    edit = call("edit_file", path="a", new="x")
    pairs = align([edit, Said(turn=2, text="Done.")], [call("read_file", path="a"), edit, Said(turn=3, text="Ready.")])
    assert [pair.same for pair in pairs] == [False, True, True]
    assert pairs[0] == Pair(left=None, right=call("read_file", path="a"), same=False)
    assert first_divergence(pairs) == 0


def test_the_same_tool_with_other_arguments_stands_side_by_side():
    """They part there, and one sees at once how."""
    before, after = call("read_file", path="a"), call("shell", command="ls")
    pairs = align([before, call("write_file", path="b"), after], [before, call("write_file", path="c"), after])
    assert [(pair.same, pair.left is not None, pair.right is not None) for pair in pairs] == [
        (True, True, True),
        (False, True, True),
        (True, True, True),
    ]


@given(EVENTS, EVENTS)
def test_nothing_is_lost_and_nothing_changes_its_place(left: list[Event], right: list[Event]):
    """Each side of the pairs is that side's own story."""
    pairs = align(left, right)
    assert [pair.left for pair in pairs if pair.left is not None] == left
    assert [pair.right for pair in pairs if pair.right is not None] == right
    assert distance(left, right) == sum(not pair.same for pair in pairs)


@given(EVENTS)
def test_a_story_never_parts_from_itself(events: list[Event]):
    """Thoughts do not count: they differ from trial to trial."""
    pairs = align(events, [Thought(turn=1, text="hm"), *events])
    assert first_divergence(pairs) is None
    assert distance(events, events) == 0


def test_the_work_is_bounded_however_many_steps_there_are():
    """An agent decides how many calls it makes. Beyond the limit, steps are paired by their position."""
    left = [call("shell", command=str(number)) for number in range(20_000)]
    right = [one for number, own in enumerate(left) for one in (own, call(f"tool{number}", command="x"))]
    pairs = align(left, right)
    assert [pair.left for pair in pairs if pair.left is not None] == left
    assert [pair.right for pair in pairs if pair.right is not None] == right
    assert first_divergence(pairs) == 1
