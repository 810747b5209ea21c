"""aider. It has no tools: the model writes edits as text, and aider applies them. It always exits with 0.

Applied edits are read from its history as calls of a tool named `edit`.

Its chat history is a Markdown file. It is restored for the next prompt, and prior messages are written into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import merged
from demeanor.core.values.agent import DEBUG_LOG, Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event

_HISTORY = ".aider/chat.md"
_CONFIG = ".aider.conf.yml"
_PRICES = ".aider/caches/model_prices_and_context_window.json"
_START = "# aider chat started at "
_APPLIED = "Applied edit to "
_NO_TOOLS = "it has no tools: the model writes its edits as text"
_THINKING = re.compile(r"<(thinking-content-\w+)>\s*(.*?)\s*</\1>", re.S)
_MARKUP = re.compile(r"^(?=#{1,4} |> )", re.M)


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt, with the history of those before. Without a price list it would try to download one."""
    files = {
        _CONFIG: json.dumps(merged(_config(task, setup), setup.settings)).encode(),
        _PRICES: b'{"demeanor": {}}',
    }
    if task.messages:
        files[_HISTORY] = _history(task).encode()
    env = {
        "OPENAI_API_BASE": f"{task.base_url}/v1",
        "OPENAI_API_KEY": task.token,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    names = task.params.get("files", ())
    added = [f"--file={name}" for name in names] if isinstance(names, list | tuple) else []
    words = ("--model", f"openai/{task.model}", *added)
    launches = [
        Launch(argv=(*setup.program, *words, *_history_option(task, index), f"--message={prompt}"), env=env)
        for index, prompt in enumerate(task.prompts)
    ]
    return Orders(launches=tuple(launches), home_files=files, leavings=(_HISTORY,))


def _history_option(task: Task, index: int) -> tuple[str, ...]:
    return ("--restore-chat-history",) if index or task.messages else ()


def _config(task: Task, setup: Setup) -> dict[str, Any]:
    """Turn off everything that asks, downloads or reports, and git: aider would create a repository and commit."""
    off = ("pretty", "fancy-input", "git", "gitignore", "check-update", "show-release-notes", "show-model-warnings")
    return {
        **dict.fromkeys((*off, "detect-urls", "suggest-shell-commands"), False),
        "yes-always": True,
        "analytics-disable": True,
        "map-tokens": 0,
        "edit-format": str(task.params.get("edit_format") or setup.approval_mode or "diff"),
        "chat-history-file": str(task.home / _HISTORY),
        "input-history-file": str(task.home / ".aider/input"),
    }


def _history(task: Task) -> str:
    """A history as aider writes it; a space in front of lines that would be read as its markup."""
    pieces = [f"{_START}2026-01-01 00:00:00\n"]
    for message in task.messages:
        if message.role == "user":
            pieces.append("\n".join(f"#### {line}  " for line in message.text.split("\n")))
        else:
            pieces.append(_MARKUP.sub(" ", message.text))
    return "\n\n".join(pieces) + "\n\n"


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """The model's answers and the edits that aider applied. Each launch appends to the history of earlier ones."""
    log = LogBuilder(RECIPE.tool_kinds)
    runs = leavings.get(_HISTORY, b"").decode(errors="replace").split(f"\n{_START}")
    for run in runs[-len(ends) :] if ends else []:
        for answer, remarks in _answers(run):
            log.next_turn()
            for _, thought in _THINKING.findall(answer):
                log.add_thought(thought)
            text = _THINKING.sub("", answer).strip()
            log.add_text(text)
            _add_edits(log, text, remarks)
    return log.events()


def _add_edits(log: LogBuilder, text: str, remarks: Sequence[str]) -> None:
    """Add what aider applied as calls of a tool `edit`, since it offers no tools to its model."""
    blocks = list(_blocks(text))
    applied = [remark.removeprefix(_APPLIED).strip() for remark in remarks if remark.startswith(_APPLIED)]
    for path in dict.fromkeys(applied):
        own = [{"path": path, "old": old, "new": new} for name, old, new in blocks if name == path]
        for number, arguments in enumerate(own or [{"path": path, "edit": text}]):
            call = f"edit-{log.turn}-{path}-{number}"
            log.add_call(call, "edit", arguments)
            log.add_result(call, f"{_APPLIED}{path}", succeeded=True)


def _blocks(answer: str) -> Iterator[tuple[str, str, str]]:
    """The edit blocks of an answer: path, old text, new text."""
    path = ""
    old, new = list[str](), list[str]()
    part: list[str] | None = None
    for line in answer.splitlines():
        if line.startswith("<<<<<<< SEARCH"):
            old, new = [], []
            part = old
        elif part is None:
            path = line.strip().strip("`*:#").strip() if line.strip() and not line.startswith("```") else path
        elif line.startswith(">>>>>>> REPLACE"):
            yield path, "\n".join(old), "\n".join(new)
            part = None
        elif line == "=======" and part is old:
            part = new
        else:
            part.append(line)


def _answers(run: str) -> Iterator[tuple[str, list[str]]]:
    """The texts between the user's prompts, each with aider's own remarks after it."""
    edits: list[tuple[list[str], list[str]]] = []
    for line in run.splitlines():
        if line.startswith("#### "):
            edits.append(([], []))
        elif edits and line.startswith("> "):
            edits[-1][1].append(line[2:])
        elif edits:
            if edits[-1][1] and line.strip():
                edits.append(([], []))
            edits[-1][0].append(line)
    for lines, remarks in edits:
        if text := "\n".join(lines).strip():
            yield text, remarks


RECIPE = Recipe(
    name="aider",
    title="aider",
    package=Package(
        manager="pip", name="aider-chat", version="0.86.2", program="bin/aider", needs="python >= 3.10, < 3.13"
    ),
    dialects=("openai-chat",),
    debug=Overrides(env={"AIDER_LLM_HISTORY_FILE": f"{{home}}/{DEBUG_LOG}"}),
    orders=_orders,
    read_log=_read_log,
    prints_events=False,
    exit_ok=lambda end: None if end.exit_code == 0 else False,
    cannot={
        Ability.SUB_AGENTS: "it offers its model no tool that starts a sub-agent",
        Ability.MCP: "it has no client for MCP servers",
        Ability.SEARCH: _NO_TOOLS,
        Ability.PARALLEL: _NO_TOOLS,
        Ability.TOOL_ERROR: _NO_TOOLS,
        Ability.EXIT_CODE: _NO_TOOLS,
        Ability.CALLS: _NO_TOOLS,
        Ability.MALFORMED: _NO_TOOLS,
        Ability.DENY: _NO_TOOLS,
        Ability.CLEAN: "it has no tools, so no model can make it start a process",
    },
    approval_modes=("architect", "ask"),
    params=("files", "edit_format"),
)
read = reader(RECIPE)
