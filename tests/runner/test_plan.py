"""What will be run, before anything is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.config.config import Config
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import USUALLY_PASSES, Policy
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Plan
from demeanor.runner.catalog import Catalog
from demeanor.runner.plan import make_plan, plan_evals

NATIVE = Subject(agent="native", model="scripted")


def an_eval(name: str, policy: Policy = USUALLY_PASSES, **more: object) -> Eval:
    """An eval of which only the name matters."""
    scenario = Scenario(prompts=("do it",), requires_env=more.pop("requires_env", ()))  # type: ignore[arg-type]
    fields: dict[str, object] = {"scenario": scenario, "checks": (), "source": Source(path=Path("evals/eval_x.py"))}
    return Eval(name=name, policy=policy, **{**fields, **more})  # type: ignore[arg-type]


def plan(*evals: Eval, **more: object) -> Plan:
    """A plan for one subject."""
    return make_plan(evals, [NATIVE], **{"environ": {}, **more})  # type: ignore[arg-type]


def test_trials_of_all_cells_come_before_second_trials():
    """Early news is broad: the first trial of each eval runs before the second of any."""
    order = [trial.id for trial in plan(an_eval("a"), an_eval("b"), trials=2).trials()]
    assert order == ["a/native:scripted/1", "b/native:scripted/1", "a/native:scripted/2", "b/native:scripted/2"]


def test_equal_subjects_are_one_and_no_plan_has_a_trial_twice():
    """`--model` makes all subjects of an agent equal; a cell or a trial that is there twice would be counted twice."""
    assert make_plan([an_eval("a")], [NATIVE, replace(NATIVE), NATIVE], environ={}).size == 3
    (cell,) = plan(an_eval("a")).cells
    with pytest.raises(ValueError, match="cell=a/native:scripted"):
        Plan(cells=(cell, replace(cell, trials=())))
    with pytest.raises(ValueError, match="cell=a/native:scripted"):
        Plan(cells=(replace(cell, trials=(*cell.trials, cell.trials[0])),))


def test_the_request_overrides_the_eval_and_the_eval_overrides_the_default():
    """Number of trials: 5 in the request, 7 in the eval, 3 by default."""
    assert plan(an_eval("a", trials=7), trials=5).size == 5
    assert plan(an_eval("a", trials=7)).size == 7
    assert plan(an_eval("a")).size == 3


def test_a_slow_agent_gets_more_time_unless_a_limit_is_set():
    """For each prompt; a limit of the request or of the eval is kept as it is."""
    two = Scenario(prompts=("one", "two"))
    limits = [
        next(plan(an_eval("a", scenario=scenario), start_seconds=lambda subject: 180.0, **more).trials()).timeout
        for scenario, more in (
            (two, {}),
            (two, {"default_timeout": 10.0}),
            (two, {"timeout": 7.0}),
            (replace(two, timeout=5.0), {}),
        )
    ]
    assert limits == [660.0, 370.0, 7.0, 5.0]


def test_the_limit_of_the_configuration_is_kept_for_a_slow_agent():
    """Only the default of Demeanor depends on the agent."""
    one = an_eval("a")
    for table, seconds in (({}, 480.0), ({"timeout": 30.0}, 30.0)):
        catalog = Catalog(config=Config(root=Path.cwd(), **table), environ={})  # type: ignore[arg-type]
        request = RunRequest(subjects=("openhands:scripted",))
        assert next(plan_evals(catalog, [one], request, {}).trials()).timeout == seconds


def test_a_missing_variable_skips_the_cell_with_a_reason():
    """A skipped cell has no trials, and stays in the plan."""
    (cell,) = plan(an_eval("a", requires_env=("API_KEY",))).cells
    assert cell.trials == ()
    assert cell.skipped == "needs the environment variable API_KEY"
    assert plan(an_eval("a", requires_env=("API_KEY",)), environ={"API_KEY": "x"}).size == 3


def test_an_eval_for_other_subjects_is_skipped_if_the_request_names_subjects():
    """Only the subjects of the request are tested."""
    (cell,) = plan(an_eval("a", subjects=("other:m",))).cells
    assert cell.skipped == "only for other:m"


def test_an_evals_own_subjects_and_models_are_used_if_the_request_names_none():
    """`subjects` names subjects; `models` names models for the agents of the run."""
    named = {"subject_named": lambda text: Subject(agent=text.split(":")[0], model=text.split(":")[1])}
    own = plan(an_eval("a", subjects=("other:m",)), an_eval("b", models=("m1", "m2")), **named)
    assert [str(cell.subject) for cell in own.cells] == ["other:m", "native:m1", "native:m2"]


def test_a_trials_seed_depends_on_the_trial_only():
    """Another order, another plan: the same seed."""
    one, two = (next(plan(an_eval("a"), trials=n).trials()) for n in (1, 5))
    assert one.seed(7) == two.seed(7) != one.seed(8)


def test_an_eval_with_gaps_is_skipped():
    """Its verdicts would mean nothing; the reason names the gaps."""
    (cell,) = plan(an_eval("a", gaps=("the file b.txt is not known",))).cells
    assert cell.skipped == "it has 1 gap: the file b.txt is not known"
