"""Cline: a big program that would leave a daemon behind; kept in one process, it leaves nothing.

Without a person it would refuse every tool that needs an approval. A small plug-in speaks for the person: what it does
not allow stays refused, so that nothing is allowed by mistake where plug-ins can't be loaded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import json_lines, number, table, text
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import laid_over
from demeanor.agents.tool_denial import REFUSAL, denied
from demeanor.core.agent import Ability, Orders, Task
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event, Kind

_SETTINGS = ".cline/data/settings"
_GATE = ".cline/plugins/gate.js"
_TOOLS = ("read_files", "search_codebase", "run_commands", "fetch_web_content", "editor", "apply_patch", "skills")
_PROVIDERS = {"openai-chat": "openai-compatible", "anthropic": "anthropic"}
_SWITCHES = {"telemetryOptOut": True, "autoUpdateEnabled": False}
_GATE_CODE = """\
const denied = new Set(%s);
export default {
  name: "gate",
  manifest: { capabilities: ["hooks"] },
  hooks: {
    beforeTool: async ({ toolCall }) =>
      denied.has(toolCall.toolName) ? { skip: true, reason: %s } : { policy: { autoApprove: true } },
  },
};
"""


def _orders(task: Task, setup: Setup) -> Orders:
    """One run. The key is in a file, since it would be seen in the list of processes."""
    files = {
        f"{_SETTINGS}/providers.json": json.dumps(_providers(task, setup)).encode(),
        f"{_SETTINGS}/global-settings.json": json.dumps(laid_over(_SWITCHES, setup.settings)).encode(),
    }
    if forbidden := denied(task.approval, _TOOLS, _KINDS):
        files[_GATE] = (_GATE_CODE % (json.dumps(forbidden), json.dumps(REFUSAL))).encode()
    words = ["--json", "--auto-approve", "false" if forbidden else "true"]
    words += ["--provider", _PROVIDERS[setup.dialect], "--model", task.model, "--cwd", str(task.workspace)]
    if "thinking" in task.params:
        words += ["--thinking", str(task.params["thinking"])]
    env = {"CLINE_NO_AUTO_UPDATE": "1", "CLINE_SESSION_BACKEND_MODE": "local"}
    launches = [Launch(argv=(*setup.program, *words, "--", prompt), env=env) for prompt in task.prompts]
    return Orders(launches=tuple(launches), home_files=files)


def _providers(task: Task, setup: Setup) -> dict[str, Any]:
    provider = _PROVIDERS[setup.dialect]
    settings = {"provider": provider, "apiKey": task.token, "model": task.model, "baseUrl": f"{task.base_url}/v1"}
    entry = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    return {"version": 1, "lastUsedProvider": provider, "modes": {}, "providers": {provider: entry}}


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`agent_event` lines: an iteration is a turn; the end of a content tells all of it."""
    story = LogBuilder(RECIPE.tool_kinds)
    for line in json_lines(ends):
        event = table(line.get("event"))
        match event.get("type"), event.get("contentType"):
            case "iteration_start", _:
                story.next_turn()
            case "content_end", "text":
                story.said(text(event.get("text")))
            case "content_end", "reasoning":
                story.thought(text(event.get("reasoning")) or text(event.get("text")))
            case "content_start", "tool":
                story.called(text(event.get("toolCallId")), text(event.get("toolName")), table(event.get("input")))
            case "content_end", "tool":
                _answered(story, event)
    return story.events()


def _answered(story: LogBuilder, event: dict[str, Any]) -> None:
    output = event.get("output")
    said = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    took = number(event.get("durationMs"))
    seconds = None if took is None else took / 1000
    parts = output if isinstance(output, list) else [output]
    worked = not event.get("error") and all(table(part).get("success") is not False for part in parts)
    story.answered(text(event.get("toolCallId")), said, succeeded=worked, seconds=seconds)


_KINDS = {"skills": Kind.READ}
RECIPE = Recipe(
    name="cline",
    title="Cline",
    package=Package(
        manager="npm",
        name="@cline/cli-{platform}",
        version="3.0.65",
        program="node_modules/@cline/cli-{platform}/bin/cline",
        also=("@cline/shared@0.0.86", "jiti@2.6.1"),
    ),
    dialects=("openai-chat", "anthropic"),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    cannot={
        Ability.TURNS: "it resumes a session in its terminal interface only",
        Ability.MESSAGES: "it resumes a session in its terminal interface only",
    },
    params=("thinking",),
)
read = reader(RECIPE)
