"""Which evals a request means."""

from __future__ import annotations

import pytest

from demeanor.core.errors import NothingToRun, UnknownName, UsageError
from demeanor.core.eval import Eval
from demeanor.core.policy import ALWAYS_PASSES
from demeanor.runner.selection import EvalFilter, choose
from tests.runner.test_plan import an_eval


def names(evals: tuple[Eval, ...]) -> list[str]:
    """The names of evals."""
    return [one.name for one in evals]


def test_the_policy_always_selects_always_passes_only():
    """It may select nothing."""
    evals = [an_eval("a"), an_eval("b", ALWAYS_PASSES)]
    assert names(choose(evals, EvalFilter(policy="always"))) == ["b"]
    assert choose(evals[:1], EvalFilter(policy="always")) == ()


def test_a_selection_that_matches_nothing_is_an_error():
    """An accepted run of nothing would be misleading."""
    with pytest.raises(NothingToRun, match="no eval matches"):
        choose([an_eval("a", suite="s"), an_eval("b", tags=("t",))], EvalFilter(suites=("s",), tags=("t",)))


@pytest.mark.parametrize(
    ("selection", "kind"),
    [(EvalFilter(suites=("s", "absent")), "suite"), (EvalFilter(tags=("t", "absent")), "tag")],
)
def test_an_unknown_suite_or_tag_is_an_error(selection: EvalFilter, kind: str):
    """Also beside a known one, which would hide the typing error."""
    with pytest.raises(UnknownName, match=f"unknown {kind} 'absent'"):
        choose([an_eval("a", suite="s", tags=("t",))], selection)


def test_an_unknown_name_is_an_error_with_a_suggestion():
    """A typing error is found before anything runs."""
    with pytest.raises(UnknownName, match="did you mean 'saves_note'"):
        choose([an_eval("saves_note")], EvalFilter(names=("save_note",)))


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("notes", ["notes_a", "notes_slow"]),
        ("notes and not slow", ["notes_a"]),
        ("(notes or 01-edit) and not slow", ["notes_a", "01-edit"]),
        ("smoke", ["01-edit"]),
        ("NOTES", ["notes_a", "notes_slow"]),
    ],
)
def test_keywords_select_as_in_pytest(expression: str, found: list[str]):
    """Words in names, tags and suites, with and, or, not and brackets."""
    evals = [an_eval("notes_a"), an_eval("notes_slow"), an_eval("01-edit", tags=("smoke",))]
    assert names(choose(evals, EvalFilter(keyword=expression))) == found


@pytest.mark.parametrize("expression", ["and", "a and", "(a", "a )", "not", "a b"])
def test_a_broken_expression_is_refused(expression: str):
    """No guess is made."""
    with pytest.raises(UsageError, match="is not a valid expression"):
        choose([an_eval("a")], EvalFilter(keyword=expression))


def test_suites_and_tags_select():
    """An eval must match both if both are given."""
    evals = [an_eval("a", suite="s"), an_eval("b", suite="s", tags=("t",)), an_eval("c", tags=("t",))]
    assert names(choose(evals, EvalFilter(suites=("s",)))) == ["a", "b"]
    assert names(choose(evals, EvalFilter(suites=("s",), tags=("t",)))) == ["b"]
