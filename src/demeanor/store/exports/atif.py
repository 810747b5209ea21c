"""Exports a trajectory in the Agent Trajectory Interchange Format (ATIF), version 1.7.

One step per model answer. A call without a result has no observation. What the format has no field for (a failure of
the provider, an injected fault, the verdict) is in `extra` or in a step with the source `system`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from demeanor.core.text.codec import encode
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.record import Record
from demeanor.core.values.trajectory import Called, Event, Faulted, ModelFailed, Said, Steered, Thought

VERSION = "ATIF-v1.7"


def trajectory(record: Record, events: Sequence[Event], exchanges: Sequence[Exchange] = ()) -> dict[str, Any]:
    """One attempt; `exchanges`, if known, add the prompts and the token usage of each answer."""
    agent, _, model = record.subject.partition(":")
    steps = [*_prompts(exchanges), *_steps(events, model, _metrics(exchanges))]
    if not steps:
        steps = [{"source": "system", "message": "no events were recorded for this attempt"}]
    spent = record.spent
    totals = {
        "total_prompt_tokens": spent.input_tokens,
        "total_completion_tokens": spent.output_tokens,
        "total_cost_usd": spent.cost_usd,
        "total_steps": len(steps),
    }
    return {
        "schema_version": VERSION,
        "session_id": f"{record.trial}/{record.attempt}",
        "agent": {
            "name": agent,
            "version": record.agent_version or "unknown",
            **({"model_name": model} if model else {}),
        },
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "final_metrics": {name: value for name, value in totals.items() if value is not None},
        "extra": {
            "verdict": encode(record.verdict),
            "eval": record.eval,
            "trial": record.number,
            "attempt": record.attempt,
            "seconds": spent.seconds,
        },
    }


def _prompts(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """The prompts of the first request."""
    if not exchanges:
        return []
    roles = {"system": "system", "developer": "system", "user": "user"}
    messages = exchanges[0].request.messages
    return [
        {"source": roles[message.role], "message": message.text}
        for message in messages
        if message.role in roles and message.text
    ]


def _metrics(exchanges: Iterable[Exchange]) -> dict[int, dict[str, Any]]:
    """The token usage of each model answer: turn → metrics."""
    metrics = {}
    for turn, exchange in enumerate((exchange for exchange in exchanges if exchange.response), 1):
        used = exchange.response.usage if exchange.response else None
        if used:
            counted = {"prompt_tokens": used.input, "completion_tokens": used.output, "cached_tokens": used.cache_read}
            counts_set = {name: value for name, value in counted.items() if value is not None}
            metrics[turn] = counts_set | ({} if exchange.cost_usd is None else {"cost_usd": exchange.cost_usd})
    return metrics


def _steps(events: Sequence[Event], model: str, metrics: dict[int, dict[str, Any]]) -> Iterable[dict[str, Any]]:
    turns: dict[int, list[Event]] = {}
    for event in events:
        turns.setdefault(event.turn, []).append(event)
    for turn, own in turns.items():
        for event in own:
            if isinstance(event, ModelFailed):
                message = f"the model failed: {event.reason}: {event.message}"
                yield {"source": "system", "message": message, "extra": {"event": encode(event)}}
            elif isinstance(event, Faulted):
                message = f"injected fault: {event.kind}: {event.detail}"
                yield {"source": "system", "message": message, "extra": {"event": encode(event)}}
        if any(isinstance(event, Said | Thought | Called) for event in own):
            yield _answer(own, model, metrics.get(turn))
        for event in own:
            if isinstance(event, Steered):
                yield {"source": "user", "message": event.text, "extra": {"event": encode(event)}}


def _answer(events: Sequence[Event], model: str, metrics: dict[str, Any] | None) -> dict[str, Any]:
    calls = [event for event in events if isinstance(event, Called)]
    thoughts = "\n".join(event.text for event in events if isinstance(event, Thought))
    step: dict[str, Any] = {
        "source": "agent",
        "message": "\n".join(event.text for event in events if isinstance(event, Said)),
    }
    if model:
        step["model_name"] = model
    if thoughts:
        step["reasoning_content"] = thoughts
    if calls:
        ids = _ids(calls)
        step["tool_calls"] = [_call(call, own) for call, own in zip(calls, ids, strict=True)]
        results = [
            {"source_call_id": own, "content": call.result}
            | ({"extra": {"is_error": True}} if call.succeeded is False else {})
            for call, own in zip(calls, ids, strict=True)
            if call.result is not None
        ]
        if results:
            step["observation"] = {"results": results}
    if metrics:
        step["metrics"] = metrics
    return step


def _call(call: Called, own: str) -> dict[str, Any]:
    fields = {"kind": call.kind.value, "witness": call.witness, "raw": call.raw, "succeeded": call.succeeded}
    extra = {name: value for name, value in fields.items() if value not in (None, "")}
    return {
        "tool_call_id": own,
        "function_name": call.tool,
        "arguments": encode(call.arguments),
        "extra": extra | ({} if call.seconds is None else {"seconds": call.seconds}),
    }


def _ids(calls: Sequence[Called]) -> list[str]:
    """A unique id for each call, even if the agent used none or the same one twice."""
    ids: list[str] = []
    for number, call in enumerate(calls, 1):
        ids.append(call.id if call.id and call.id not in ids else f"{call.id or 'call'}-{number}")
    return ids
