"""goose: small and quick; exits with 0 when every model call has failed, so its exit says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from holdfast.agents.lines import json_lines, rows, table, text
from holdfast.agents.package import Package
from holdfast.agents.recipe import Recipe, Setup, reader
from holdfast.agents.story import Story
from holdfast.core.agent import Ability, Orders, Task
from holdfast.core.process import Launch, ProcessEnd
from holdfast.core.trajectory import Event, Kind

_SESSION = "holdfast"


def _orders(task: Task, setup: Setup) -> Orders:
    """One run per prompt; the second and later ones resume the session by its name."""
    return Orders(
        launches=tuple(_launch(task, setup, prompt, first=index == 0) for index, prompt in enumerate(task.prompts))
    )


def _launch(task: Task, setup: Setup, prompt: str, *, first: bool) -> Launch:
    session = ("--no-session",) if len(task.prompts) == 1 else ("--name", _SESSION, *(() if first else ("--resume",)))
    words = ("run", "-q", *session, "--no-profile", "--with-builtin", "developer", "--output-format", "stream-json")
    env = {
        "GOOSE_MODEL": task.model,
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_OFF": "1",
        "GOOSE_DISABLE_SESSION_NAMING": "true",
        "GOOSE_PROVIDER_SKIP_BACKOFF": "true",
        **_provider(task, setup.dialect),
    }
    return Launch(argv=(*setup.program, *words, "-t", prompt), env=env)


def _provider(task: Task, dialect: str) -> dict[str, str]:
    if dialect == "anthropic":
        return {"GOOSE_PROVIDER": "anthropic", "ANTHROPIC_HOST": task.base_url, "ANTHROPIC_API_KEY": task.token}
    url = urlsplit(task.base_url)
    return {
        "GOOSE_PROVIDER": "openai",
        "OPENAI_HOST": f"{url.scheme}://{url.netloc}",
        "OPENAI_BASE_PATH": f"{url.path.strip('/')}/v1/chat/completions",
        "OPENAI_API_KEY": task.token,
    }


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`message` events, each with parts of one message; a message of the model may come in several pieces."""
    story = Story(RECIPE.tool_kinds)
    answered = True
    for line in json_lines(ends):
        if line.get("type") != "message":
            continue
        message = table(line.get("message"))
        by_model = message.get("role") == "assistant"
        if by_model and answered:
            story.next_turn()
        answered = not by_model
        for part in rows(message.get("content")):
            _tell(story, part)
    return story.events()


def _tell(story: Story, part: dict[str, Any]) -> None:
    match part.get("type"):
        case "text":
            story.said(text(part.get("text")))
        case "thinking":
            story.thought(text(part.get("thinking")))
        case "toolRequest":
            call = table(table(part.get("toolCall")).get("value"))
            story.called(text(part.get("id")), text(call.get("name")), table(call.get("arguments")))
        case "toolResponse":
            result = table(part.get("toolResult"))
            value = table(result.get("value"))
            said = "\n".join(text(piece.get("text")) for piece in rows(value.get("content") or result.get("value")))
            worked = result.get("status") == "success" and not value.get("isError")
            story.answered(text(part.get("id")), said, succeeded=worked)


RECIPE = Recipe(
    name="goose",
    title="goose",
    package=Package(
        manager="npm",
        name="@aaif/goose-binary-{platform}",
        version="1.52.0",
        program="node_modules/@aaif/goose-binary-{platform}/bin/goose",
    ),
    dialects=("openai-chat", "anthropic"),
    orders=_orders,
    read_log=_read_log,
    exit_ok=lambda end: None if end.exit_code == 0 else False,
    tool_kinds={"tree": Kind.SEARCH},
    cannot={
        Ability.MESSAGES: "a session can be resumed, but not written by others",
        Ability.DENY: "without a person it either uses every tool or none",
    },
)
read = reader(RECIPE)
