"""Which checks certainly need a sub-agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from demeanor.define.python.implied_needs import implied_needs


def reads_one(rig: Any, result: str) -> None:
    """As most checks of sub-agents."""
    assert "eval" in result
    assert rig.sub_agents[0].calls.of_kind("read").where(path="parser.py")


def names_one(rig: Any, result: str) -> None:
    """Before the assert."""
    helper = rig.sub_agents[-1]
    assert helper.said


def there_is_one(rig: Any, result: str) -> None:
    """The first is enough."""
    assert result
    assert rig.sub_agents


def there_are_some(rig: Any, result: str) -> None:
    """Counted."""
    assert len(rig.sub_agents) >= 1


def there_are_two(rig: Any, result: str) -> None:
    """Counted by the view itself."""
    assert rig.sub_agents.count() == 2, result


def unpacked(rig: Any, result: str) -> None:
    """Another number is an error."""
    (helper,) = rig.sub_agents
    assert helper.said


def any_of_them(rig: Any, result: str) -> None:
    """None of none is false."""
    assert any(helper.said for helper in rig.sub_agents)


def there_is_none(rig: Any, result: str) -> None:
    """An agent without sub-agents can pass."""
    assert not rig.sub_agents
    assert rig.sub_agents.count() == 0
    assert len(rig.sub_agents) < 2
    assert rig.sub_agents.count() != 3
    (*helpers,) = rig.sub_agents
    assert not any(helper.said for helper in helpers)


def perhaps(rig: Any, result: str) -> None:
    """Only if there is one."""
    assert result or rig.sub_agents[0].said
    assert all(helper.said for helper in rig.sub_agents[:1])
    assert rig.sub_agents[0].said if rig.sub_agents else True


def in_a_branch(rig: Any, result: str) -> None:
    """It may have returned before."""
    if not rig.sub_agents:
        return
    assert rig.sub_agents[0].said


@pytest.mark.parametrize(
    "check", [reads_one, names_one, there_is_one, there_are_some, there_are_two, unpacked, any_of_them]
)
def test_a_check_that_can_not_pass_without_a_sub_agent_needs_one(check: Callable[..., None]):
    """Whatever comes before it is evaluated in any case."""
    assert implied_needs(check) == ("sub_agents",)


@pytest.mark.parametrize("check", [there_is_none, perhaps, in_a_branch])
def test_nothing_is_concluded_from_a_check_that_may_pass_without_one(check: Callable[..., None]):
    """Such an eval runs with every agent."""
    assert implied_needs(check) == ()
