"""A model played by a script: an upstream that costs nothing and answers at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from demeanor.core.exchange import ProviderError, Response, StopReason, Usage
from demeanor.core.messages import Text, Thinking
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.upstream import Answered, Ask, Counted, ProviderRefused, Reply
from demeanor.gateway.script.turn import Answer, Played, Turn, Unable, answer_of

Script: TypeAlias = Callable[[Turn], Played]
"""`def play(turn: Turn) -> Answer`; a text, a call, a list of them or a generator will do too."""

_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedModel:
    """An upstream that plays a script."""

    play: Script
    """Called once for each request; keeps nothing in mind, so that side requests do no harm."""

    notes: tuple[str, ...] = ("script: a program stands in for a model; it is no language model",)
    """What a person should know of it."""

    price: Price | None = FREE
    """Free, unless a price is to be played too."""

    secret: str = ""
    """It uses no key."""

    @asynccontextmanager
    async def answer(self, ask: Ask) -> AsyncIterator[Reply]:
        """The script's answer; a script that fails is a server that fails."""
        if ask.route.wish == "count_tokens":
            yield Counted(tokens=len(ask.body) // _CHARACTERS_PER_TOKEN)
            return
        turn = Turn(ask.request, seed=ask.seed, workspace=ask.facts.get("workspace", ""))
        try:
            answer = answer_of(self.play(turn))
        except Unable as lack:
            answer = Answer(text=f"I can't do that: {lack}.")
        except Exception as error:  # noqa: BLE001 - a script is somebody's program: whatever it raises is told
            message = f"the script failed: {type(error).__name__}: {error}"
            yield ProviderRefused(error=ProviderError(status=500, reason="server", message=message))
            return
        if not answer.calls and answer.stop is None and turn.ending:
            answer = replace(answer, calls=(turn.ending,))
        if answer.wait:
            await asyncio.sleep(answer.wait)
        yield Answered(response=_response(answer, turn, len(ask.body)))

    async def close(self) -> None:
        """Nothing is held open."""


def _response(answer: Answer, turn: Turn, size: int) -> Response:
    """An answer with everything that a provider would add: ids from a counter, a stop reason, tokens."""
    before = turn.calls_before
    calls = [
        call if call.id else replace(call, id=f"call_{number}") for number, call in enumerate(answer.calls, before + 1)
    ]
    thoughts = [Thinking(text=answer.thinking)] if answer.thinking else []
    texts = [Text(text=answer.text)] if answer.text or not calls else []
    said = len(answer.text) + len(answer.thinking) + sum(len(call.name) + len(call.raw) for call in calls)
    return Response(
        parts=(*thoughts, *texts, *calls),
        stop=answer.stop or (StopReason.TOOL_USE if calls else StopReason.END),
        usage=answer.usage or Usage(input=size // _CHARACTERS_PER_TOKEN, output=said // _CHARACTERS_PER_TOKEN),
        id=f"script_{before}",
        model=turn.request.model,
    )
