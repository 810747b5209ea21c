"""Group testing with answers that are always right: what is found, and with how few questions."""

from __future__ import annotations

from hypothesis import given, strategies as st

from demeanor.statistics.group_search import Found, Question, path_length, search
from demeanor.statistics.rate_change import RateDirection

PARTS = tuple(f"p{number:02}" for number in range(40))


def ask(found: Found, *, drops: list[set[str]], rises: str = "", control: RateDirection = "same") -> list[Question]:
    """Search with exact answers; returns the questions."""
    asked = []
    steps = search(PARTS, found)
    try:
        question = next(steps)
        while True:
            asked.append(question)
            answer: RateDirection = control if not question.removed else "same"
            if any(group <= question.removed for group in drops):
                answer = "drop"
            elif rises in question.removed:
                answer = "rise"
            question = steps.send(answer)
    except StopIteration:
        return asked


@st.composite
def disjoint_groups(draw: st.DrawFn) -> list[set[str]]:
    """Up to five sets of one, two or three parts each."""
    order = draw(st.permutations(PARTS))
    sizes = draw(st.lists(st.integers(1, 3), max_size=5))
    return [set(order[sum(sizes[:n]) : sum(sizes[: n + 1])]) for n in range(len(sizes))]


@given(disjoint_groups())
def test_it_finds_exactly_the_sets_that_matter(groups: list[set[str]]):
    """Single parts, and parts that stand in for each other; all others are cleared."""
    found = Found()
    ask(found, drops=groups)
    assert found.done
    assert sorted(sorted(one.parts) for one in found.noticed) == sorted(map(sorted, groups))
    assert {*PARTS} - {part for group in groups for part in group} <= found.cleared


def test_nothing_that_matters_costs_one_question():
    """All parts are removed at once."""
    assert len(ask(Found(), drops=[])) == 1


def test_one_part_that_matters_costs_far_fewer_questions_than_parts():
    """Each level of the search asks at most about both halves."""
    for part in PARTS:
        assert len(ask(found := Found(), drops=[{part}])) <= 2 * path_length(PARTS)
        assert [one.parts for one in found.noticed] == [(part,)]


def test_a_part_that_harms_is_found_behind_one_that_matters():
    """Its rise is hidden as long as the other one is removed too."""
    found = Found()
    ask(found, drops=[{"p03"}], rises="p30")
    assert [(one.parts, one.change) for one in found.noticed] == [(("p03",), "drop"), (("p30",), "rise")]


def test_a_result_that_changed_by_itself_ends_the_search():
    """Nothing is blamed on a removal."""
    found = Found()
    ask(found, drops=[{"p03"}], control="drop")
    assert (found.unsteady, found.noticed, found.done) == ("drop", [], False)


def test_an_effect_of_many_parts_together_is_not_blamed_on_any():
    """It is noted apart."""
    found = Found()
    ask(found, drops=[set(PARTS[::2])])
    assert found.noticed == []
    assert found.diffuse
