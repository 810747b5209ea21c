"""What will be run, before anything is."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.errors import NothingToRun, UnknownName, UsageError
from demeanor.core.eval import Eval, Source
from demeanor.core.policy import ALWAYS_PASSES, USUALLY_PASSES, Policy
from demeanor.core.scenario import Scenario
from demeanor.core.subject import Subject
from demeanor.core.trial import Plan
from demeanor.runner.plan import EvalFilter, choose, make_plan

NATIVE = Subject(agent="native", model="scripted")


def an_eval(name: str, policy: Policy = USUALLY_PASSES, **more: object) -> Eval:
    """An eval of which only the name matters."""
    scenario = Scenario(prompts=("do it",), requires_env=more.pop("requires_env", ()))  # type: ignore[arg-type]
    fields: dict[str, object] = {"scenario": scenario, "checks": (), "source": Source(path=Path("evals/eval_x.py"))}
    return Eval(name=name, policy=policy, **{**fields, **more})  # type: ignore[arg-type]


def names(evals: tuple[Eval, ...]) -> list[str]:
    """Their names."""
    return [one.name for one in evals]


def plan(*evals: Eval, **more: object) -> Plan:
    """A plan for one subject."""
    return make_plan(evals, [NATIVE], **{"environ": {}, **more})  # type: ignore[arg-type]


def test_trials_of_all_cells_come_before_second_trials():
    """Early news is broad: the first trial of each eval runs before the second of any."""
    order = [trial.id for trial in plan(an_eval("a"), an_eval("b"), trials=2).trials()]
    assert order == ["a/native:scripted/1", "b/native:scripted/1", "a/native:scripted/2", "b/native:scripted/2"]


def test_the_command_line_overrules_the_eval_and_the_eval_the_default():
    """Trials: 5 asked for beat 7 of the eval, which beat 3."""
    assert plan(an_eval("a", trials=7), trials=5).size == 5
    assert plan(an_eval("a", trials=7)).size == 7
    assert plan(an_eval("a")).size == 3


def test_a_missing_variable_skips_the_cell_visibly():
    """Skipped is neither failed nor forgotten."""
    (cell,) = plan(an_eval("a", requires_env=("API_KEY",))).cells
    assert cell.trials == ()
    assert cell.skipped == "needs the environment variable API_KEY"
    assert plan(an_eval("a", requires_env=("API_KEY",)), environ={"API_KEY": "x"}).size == 3


def test_an_eval_meant_for_another_subject_is_skipped_where_subjects_are_asked_for():
    """Nobody is tried who was not asked for."""
    (cell,) = plan(an_eval("a", subjects=("other:m",))).cells
    assert cell.skipped == "meant for other:m"


def test_an_evals_own_subjects_and_models_count_where_nobody_was_asked_for():
    """`subjects` names whom, `models` names models for whichever agent runs."""
    named = {"subject_named": lambda text: Subject(agent=text.split(":")[0], model=text.split(":")[1])}
    own = plan(an_eval("a", subjects=("other:m",)), an_eval("b", models=("m1", "m2")), **named)
    assert [str(cell.subject) for cell in own.cells] == ["other:m", "native:m1", "native:m2"]


def test_the_always_policy_leaves_the_others_out():
    """Only ALWAYS_PASSES gates."""
    evals = [an_eval("a"), an_eval("b", ALWAYS_PASSES)]
    assert names(choose(evals, EvalFilter(policy="always"))) == ["b"]
    assert choose(evals[:1], EvalFilter(policy="always")) == ()


def test_nothing_that_fits_is_an_error():
    """A green run of nothing reassures nobody."""
    with pytest.raises(NothingToRun, match="no eval was found"):
        choose([an_eval("a")], EvalFilter(tags=("absent",)))


def test_an_unknown_name_is_told_with_the_nearest():
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
def test_keywords_choose_as_in_pytest(expression: str, found: list[str]):
    """Words in names, tags and suites, with and, or, not and brackets."""
    evals = [an_eval("notes_a"), an_eval("notes_slow"), an_eval("01-edit", tags=("smoke",))]
    assert names(choose(evals, EvalFilter(keyword=expression))) == found


@pytest.mark.parametrize("expression", ["and", "a and", "(a", "a )", "not", "a b"])
def test_a_broken_expression_is_refused(expression: str):
    """No guess is made."""
    with pytest.raises(UsageError, match="is not a valid expression"):
        choose([an_eval("a")], EvalFilter(keyword=expression))


def test_suites_and_tags_choose():
    """Both must fit where both are given."""
    evals = [an_eval("a", suite="s"), an_eval("b", suite="s", tags=("t",)), an_eval("c", tags=("t",))]
    assert names(choose(evals, EvalFilter(suites=("s",)))) == ["a", "b"]
    assert names(choose(evals, EvalFilter(suites=("s",), tags=("t",)))) == ["b"]


def test_a_trials_seed_depends_on_the_trial_only():
    """Another order, another plan: the same seed."""
    one, two = (next(plan(an_eval("a"), trials=n).trials()) for n in (1, 5))
    assert one.seed(7) == two.seed(7) != one.seed(8)
