"""A scripted model: an upstream that runs a script, costs nothing and answers at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from demeanor.core.values.exchange import ProviderError, Response, StopReason, Usage
from demeanor.core.values.messages import Text, Thinking
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.upstream import (
    ErrorReply,
    FullReply,
    ModelCall,
    Reply,
    estimated_tokens,
    reply_without_model,
)
from demeanor.gateway.script.turn import Answer, ScriptOutput, Turn, Unable, to_answer

Script: TypeAlias = Callable[[Turn], ScriptOutput]
"""`def play(turn: Turn) -> Answer`; may also return a text, a call, a list of them or a generator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedModel:
    """An upstream that runs a script."""

    play: Script
    """Called once for each request; stateless, so that side requests do no harm."""

    notes: tuple[str, ...] = ("script: a program stands in for a model; it is not a language model",)
    """Notes for the user."""

    price: Price | None = FREE
    """Free, unless a price is configured."""

    content: str = ""
    """A hash of the script, which tells its versions apart."""

    @asynccontextmanager
    async def answer(self, call: ModelCall) -> AsyncIterator[Reply]:
        """The script's answer; an exception in the script is sent as a server error."""
        if reply := reply_without_model(call):
            yield reply
            return
        turn = Turn(call.request, seed=call.seed, workspace=call.facts.get("workspace", ""))
        try:
            answer = to_answer(self.play(turn))
        except Unable as error:
            answer = Answer(text=f"I can't do that: {error}.")
        except Exception as error:  # noqa: BLE001 - a script is user code: report whatever it raises
            message = f"the script failed: {type(error).__name__}: {error}"
            yield ErrorReply(error=ProviderError(status=500, reason="server", message=message))
            return
        if not answer.calls and answer.stop is None and (submit := turn.submit_call(answer.text)):
            answer = replace(answer, calls=(submit,))
        if answer.wait:
            await asyncio.sleep(answer.wait)
        yield FullReply(response=_response(answer, turn, len(call.body)))

    async def close(self) -> None:
        """Nothing to release."""


def _response(answer: Answer, turn: Turn, size: int) -> Response:
    """An answer with everything that a provider would add: ids, a stop reason, token counts."""
    before = turn.calls_before
    calls = [
        call if call.id else replace(call, id=f"call_{number}") for number, call in enumerate(answer.calls, before + 1)
    ]
    thinking = [Thinking(text=answer.thinking)] if answer.thinking else []
    text = [Text(text=answer.text)] if answer.text or not calls else []
    size_out = len(answer.text) + len(answer.thinking) + sum(len(call.name) + len(call.raw) for call in calls)
    return Response(
        parts=(*thinking, *text, *calls),
        stop=answer.stop or (StopReason.TOOL_USE if calls else StopReason.END),
        usage=answer.usage or Usage(input=estimated_tokens(size), output=estimated_tokens(size_out)),
        id=f"script_{before}",
        model=turn.request.model,
    )
