"""mini-swe-agent. Its only tool is a shell, it ends when the model runs a certain command, and its log is one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import json_arguments
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import merged
from demeanor.core.text.json_values import as_dict, as_dicts, as_text, as_whole
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event

_TRAJECTORY = "trajectory.json"
_SETTINGS = ".config/mini-swe-agent/demeanor.yaml"
_ONE_TASK = "it has one conversation about one task and can't resume it"


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch. Its own cost limit is off: Demeanor, which knows the prices, enforces budgets."""
    defaults: dict[str, Any] = {
        "agent": {"cost_limit": 0, "step_limit": task.params.get("step_limit", 0)},
        "model": {"model_kwargs": {"max_retries": 0}},
    }
    files = {_SETTINGS: json.dumps(merged(defaults, setup.settings)).encode()}
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
    """The messages of the trajectory, and what was submitted, if the command that ends the work prints anything else.

    An answer that it could not use is inside its message about the format error.
    """
    log = LogBuilder(RECIPE.tool_kinds)
    trajectory = _trajectory(leavings.get(_TRAJECTORY, b"{}"))
    for message in as_dicts(trajectory.get("messages")):
        extra = as_dict(message.get("extra"))
        match message.get("role"):
            case "assistant":
                _add_answer(log, message)
            case "tool":
                _add_result(log, message, extra)
            case "user" if extra.get("interrupt_type") == "FormatError":
                for choice in as_dicts(as_dict(extra.get("response")).get("choices"))[:1]:
                    _add_answer(log, as_dict(choice.get("message")))
    log.conclude(as_text(as_dict(trajectory.get("info")).get("submission")))
    return log.events()


def _trajectory(content: bytes) -> dict[str, Any]:
    try:
        return as_dict(json.loads(content))
    except RecursionError as error:
        raise ValueError("the trajectory is nested too deeply") from error


def _add_answer(log: LogBuilder, message: dict[str, Any]) -> None:
    log.next_turn()
    log.add_thought(as_text(message.get("reasoning_content")))
    log.add_text(as_text(message.get("content")))
    for call in as_dicts(message.get("tool_calls")):
        function = as_dict(call.get("function"))
        arguments = json_arguments(as_text(function.get("arguments")))
        log.add_call(as_text(call.get("id")), as_text(function.get("name")), arguments)


def _add_result(log: LogBuilder, message: dict[str, Any], extra: dict[str, Any]) -> None:
    """Skip the command that ends the work: the trajectory reports it as not executed."""
    if extra.get("exception_info") != "action was not executed":
        call, result = as_text(message.get("tool_call_id")), as_text(message.get("content"))
        code = as_whole(extra.get("returncode"))
        log.add_result(call, result, succeeded=False if code is None else code == 0, exit_code=code)


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
        Ability.SUB_AGENTS: "it offers its model no tool that starts a sub-agent",
        Ability.MCP: "it has no client for MCP servers",
        Ability.TURNS: _ONE_TASK,
        Ability.MESSAGES: _ONE_TASK,
        Ability.DENY: "it runs every command without asking",
    },
    no_modes="mini-swe-agent asks only in a terminal",
    params=("step_limit",),
)
read = reader(RECIPE)
