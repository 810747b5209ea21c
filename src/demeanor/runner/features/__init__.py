"""The features of an attempt, one class each. An attempt applies those of its run in this order."""

from __future__ import annotations

from collections.abc import Iterable

from demeanor.core.values.eval import Eval
from demeanor.core.values.trial import Trial
from demeanor.runner.features.canary_token import CanaryToken
from demeanor.runner.features.conversation import (
    ApprovalAnswers,
    EarlierMessages,
    StartingPrefix,
    SteeringMessages,
)
from demeanor.runner.features.debug_log import DebugLog
from demeanor.runner.features.feature import Feature, Services
from demeanor.runner.features.home_files import HomeFiles
from demeanor.runner.features.mcp_servers import McpServers
from demeanor.runner.features.users import Users

__all__ = ["Feature", "Services", "asked_models", "run_features", "sessions_of"]

_OF_SCENARIOS: tuple[Feature, ...] = (
    Users(),
    EarlierMessages(),
    StartingPrefix(),
    ApprovalAnswers(),
    SteeringMessages(),
    McpServers(),
    HomeFiles(),
)


def run_features(*, canary: bool, agent_debug: bool) -> tuple[Feature, ...]:
    """The features of a run."""
    chosen = [*_OF_SCENARIOS]
    if agent_debug:
        chosen.append(DebugLog())
    if canary:
        chosen.append(CanaryToken())
    return tuple(chosen)


def asked_models(evals: Iterable[Eval]) -> tuple[str, ...] | None:
    """The models that features ask in trials of these evals; None if none of them needs the gateway."""
    evals = tuple(evals)
    asked = [models for feature in _OF_SCENARIOS if (models := feature.models(evals)) is not None]
    return tuple(dict.fromkeys(model for models in asked for model in models)) if asked else None


def sessions_of(trial: Trial) -> tuple[Trial, ...]:
    """A trial, and those under whose ids its features ask models."""
    return (trial, *(session for feature in _OF_SCENARIOS for session in feature.sessions(trial)))
