"""A local model as an upstream: used through the gateway like any other, by any agent, in any dialect, for nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from demeanor.core.errors import UsageError
from demeanor.core.exchange import ProviderError, Request, Response, Usage
from demeanor.core.messages import ToolCall
from demeanor.gateway.local.grammar import read_answer, schema_of
from demeanor.gateway.local.llama_process import NO_RUNTIME, TOO_LONG, EngineError, LlamaProcess, installed
from demeanor.gateway.local.prompt import messages_of
from demeanor.gateway.local.weights import Weights, cache_of, weights_named
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.upstream import Answered, Ask, Counted, ProviderRefused, Reply
from demeanor.gateway.server.session import BYTES_PER_TOKEN

TEMPERATURE = 0.7
"""Where the agent names none."""

MOST_TOKENS = 1024
"""The longest answer, whatever the agent allows: at ten tokens a second, more is no answer but a loop."""

_SEEDS = 2**32 - 1
"""The number after the last seed means «any» to the engine."""


class LocalModel:
    """An upstream that thinks on this machine."""

    secret = ""
    """It needs no key."""

    def __init__(self, weights: Weights, engine: LlamaProcess) -> None:
        self.weights = weights
        self.engine = engine

    @property
    def price(self) -> Price:
        """It costs electricity only."""
        return FREE

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of it."""
        return (f"local model {self.weights.name}: a small language model on this machine's CPU; it errs often",)

    @asynccontextmanager
    async def answer(self, ask: Ask) -> AsyncIterator[Reply]:
        """What the model says; an agent that hangs up stops it."""
        if ask.route.wish == "count_tokens":
            yield Counted(tokens=len(ask.body) // BYTES_PER_TOKEN)
            return
        try:
            said = await self.engine.chat(asked(ask.request, seed=ask.seed))
            response = _response(said, ask.request, self.weights.name)
        except EngineError as error:
            yield ProviderRefused(error=_refusal(error, self.weights.name))
            return
        yield Answered(response=response)

    async def close(self) -> None:
        """Let go of the engine."""
        await self.engine.close()


def asked(request: Request, *, seed: int) -> dict[str, Any]:
    """What the engine is asked: the same trial and turn draw the same, and no two turns do."""
    sampling = request.sampling
    turn = sum(message.role == "assistant" for message in request.messages)
    own = seed if sampling.seed is None else sampling.seed
    body: dict[str, Any] = {
        "messages": messages_of(request),
        "temperature": TEMPERATURE if sampling.temperature is None else sampling.temperature,
        "seed": (own + turn) % _SEEDS,
        "max_tokens": min(sampling.max_tokens or MOST_TOKENS, MOST_TOKENS),
        "cache_prompt": True,
    }
    optional = {"top_p": sampling.top_p, "top_k": sampling.top_k}
    body |= {name: value for name, value in optional.items() if value is not None}
    schema = schema_of(request)
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    elif sampling.stop:
        body["stop"] = list(sampling.stop)
    return body


def _response(said: Any, request: Request, model: str) -> Response:
    before = sum(isinstance(part, ToolCall) for message in request.messages for part in message.parts)
    try:
        choice = said["choices"][0]
        text, cut = choice["message"]["content"] or "", choice["finish_reason"] == "length"
        usage = said["usage"]
        used = Usage(
            input=int(usage["prompt_tokens"]),
            output=int(usage["completion_tokens"]),
            cache_read=int((usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise EngineError(f"the engine gave an answer of a wrong shape: {error!r}") from None
    part, stop = read_answer(text, request, number=before + 1, cut=cut)
    return Response(parts=(part,), stop=stop, usage=used, id=said.get("id"), model=model)


def _refusal(error: EngineError, name: str) -> ProviderError:
    if error.kind == TOO_LONG:
        return ProviderError(status=400, reason="bad_request", message=f"{name}: {error}")
    return ProviderError(status=500, reason="server", message=f"{name}: {error}")


def obstacle(weights: Weights, environ: Mapping[str, str]) -> str | None:
    """Why a local model can't be used here, and what to do; None where it can."""
    if not installed():
        return f"{weights.name}: {NO_RUNTIME}"
    if not cache_of(environ).has(weights):
        size = f"{weights.size / 1e6:,.0f} MB"
        return f"{weights.name} is not on this machine yet ({size})\n  → demeanor models fetch {weights.name}"
    return None


def local_model(name: str, environ: Mapping[str, str]) -> LocalModel:
    """The local model of that name; raises UsageError where it can't be used, with what to do. Nothing is loaded."""
    weights = weights_named(name)
    if problem := obstacle(weights, environ):
        raise UsageError(problem)
    return LocalModel(weights, LlamaProcess(cache_of(environ).path(weights)))
