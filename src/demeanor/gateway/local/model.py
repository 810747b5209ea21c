"""A local model as an upstream: free, and usable by any agent in any dialect."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from demeanor.core.values.errors import UsageError
from demeanor.core.values.exchange import ProviderError, Request, Response, Usage
from demeanor.core.values.messages import ToolCall
from demeanor.gateway.local.grammar import output_schema, read_answer
from demeanor.gateway.local.llama_process import (
    CONTEXT_EXCEEDED,
    LlamaProcess,
    no_runtime,
    runtime_installed,
)
from demeanor.gateway.local.prompt import chat_messages, shared_messages
from demeanor.gateway.local.slots import EngineError
from demeanor.gateway.local.weights import Weights, weights_cache, weights_named
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.upstream import ErrorReply, FullReply, ModelCall, Reply, reply_without_model

TEMPERATURE = 0.7
"""The temperature if the agent sets none."""

MAX_TOKENS = 1024
"""The longest response, whatever the agent allows: at ten tokens a second, a longer one is usually a loop."""

_SEEDS = 2**32 - 1
"""The number after the last seed means a random seed to the engine."""


class LocalModel:
    """An upstream that runs on this machine."""

    def __init__(self, weights: Weights, engine: LlamaProcess) -> None:
        self.weights = weights
        self.engine = engine

    @property
    def price(self) -> Price:
        """It costs nothing."""
        return FREE

    @property
    def sampling(self) -> str:
        """The settings that apply if the agent sets none."""
        return f"temperature {TEMPERATURE}, at most {MAX_TOKENS} tokens"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        return (
            f"local model {self.weights.name}: a small language model on this machine's CPU; it often makes mistakes",
        )

    @asynccontextmanager
    async def answer(self, call: ModelCall) -> AsyncIterator[Reply]:
        """The model's reply; generation stops if the agent disconnects."""
        if reply := reply_without_model(call):
            yield reply
            return
        try:
            completion = await self.engine.chat(
                engine_request(call.request, seed=call.seed), shared=shared_messages(call.request), owner=call.trial
            )
            response = _response(completion, call.request, self.weights.name)
        except EngineError as error:
            yield ErrorReply(error=_provider_error(error, self.weights.name))
            return
        yield FullReply(response=response)

    async def close(self) -> None:
        """Release the engine."""
        await self.engine.close()


def engine_request(request: Request, *, seed: int) -> dict[str, Any]:
    """The request to the engine. The same trial and turn use the same seed; different turns use different ones."""
    sampling = request.sampling
    turn = sum(message.role == "assistant" for message in request.messages)
    base_seed = seed if sampling.seed is None else sampling.seed
    body: dict[str, Any] = {
        "messages": chat_messages(request),
        "temperature": TEMPERATURE if sampling.temperature is None else sampling.temperature,
        "seed": (base_seed + turn) % _SEEDS,
        "max_tokens": min(sampling.max_tokens or MAX_TOKENS, MAX_TOKENS),
        "cache_prompt": True,
    }
    optional = {"top_p": sampling.top_p, "top_k": sampling.top_k}
    body |= {name: value for name, value in optional.items() if value is not None}
    schema = output_schema(request)
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    elif sampling.stop:
        body["stop"] = list(sampling.stop)
    return body


def _response(reply: Any, request: Request, model: str) -> Response:
    before = sum(isinstance(part, ToolCall) for message in request.messages for part in message.parts)
    try:
        choice = reply["choices"][0]
        text, truncated = choice["message"]["content"] or "", choice["finish_reason"] == "length"
        usage = reply["usage"]
        used = Usage(
            input=int(usage["prompt_tokens"]),
            output=int(usage["completion_tokens"]),
            cache_read=int((usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise EngineError(f"the engine's response has an unexpected format: {error!r}") from None
    part, stop = read_answer(text, request, number=before + 1, truncated=truncated)
    return Response(parts=(part,), stop=stop, usage=used, id=reply.get("id"), model=model)


def _provider_error(error: EngineError, name: str) -> ProviderError:
    if error.kind == CONTEXT_EXCEEDED:
        return ProviderError(status=400, reason="bad_request", message=f"{name}: {error}")
    return ProviderError(status=500, reason="server", message=f"{name}: {error}")


def missing_requirement(weights: Weights, environ: Mapping[str, str]) -> str | None:
    """Why a local model can't be used here, and what to do; None if it can."""
    if not runtime_installed():
        return f"{weights.name}: {no_runtime()}"
    if not weights_cache(environ).is_complete(weights):
        size = f"{weights.size / 1e6:,.0f} MB"
        return f"{weights.name} is not downloaded yet ({size})\n  → demeanor models fetch {weights.name}"
    return None


def local_model(name: str, environ: Mapping[str, str]) -> LocalModel:
    """The local model of that name; raises UsageError if it can't be used here. Does not load the model."""
    weights = weights_named(name)
    if problem := missing_requirement(weights, environ):
        raise UsageError(problem)
    return LocalModel(weights, LlamaProcess(weights_cache(environ).path(weights)))
