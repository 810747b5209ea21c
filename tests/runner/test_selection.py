"""Which evals a request means."""

from __future__ import annotations

import pytest

from demeanor.core.values.errors import NothingToRun, UnknownName, UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import ALWAYS_PASSES
from demeanor.core.values.run_request import RunRequest
from demeanor.runner.selection import select_evals
from tests.runner.test_plan import an_eval


def names(evals: tuple[Eval, ...]) -> list[str]:
    """The names of evals."""
    return [one.name for one in evals]


def test_the_policy_always_selects_always_passes_only():
    """It may select nothing."""
    evals = [an_eval("a"), an_eval("b", ALWAYS_PASSES)]
    assert names(select_evals(evals, RunRequest(policy="always"))) == ["b"]
    assert select_evals(evals[:1], RunRequest(policy="always")) == ()


def test_a_selection_that_matches_nothing_is_an_error():
    """An accepted run of nothing would be misleading."""
    with pytest.raises(NothingToRun, match="no eval matches"):
        select_evals([an_eval("a", suite="s"), an_eval("b", tags=("t",))], RunRequest(suites=("s",), keyword="t"))


def test_an_unknown_suite_is_an_error():
    """Also beside a known one, which would hide the typing error."""
    with pytest.raises(UnknownName, match="unknown suite 'absent'"):
        select_evals([an_eval("a", suite="s")], RunRequest(suites=("s", "absent")))


def test_an_unknown_name_is_an_error_with_a_suggestion():
    """A typing error is found before anything runs."""
    with pytest.raises(UnknownName, match="did you mean 'saves_note'"):
        select_evals([an_eval("saves_note")], RunRequest(names=("save_note",)))


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("notes", ["notes_a", "notes_slow"]),
        ("notes and not slow", ["notes_a"]),
        ("(notes or 01-edit) and not slow", ["notes_a", "01-edit"]),
        ("smoke", ["01-edit"]),
        ("NOTES", ["notes_a", "notes_slow"]),
        ("Notes Slow or 01 edit", ["notes_slow", "01-edit"]),
        ("slow notes or smoke", ["01-edit"]),
    ],
)
def test_keywords_select_as_in_pytest(expression: str, found: list[str]):
    """Words and phrases in names, tags and suites, with and, or, not and brackets."""
    evals = [an_eval("notes_a"), an_eval("notes_slow"), an_eval("01-edit", tags=("smoke",))]
    assert names(select_evals(evals, RunRequest(keyword=expression))) == found


@pytest.mark.parametrize("expression", ["and", "a and", "(a", "a )", "not", "a not b", "-"])
def test_a_broken_expression_is_refused(expression: str):
    """No guess is made."""
    with pytest.raises(UsageError, match="is not a valid expression"):
        select_evals([an_eval("a")], RunRequest(keyword=expression))


def test_suites_and_keywords_select():
    """An eval must match both if both are given."""
    evals = [an_eval("a", suite="s"), an_eval("b", suite="s", tags=("wanted",)), an_eval("c", tags=("wanted",))]
    assert names(select_evals(evals, RunRequest(suites=("s",)))) == ["a", "b"]
    assert names(select_evals(evals, RunRequest(suites=("s",), keyword="wanted"))) == ["b"]
