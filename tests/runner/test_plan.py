"""What will be run, before anything is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.config.config import Config
from demeanor.core.values.errors import UsageError
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
    assert cell.skipped == "only for other:m, as its subjects= says; without --subject it runs with these"


OWN = (
    an_eval("a", subjects=("native:scripted", "sh")),
    an_eval("b", models=("claude-sonnet-4-20250514", "gpt-4o")),
)
SH = {"agents": {"sh": {"adapter": "command", "command": ["true", "{prompt}"]}}}


def subjects_of(tmp_path: Path, *evals: Eval, environ: dict[str, str] | None = None, **more: object) -> list[str]:
    """The subjects of a run with the agents native and sh, the latter of which asks no model."""
    request = RunRequest(**{"subjects": (), **more})  # type: ignore[arg-type]
    config = Config(root=tmp_path, subjects=("native:scripted", "sh"), **SH)  # type: ignore[arg-type]
    catalog = Catalog(config=config, environ=environ or {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"})
    return [str(cell.subject) for cell in plan_evals(catalog, evals, request, catalog.environ).cells]


def test_an_evals_own_subjects_and_models_are_used_if_the_request_names_none(tmp_path: Path):
    """`subjects` names subjects; `models` names models for the agents of the run, as their makers write them."""
    pairs = [f"{agent}:{model}" for agent in ("native", "sh") for model in OWN[1].models]
    assert subjects_of(tmp_path, *OWN) == ["native:scripted", "sh", *pairs]
    assert subjects_of(tmp_path, OWN[1], subjects=("native", "sh:x")) == ["sh:x", *pairs[:2]]
    assert subjects_of(tmp_path, *OWN[1:], model="gemini-2.5-pro", environ={"CLINE_API_KEY": "k"}) == [
        "native:gemini-2.5-pro",
        "sh:gemini-2.5-pro",
    ]


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"subjects": ("native:xyz",)}, "--subject: unknown model 'xyz'"),
        ({"subjects": ("nobody:xyz",)}, "--subject: unknown agent 'nobody'"),
        ({"subjects": ("native",)}, "--subject: subject 'native' has no model"),
        ({"model": "xyz"}, "--model: unknown model 'xyz'"),
        ({"model": "gpt-4o"}, "--model: providers.openai.key_env: the variable OPENAI_API_KEY is not set"),
        ({}, "eval_x.py: models: unknown model 'xyz'"),
    ],
)
def test_an_error_names_the_place_where_the_value_is_written(tmp_path: Path, request_: dict[str, object], told: str):
    """An option or the eval, and not the configuration, which does not even exist."""
    one = an_eval("b", models=() if request_ else ("xyz",))
    with pytest.raises(UsageError, match=re.escape(told)):
        subjects_of(tmp_path, one, environ={"A": "b"}, **request_)


def test_an_error_names_the_key_of_the_configuration(tmp_path: Path):
    """As well as its file."""
    config = Config(root=tmp_path, file=tmp_path / "demeanor.toml", subjects=("native:xyz",))
    with pytest.raises(UsageError, match=r"demeanor\.toml: subjects: unknown model 'xyz'"):
        plan_evals(Catalog(config=config, environ={}), [an_eval("a")], RunRequest(), {})


def test_a_trials_seed_depends_on_the_trial_only():
    """Another order, another plan: the same seed."""
    one, two = (next(plan(an_eval("a"), trials=n).trials()) for n in (1, 5))
    assert one.seed(7) == two.seed(7) != one.seed(8)


def test_an_eval_with_gaps_is_skipped():
    """Its verdicts would mean nothing; the reason names the gaps."""
    (cell,) = plan(an_eval("a", gaps=("the file b.txt is not known",))).cells
    assert cell.skipped == "it has 1 gap: the file b.txt is not known"
