"""The rules of a user: which reply fits a message, and how often."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.codec import decode, encode
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.user import ScriptedUser, SimulatedUser, UserReply, scripted_reply


def test_a_reply_with_a_condition_is_repeated_and_one_without_is_given_once() -> None:
    rules = (UserReply("blue", when="Which  colour*?"), UserReply("go on"))
    used: dict[int, int] = {}
    said = [scripted_reply(rules, message, used) for message in ("which\ncolour is it?", "hm", "WHICH COLOUR?", "hm")]
    assert said == ["blue", "go on", "blue", None]


@given(st.text(min_size=1), st.text(), st.text())
def test_a_condition_without_wildcards_fits_exactly_the_messages_that_contain_it(when: str, left: str, right: str):
    plain = when.replace("*", "")
    assert UserReply("x", when=plain).fits(f"{left} {plain} {right}", 5 if plain else 0)
    missing = UserReply("x", when="\x00never").fits(f"{left}{right}".replace("\x00", ""), 0)
    assert not missing


@given(st.integers(1, 5))
def test_times_limits_how_often_a_reply_is_given(times: int) -> None:
    used: dict[int, int] = {}
    said = [scripted_reply((UserReply("x", times=times),), "", used) for _ in range(times + 2)]
    assert said == ["x"] * times + [None, None]


@pytest.mark.parametrize(
    "make",
    [
        lambda: UserReply(" "),
        lambda: UserReply("x", times=0),
        ScriptedUser,
        lambda: ScriptedUser(replies=("x",), reply=lambda rig: None),  # type: ignore[arg-type]
        lambda: ScriptedUser(replies=("x",), max_turns=0),  # type: ignore[arg-type]
        lambda: SimulatedUser(goal=""),
        lambda: ScriptedUser(replies=(3,)),  # type: ignore[arg-type]
    ],
)
def test_a_user_who_can_say_nothing_is_refused(make: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "user", [ScriptedUser(replies=(UserReply("x", when="y"),)), SimulatedUser(goal="g", answers=(UserReply("x"),))]
)
def test_a_user_can_be_sent_to_a_worker(user: ScriptedUser | SimulatedUser) -> None:
    scenario = Scenario(prompts=("p",), user=user)
    assert decode(Scenario, encode(scenario)) == scenario
