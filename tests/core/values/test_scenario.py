"""How requests for confirmation are answered."""

from __future__ import annotations

import pytest

from demeanor.core.values.scenario import Approval


@pytest.mark.parametrize("wrong", [{"default": ()}, {"rules": {"edit": ()}}])
def test_a_script_without_an_answer_is_refused_where_it_is_written(wrong: dict[str, object]):
    with pytest.raises(ValueError, match="has no answers"):
        Approval(**wrong)  # type: ignore[arg-type]


def test_the_last_answer_of_a_script_is_given_from_then_on():
    script = Approval(default=("deny", "allow"))
    assert [script.answer(tool="edit", kind="edit", earlier=earlier) for earlier in range(4)] == [
        "deny",
        "allow",
        "allow",
        "allow",
    ]
