"""What Harbor wrote of one trial."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.evidence import Spent
from demeanor.core.values.verdict import VoidCause
from demeanor.plugins.harbor.format.trial_result import HarborException, numbers_in, read_outcome, read_spent

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)
KEYS = ("verifier_result", "exception_info", "step_results", "rewards", "step_name", "exception_type")


def result(rewards: Any = None, error: str | None = None, steps: Any = None, *, began: bool = True) -> dict[str, Any]:
    """A trial's result.json, as far as it matters."""
    return {
        "agent_execution": {"started_at": "2026-01-02T03:04:05Z"} if began else None,
        "verifier_result": None if rewards is None else {"rewards": rewards},
        "exception_info": error and {"exception_type": error, "exception_message": "why"},
        "step_results": steps,
    }


def step(name: str, rewards: Any = None, error: str | None = None) -> dict[str, Any]:
    """One step of it."""
    return {**result(rewards, error), "step_name": name}


def test_a_reward_counts():
    """All rewards are kept, by their keys."""
    outcome = read_outcome(result({"reward": 0.5, "tests": 2}))
    assert (outcome.rewards, outcome.failure, outcome.agent_error) == ({"reward": 0.5, "tests": 2.0}, None, None)


def test_a_missing_reward_is_void_and_never_zero():
    """Also where nothing was raised."""
    assert read_outcome(result()).failure == (VoidCause.VERIFIER, "the verifier gave no reward")
    assert read_outcome(result(error="RewardFileNotFoundError")).failure == (
        VoidCause.VERIFIER,
        "RewardFileNotFoundError: why",
    )


@pytest.mark.parametrize("kind", ["AgentTimeoutError", "ContextWindowExceededError", "NonZeroAgentExitCodeError"])
def test_what_the_agent_brought_about_counts_with_its_reward(kind: str):
    """An agent's own time-out is its own doing."""
    outcome = read_outcome(result({"reward": 1}, error=kind))
    assert (outcome.rewards, outcome.failure) == ({"reward": 1.0}, None)
    assert outcome.agent_error is not None
    assert outcome.agent_error.kind == kind
    assert read_outcome(result(error=kind)).failure == (
        VoidCause.VERIFIER,
        f"the verifier gave no reward ({kind}: why)",
    )


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("EnvironmentStartTimeoutError", VoidCause.SANDBOX),
        ("AgentSetupTimeoutError", VoidCause.SANDBOX),
        ("SandboxBuildFailedError", VoidCause.SANDBOX),
        ("SandboxUnsupportedError", VoidCause.SANDBOX),
        ("HealthcheckError", VoidCause.SANDBOX),
        ("DaytonaSandboxError", VoidCause.SANDBOX),
        ("ApiRateLimitError", VoidCause.RATE_LIMIT),
        ("ApiUsageLimitError", VoidCause.BUDGET),
        ("ApiOverloadedError", VoidCause.PROVIDER),
        ("UnknownApiError", VoidCause.PROVIDER),
        ("NetworkConnectionError", VoidCause.PROVIDER),
        ("ApiResponseStalledError", VoidCause.STALLED),
        ("AgentAuthenticationError", VoidCause.AUTH),
        ("ModelNotFoundError", VoidCause.AUTH),
        ("VerifierTimeoutError", VoidCause.VERIFIER),
        ("VerifierOutputParseError", VoidCause.VERIFIER),
        ("AddTestsDirError", VoidCause.VERIFIER),
        ("MissingExtraError", VoidCause.MISSING),
        ("CancelledError", VoidCause.CANCELLED),
        ("RuntimeError", VoidCause.HARNESS),
    ],
)
def test_what_broke_around_the_agent_is_void_with_its_cause(kind: str, cause: VoidCause):
    """Whatever the reward says."""
    assert read_outcome(result({"reward": 1}, error=kind)).failure == (cause, f"{kind}: why")
    assert not HarborException(kind=kind).caused_by_agent


@pytest.mark.parametrize("kind", ["NetworkConnectionError", "NonZeroAgentExitCodeError", "ApiRateLimitError"])
def test_an_agent_that_never_began_had_no_provider(kind: str):
    """It could not be installed."""
    assert read_outcome(result(error=kind, began=False)).failure == (VoidCause.SANDBOX, f"{kind}: why")


def test_steps_keep_their_rewards():
    """Each by its name."""
    steps = [step("one", {"reward": 1}), step("two", {"reward": 0}, error="AgentTimeoutError")]
    outcome = read_outcome(result({"reward": 0.5}, steps=steps))
    assert outcome.step_rewards == {"one": {"reward": 1.0}, "two": {"reward": 0.0}}
    assert outcome.failure is None
    assert str(outcome.agent_error) == "step two: AgentTimeoutError: why"


def test_a_step_without_a_reward_is_not_left_out_of_the_mean():
    """Harbor's own mean would be 1."""
    steps = [step("one", {"reward": 1}), step("two")]
    assert read_outcome(result({"reward": 1}, steps=steps)).failure == (
        VoidCause.VERIFIER,
        "the verifier gave no reward for step two",
    )
    steps = [step("one", {"reward": 1}), step("two", error="HealthcheckError")]
    assert read_outcome(result({"reward": 1}, steps=steps)).failure == (
        VoidCause.SANDBOX,
        "step two: HealthcheckError: why",
    )


@pytest.mark.parametrize("rewards", [{}, {"reward": "1"}, {"reward": True}, {"reward": float("nan")}, [1], "1"])
def test_what_is_no_number_is_no_reward(rewards: Any):
    """True is not 1."""
    assert numbers_in(rewards) is None


def test_what_was_used_is_summed_over_steps():
    """As far as Harbor says anything."""
    steps = [{"agent_result": {"n_input_tokens": 3, "n_output_tokens": None, "cost_usd": 0.5}}, {"agent_result": None}]
    assert read_spent({"agent_result": None, "step_results": [*steps, *steps]}) == Spent(input_tokens=6, cost_usd=1.0)
    assert read_spent({"agent_result": {"n_input_tokens": None}}) is None
    assert read_spent({"agent_result": {"n_input_tokens": "3", "cost_usd": float("nan")}}) is None


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6))
def test_nothing_that_a_file_may_hold_breaks_the_reader(data: dict[str, Any]):
    """It says void where it can't read."""
    read_spent(data)
    outcome = read_outcome(data)
    assert (outcome.failure is None) <= (outcome.rewards is not None)
    json.dumps([outcome.rewards, outcome.step_rewards])
