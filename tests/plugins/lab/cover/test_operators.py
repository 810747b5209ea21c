"""What can be done to which instruction."""

from __future__ import annotations

from demeanor.core.text.instructions import PromptInstruction
from demeanor.core.values.intervention import Intervention
from demeanor.plugins.lab.cover.workflow import change, changeable

SENT = tuple(
    PromptInstruction(id=name, kind="sentence", place=place, text=text)
    for name, place, text in (
        ("a", "system", "One."),
        ("b", "system", "Two, or three."),
        ("c", "system", "Four."),
        ("d", "edit", "Edit. Ask first."),
    )
)


def test_only_what_an_operator_can_change_is_tried() -> None:
    """Pairs for a swap do not overlap, so that groups of them can be swapped at once."""
    assert [*changeable("remove", SENT)] == ["a", "b", "c", "d"]
    assert [*changeable("shorten", SENT)] == ["b", "d"]
    assert changeable("swap", SENT) == {"a": "b"}


def test_each_operator_is_an_intervention() -> None:
    """Of all chosen instructions at once."""
    assert change("remove", {"b", "a"}, {}) == Intervention(without=("a", "b"))
    assert change("negate", {"a"}, {}) == Intervention(negated=("a",))
    assert change("shorten", {"a"}, {}) == Intervention(shortened=("a",))
    assert change("swap", {"a"}, {"a": "b"}) == Intervention(swapped=(("a", "b"),))
