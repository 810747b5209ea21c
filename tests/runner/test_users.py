"""The user of one attempt: when it speaks, when it is silent, and how long it took."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from demeanor.config.config import Config, read_config
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.checks import FileExists
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.executor_spec import ExecutorSpec
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.core.values.user import ScriptedUser, User, UserReply
from demeanor.gateway.null import NullGateway
from demeanor.judge.answers import CheckAnswer
from demeanor.runner.agent_run import _waited_since, _Watch
from demeanor.runner.features import Services
from demeanor.runner.users import TrialUser, check_user_functions


def in_loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in an event loop."""

    def run() -> None:
        asyncio.run(cast("Coroutine[Any, Any, None]", test()))

    return run


def eval_with(user: User) -> Eval:
    return Eval(
        name="one",
        policy=Policy.USUALLY_PASSES,
        scenario=Scenario(prompts=("p",), user=user),
        checks=(FileExists(path="a"),),
        source=Source(path=Path("eval_one.py")),
    )


def trial_user(user: User, ask: Any = None) -> TrialUser:
    trial = Trial(eval=eval_with(user), subject=Subject(agent="a", model="m"), number=1, timeout=10)

    async def so_far(said: str) -> Evidence:
        return Evidence(trial=trial.id)

    services = Services(gateway=NullGateway(), call_author=ask, run_command=ask, redactor=Redactor())
    return TrialUser(trial, services, so_far, seed=1, facts={})


@in_loop
async def test_a_conversation_that_is_over_stays_over() -> None:
    """The reply would fit again, but the user had nothing to say before."""
    user = trial_user(ScriptedUser(replies=(UserReply("blue", when="which"),)))
    assert await user.reply("Which one?") == "blue"
    assert await user.reply("Done.") is None
    assert await user.reply("Which one?") is None
    assert [turn.said for turn in user.turns] == ["blue", None], "nobody was asked for the last one"


@in_loop
async def test_the_limit_of_turns_ends_the_conversation_and_says_so() -> None:
    user = trial_user(ScriptedUser(replies=(UserReply("go on", when="?"),), max_turns=2))
    assert [await user.reply("And now?") for _ in range(4)] == ["go on", "go on", None, None]
    assert "its limit (max_turns)" in user.turns[-1].reason


@in_loop
async def test_time_does_not_pass_for_the_agent_while_the_user_is_asked() -> None:
    """Neither the time limit nor the limit of idle time."""
    entered, release = threading.Event(), threading.Event()

    def ask(*given: object) -> CheckAnswer:
        entered.set()
        release.wait(60)
        return CheckAnswer(check="reply", said="blue")

    user = trial_user(ScriptedUser(reply=lambda rig: "blue"), ask)
    watch = _Watch(None, user)
    assert watch() == 0.0, "no traffic, and the user is not asked"
    asked = asyncio.create_task(user.reply("Which one?"))
    await asyncio.to_thread(entered.wait, 60)
    before = time.monotonic()
    assert user.is_due
    assert watch() >= before, "the agent is not idle"
    first = _waited_since(user, 0.0)
    assert _waited_since(user, 0.0) >= first > 0
    release.set()
    assert await asked == "blue"
    assert not user.is_due
    assert user.seconds == user.waited >= first


def test_a_function_is_refused_on_a_cluster(tmp_path: Path) -> None:
    """Before anything runs; rules are data, which can be sent."""
    (tmp_path / "demeanor.toml").write_text("")
    here: Config = read_config(tmp_path)
    cluster = replace(here, executor=ExecutorSpec(remote=True))
    by_function = eval_with(ScriptedUser(reply=lambda rig: None))
    check_user_functions(here, [by_function])
    check_user_functions(cluster, [eval_with(ScriptedUser(replies=(UserReply("x"),)))])
    with pytest.raises(BadInput, match="can't be sent to another machine"):
        check_user_functions(cluster, [by_function])
