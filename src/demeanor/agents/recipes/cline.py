"""Cline. Runs in one process (`CLINE_SESSION_BACKEND_MODE=local`), because otherwise it leaves a daemon behind.

Without a terminal it refuses every tool that needs approval. A small plug-in approves the allowed ones. If the plug-in
can't be loaded, everything stays refused, so nothing is allowed by mistake.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import json_lines
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers, server_file
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import merged
from demeanor.agents.tool_denial import REFUSAL, denied_tools
from demeanor.core.text.json_values import as_dict, as_number, as_text
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

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
    """One launch. The key goes into a file, because an argument would be visible in the process list."""
    files = {
        f"{_SETTINGS}/providers.json": json.dumps(_providers(task, setup)).encode(),
        f"{_SETTINGS}/global-settings.json": json.dumps(merged(_SWITCHES, setup.settings)).encode(),
    }
    if forbidden := denied_tools(task.approval, _TOOLS, _KINDS):
        files[_GATE] = (_GATE_CODE % (json.dumps(forbidden), json.dumps(REFUSAL))).encode()
    words = ["--json", "--auto-approve", "false" if forbidden else "true"]
    words += ["--provider", _PROVIDERS[setup.dialect], "--model", task.model, "--cwd", str(task.workspace)]
    if setup.approval_mode == "plan":
        words.append("--plan")
    if "thinking" in task.params:
        words += ["--thinking", str(task.params["thinking"])]
    env = {
        "CLINE_NO_AUTO_UPDATE": "1",
        "CLINE_SESSION_BACKEND_MODE": "local",
        "CLINE_PLUGIN_IMPORT_TIMEOUT_MS": "120000",  # after 4 s, a busy machine would do without the gate
    }
    launches = [Launch(argv=(*setup.program, *words, "--", prompt), env=env) for prompt in task.prompts]
    return Orders(launches=tuple(launches), home_files=files)


def _providers(task: Task, setup: Setup) -> dict[str, Any]:
    provider = _PROVIDERS[setup.dialect]
    settings = {"provider": provider, "apiKey": task.token, "model": task.model, "baseUrl": f"{task.base_url}/v1"}
    entry = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    return {"version": 1, "lastUsedProvider": provider, "modes": {}, "providers": {provider: entry}}


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`agent_event` lines: an iteration is a turn; `content_end` has the whole content."""
    log = LogBuilder(RECIPE.tool_kinds, shells=RECIPE.shells)
    for line in json_lines(ends):
        event = as_dict(line.get("event"))
        match event.get("type"), event.get("contentType"):
            case "iteration_start", _:
                log.next_turn()
            case "content_end", "text":
                log.add_text(as_text(event.get("text")))
            case "content_end", "reasoning":
                log.add_thought(as_text(event.get("reasoning")) or as_text(event.get("text")))
            case "content_start", "tool":
                log.add_call(
                    as_text(event.get("toolCallId")), as_text(event.get("toolName")), as_dict(event.get("input"))
                )
            case "content_end", "tool":
                _add_result(log, event)
    return log.events()


def _add_result(log: LogBuilder, event: dict[str, Any]) -> None:
    output = event.get("output")
    result = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    milliseconds = as_number(event.get("durationMs"))
    seconds = None if milliseconds is None else milliseconds / 1000
    parts = output if isinstance(output, list) else [output]
    succeeded = not event.get("error") and all(as_dict(part).get("success") is not False for part in parts)
    log.add_result(as_text(event.get("toolCallId")), result, succeeded=succeeded, seconds=seconds)


_KINDS = {"skills": Kind.READ}


def _mcp(servers: Servers) -> Overrides:
    """With a time limit, because Cline otherwise gives servers only a few seconds to start."""
    return Overrides(
        home_files={
            f"{_SETTINGS}/cline_mcp_settings.json": server_file(servers, http={"type": "streamableHttp"}, timeout=120)
        }
    )


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
    shells=("run_commands",),
    tool_kinds=_KINDS,
    cannot={
        Ability.TURNS: "it can resume a session only in its terminal interface",
        Ability.MESSAGES: "it can resume a session only in its terminal interface",
    },
    approval_modes=("act", "plan"),
    params=("thinking",),
    mcp=_mcp,
)
read = reader(RECIPE)
