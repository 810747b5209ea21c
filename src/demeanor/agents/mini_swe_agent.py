"""mini-swe-agent: one tool, a shell. It ends when the model runs a certain command, and tells all in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import rows, table, text
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import laid_over
from demeanor.core.agent import Ability, Orders, Task
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event

_TRAJECTORY = "trajectory.json"
_SETTINGS = ".config/mini-swe-agent/demeanor.yaml"
_ALONE = "it has one conversation with one task, and can't take up another"


def _orders(task: Task, setup: Setup) -> Orders:
    """One run. Its own limit on costs is lifted: budgets are kept where prices are known."""
    written: dict[str, Any] = {
        "agent": {"cost_limit": 0, "step_limit": task.params.get("step_limit", 0)},
        "model": {"model_kwargs": {"max_retries": 0}},
    }
    files = {_SETTINGS: json.dumps(laid_over(written, setup.settings)).encode()}
    words = ["-y", "--exit-immediately", "-m", f"openai/{task.model}", "-o", str(task.home / _TRAJECTORY)]
    words += ["-c", "mini.yaml", "-c", str(task.home / _SETTINGS)]
    env = {
        "OPENAI_API_BASE": f"{task.base_url}/v1",
        "OPENAI_API_KEY": task.token,
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_GLOBAL_CONFIG_DIR": str(task.home / ".config/mini-swe-agent"),
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": str(setup.retries + 1),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    launches = [Launch(argv=(*setup.program, *words, f"--task={prompt}"), env=env) for prompt in task.prompts]
    return Orders(launches=tuple(launches), home_files=files, leavings=(_TRAJECTORY,))


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """The messages of the trajectory. An answer that it could not use is kept with its complaint of it."""
    story = LogBuilder(RECIPE.tool_kinds)
    for message in rows(_trajectory(leavings.get(_TRAJECTORY, b"{}")).get("messages")):
        extra = table(message.get("extra"))
        match message.get("role"):
            case "assistant":
                _answer(story, message)
            case "tool":
                _result(story, message, extra)
            case "user" if extra.get("interrupt_type") == "FormatError":
                for choice in rows(table(extra.get("response")).get("choices"))[:1]:
                    _answer(story, table(choice.get("message")))
    return story.events()


def _trajectory(content: bytes) -> dict[str, Any]:
    try:
        return table(json.loads(content))
    except RecursionError as error:
        raise ValueError("its trajectory is nested too deeply") from error


def _answer(story: LogBuilder, message: dict[str, Any]) -> None:
    story.next_turn()
    story.thought(text(message.get("reasoning_content")))
    story.said(text(message.get("content")))
    for call in rows(message.get("tool_calls")):
        function = table(call.get("function"))
        try:
            arguments = table(json.loads(text(function.get("arguments"))))
        except (ValueError, RecursionError):
            arguments = {}
        story.called(text(call.get("id")), text(function.get("name")), arguments)


def _result(story: LogBuilder, message: dict[str, Any], extra: dict[str, Any]) -> None:
    """The command that ends it is told as one that was never executed."""
    if extra.get("exception_info") != "action was not executed":
        worked = extra.get("returncode") == 0
        story.answered(text(message.get("tool_call_id")), text(message.get("content")), succeeded=worked)


RECIPE = Recipe(
    name="mini-swe-agent",
    title="mini-swe-agent",
    package=Package(
        manager="pip",
        name="mini-swe-agent",
        version="2.4.6",
        program="bin/mini",
        also=("litellm==1.106.2", "mcp==2.3.0"),
        needs="python >= 3.10",
    ),
    dialects=("openai-chat",),
    orders=_orders,
    read_log=_read_log,
    version_option="",
    cannot={
        Ability.TURNS: _ALONE,
        Ability.MESSAGES: _ALONE,
        Ability.DENY: "without a person it executes every command",
    },
    params=("step_limit",),
)
read = reader(RECIPE)
