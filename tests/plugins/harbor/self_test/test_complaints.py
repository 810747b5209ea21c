"""What goes of the solution, and of doing nothing, have against a task."""

from __future__ import annotations

import pytest

from demeanor.core.values.capture import Breakdown, Capture
from demeanor.core.values.checks import RewardCheck
from demeanor.core.values.process import Output
from demeanor.core.values.verdict import VoidCause
from demeanor.judge.offline_test import SelfTestFault
from demeanor.plugins.harbor.self_test.complaints import needs_network, task_complaints

CHECK = RewardCheck()


def left(reward: float | None = None, **more) -> Capture:
    rewards = None if reward is None else {"reward": reward}
    return Capture(**{"trial": "t", "attempt": 1, "rewards": rewards, **more})


def complaints(oracle, nothing, check=CHECK):
    return [(one.fault, one.detail) for one in task_complaints(check, oracle, nothing)]


def test_a_sound_task_has_no_complaint():
    """The solution gets 1 every time, doing nothing 0."""
    assert complaints([left(1), left(1)], [left(0), left(0)]) == []


@pytest.mark.parametrize(
    ("oracle", "nothing", "fault", "message"),
    [
        (
            [left(0.5)],
            [left(0)],
            SelfTestFault.IMPOSSIBLE,
            "the solution gets reward 0.5, but reward must be at least 1",
        ),
        ([left(1)], [left(1)], SelfTestFault.VACUOUS, "doing nothing gets reward 1, which passes"),
        ([left(1)], [left(0.5)], SelfTestFault.VACUOUS, "doing nothing gets reward 0.5, but reward must be 0"),
        ([left(1), left(2)], [left(0)], SelfTestFault.UNSTABLE, "reward 1\nreward 2"),
        ([left(1)], [left(0), left(-1)], SelfTestFault.UNSTABLE, "doing nothing gets different rewards"),
        ([left(None)], [left(0)], SelfTestFault.CRASHED, "the solution: the verifier gave no reward"),
        ([left(1)], [left(None)], SelfTestFault.CRASHED, "doing nothing: the verifier gave no reward"),
        ([left(1, rewards={"rewrad": 1})], [left(0)], SelfTestFault.CRASHED, "gave no 'reward', only rewrad 1"),
    ],
)
def test_what_is_wrong_is_named(oracle, nothing, fault, message):
    """By its kind, with the rewards that were seen."""
    found = complaints(oracle, nothing)
    assert fault in [kind for kind, _ in found]
    assert any(message in detail for _, detail in found)


def test_a_void_tells_what_broke_and_what_was_printed():
    """The verifier's output is there, with nothing in it that could play with a terminal."""
    broken = left(
        breakdown=Breakdown(cause=VoidCause.SANDBOX, detail="no space left"),
        task_files={"verifier/test-stdout.txt": Output(text="\x1b[2Jno module named ledger")},
    )
    ((fault, detail),) = complaints([broken], [left(0)])
    assert fault is SelfTestFault.CRASHED
    assert "no space left" in detail
    assert "no module named ledger" in detail
    assert "\x1b" not in detail


def test_the_task_says_what_is_enough():
    """Its own key and its own least reward."""
    check = RewardCheck(key="share", at_least=0.5)
    some, none = left(rewards={"share": 0.5, "reward": 0.0}), left(rewards={"share": 0.0, "reward": 1.0})
    assert complaints([some], [none], check) == []


def test_only_a_solution_that_passes_with_a_network_needs_one():
    """Otherwise it is simply wrong."""
    found = needs_network(CHECK, left(1))
    assert found is not None
    assert found.fault is SelfTestFault.NETWORK
    assert "network_mode" in found.detail
    assert needs_network(CHECK, left(0)) is None
