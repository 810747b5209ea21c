"""Streams of the Gemini API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from demeanor.core.text.json_values import as_dict, as_dicts
from demeanor.gateway.contract.wellformed import LOOKS_COMPLETE, Events, Json, Note, data_of, missing, total, vary


def problems(events: Events, broke: bool) -> Iterator[str]:
    """What clients rely on; a stream that broke off needs no end."""
    events_data = data_of(events)
    if len(events_data) < len(events):
        yield "there is a [DONE], which this dialect does not use"
    candidates = [candidate for data in events_data for candidate in as_dicts(data.get("candidates"))]
    stops = [at for at, candidate in enumerate(candidates) if candidate.get("finishReason")]
    blocked = any(as_dict(data.get("promptFeedback")).get("blockReason") for data in events_data)
    if not broke and not blocked and not stops:
        yield "there is no finishReason"
    if stops and stops != [len(candidates) - 1]:
        yield Note("there is not exactly one finishReason, in the last candidate")
    if broke and stops:
        yield LOOKS_COMPLETE
    if any(as_dict(candidate.get("content")).get("role", "model") != "model" for candidate in candidates):
        yield Note("a content's role is not model")
    if not broke and not any("usageMetadata" in data for data in events_data):
        yield Note("no usage is reported")


def differences(pieces: Sequence[Json]) -> Iterator[str]:
    """What is missing by the specification, or is said twice in different ways."""
    pieces = [piece for piece in pieces if not piece.get("error")]
    yield from vary("the responseIds of the pieces", [piece.get("responseId") for piece in pieces])
    yield from vary("the modelVersions of the pieces", [piece.get("modelVersion") for piece in pieces])
    for piece in pieces:
        usage = as_dict(piece.get("usageMetadata"))
        counts = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount")
        if usage and usage.get("totalTokenCount") != total(usage, *counts):
            yield "totalTokenCount is not the sum of the others"
        for candidate in as_dicts(piece.get("candidates")):
            yield from missing("a content", as_dict(candidate.get("content")), ("role", "parts"))
