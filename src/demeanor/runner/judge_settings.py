"""Gives evals the project's judge, and checks before a run that their judges can be asked."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from demeanor.config import Config
from demeanor.core.values.checks import FunctionCheck, JudgeCheck
from demeanor.core.values.errors import BadInput, UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.fingerprints import asks_judge
from demeanor.core.values.judge_question import JudgeSettings
from demeanor.gateway.local import DEFAULT_MODEL
from demeanor.judge import INSTRUCTIONS
from demeanor.runner.users import with_user

if TYPE_CHECKING:
    from demeanor.runner.catalog import Catalog


def with_judge(evals: Iterable[Eval], config: Config) -> tuple[Eval, ...]:
    """The evals; those that may ask a judge get the project's, and simulated users get its model."""
    prepared = tuple(with_user(eval_, config.judge.model or DEFAULT_MODEL) for eval_ in evals)
    if not any(map(asks_judge, prepared)):
        return prepared
    settings = JudgeSettings(model=config.judge.model or DEFAULT_MODEL, instructions=_instructions(config))
    return tuple(replace(eval_, judge=settings) if asks_judge(eval_) else eval_ for eval_ in prepared)


def _instructions(config: Config) -> str:
    if not config.judge.prompt:
        return INSTRUCTIONS
    path = config.root / config.judge.prompt
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} can't be read: {error}", where=config.where, key="judge.prompt") from None
    if not text:
        raise BadInput(f"{path} is empty", where=config.where, key="judge.prompt")
    return f"{text}\n"


def check_judges(catalog: Catalog, evals: Iterable[Eval]) -> tuple[str, ...]:
    """The models of the evals' judges; raises UsageError if one of them can't be asked."""
    models = dict.fromkeys(model for eval_ in evals for model in _models(eval_))
    named = catalog.config.judge.model
    for model in models:
        try:
            catalog.models.model(model, f"{catalog.config.where}: judge.model" if model == named else None)
        except UsageError as error:
            hint = "" if named else f'\n  → or name another judge in {catalog.config.where.name}: [judge] model = "…"'
            raise UsageError(f"the judge can't be asked: {error}{hint}") from None
    return tuple(models)


def _models(eval_: Eval) -> Iterable[str]:
    """The models that its judges use, as far as that is known before they are asked."""
    for check in eval_.checks if asks_judge(eval_) else ():
        if isinstance(check, JudgeCheck):
            yield check.model or eval_.judge.model
        elif isinstance(check, FunctionCheck) and not _names_model(check):
            yield eval_.judge.model


def _names_model(check: FunctionCheck) -> bool:
    """Whether the function seems to name the model of its judge itself."""
    try:
        return "model=" in inspect.getsource(check.function)
    except (OSError, TypeError):
        return False
