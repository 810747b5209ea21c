"""Settings of the Gemini dialect: sampling, reasoning and tool choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from demeanor.core.values.exchange import Reasoning, Request
from demeanor.gateway.dialects.conversions import budget_of
from demeanor.gateway.dialects.gemini.key_case import to_camel_case
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_count,
    maybe_flag,
    maybe_object,
    maybe_string,
    strings,
)
from demeanor.gateway.dialects.sampling import read_sampling, write_sampling

_CONFIG = "generationConfig"
_SAMPLING = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
}
_CHOICES = {"AUTO": "auto", "VALIDATED": "auto", "NONE": "none", "ANY": "required"}
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def read_settings(top: Json, request: Request) -> Request:
    """`request` with the settings in `top`."""
    config = maybe_object(top, _CONFIG)
    return replace(
        request,
        tool_choice=_read_choice(top),
        sampling=read_sampling(to_camel_case(config), _SAMPLING),
        reasoning=_read_reasoning(config),
        json_schema=_read_schema(config),
    )


def write_settings(request: Request, top: Json) -> None:
    """Write the settings of `request` into `top`, where they differ."""
    config: Json = dict(maybe_object(top, _CONFIG))
    if read_sampling(to_camel_case(config), _SAMPLING) != request.sampling:
        config = {key: value for key, value in to_camel_case(config).items() if key not in _SAMPLING.values()}
        config.update(write_sampling(request.sampling, _SAMPLING))
    if _read_reasoning(config) != request.reasoning:
        config["thinkingConfig"] = _write_reasoning(request.reasoning)
    if _read_schema(config) != request.json_schema and request.json_schema is not None:
        config["responseMimeType"] = "application/json"
        if request.json_schema:
            config["responseJsonSchema"] = request.json_schema
    if config or _CONFIG in top:
        top[_CONFIG] = config
    if _read_choice(top) != request.tool_choice and request.tool_choice is not None:
        top["toolConfig"] = {"functionCallingConfig": _write_choice(request.tool_choice)}


def _read_reasoning(config: Json) -> Reasoning:
    thinking = to_camel_case(maybe_object(to_camel_case(config), "thinkingConfig"))
    level = maybe_string(thinking, "thinkingLevel")
    return Reasoning(
        effort=level.lower() if level else None,
        budget=maybe_count(thinking, "thinkingBudget"),
        show=maybe_flag(thinking, "includeThoughts"),
    )


def _write_reasoning(reasoning: Reasoning) -> Json:
    budget = budget_of(reasoning)
    settings: Json = {} if budget is None else {"thinkingBudget": budget}
    show = bool(budget) if reasoning.show is None else reasoning.show
    return {**settings, "includeThoughts": show}


def _read_choice(top: Json) -> str | None:
    choice = to_camel_case(maybe_object(to_camel_case(maybe_object(top, "toolConfig")), "functionCallingConfig"))
    allowed = strings(choice.get("allowedFunctionNames"), "allowedFunctionNames")
    mode = maybe_string(choice, "mode")
    return allowed[0] if mode == "ANY" and len(allowed) == 1 else _CHOICES.get(mode or "")


def _write_choice(choice: str) -> Json:
    if choice in _MODES:
        return {"mode": _MODES[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


def _read_schema(config: Json) -> Any:
    config = to_camel_case(config)
    for key in ("responseJsonSchema", "responseSchema"):
        if config.get(key):
            return maybe_object(config, key)
    return {} if config.get("responseMimeType") == "application/json" else None
