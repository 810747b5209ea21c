"""Conversions between the forms in which dialects express the same thing."""

from __future__ import annotations

from typing import Any

import pytest

from demeanor.core.values.exchange import Reasoning, StopReason
from demeanor.core.values.messages import ToolCall
from demeanor.gateway.dialects.conversions import (
    arguments_object,
    budget_of,
    data_url,
    effort_of,
    read_arguments_object,
    split_data_url,
    stop_reason,
)


@pytest.mark.parametrize("raw", ['{"a":1}', "[1]", "no JSON", '"text"'])
def test_arguments_survive_as_an_object(raw: str) -> None:
    """Also arguments that are not a JSON object keep their exact text."""
    given = {"a": 1} if raw == '{"a":1}' else None
    call = ToolCall(id="c", name="t", arguments=given, raw=raw)
    assert read_arguments_object(arguments_object(call)) == (given, raw)


@pytest.mark.parametrize(
    ("data", "expected"), [(None, ({}, "")), ('{"a": 1}', ({"a": 1}, '{"a": 1}')), ([], (None, "[]"))]
)
def test_other_forms_of_arguments(data: Any, expected: Any) -> None:
    """Absent arguments, arguments as text, and arguments that are not an object."""
    assert read_arguments_object(data) == expected


@pytest.mark.parametrize(
    ("reasoning", "budget", "effort"),
    [
        (Reasoning(), None, None),
        (Reasoning(effort="medium"), 8192, "medium"),
        (Reasoning(effort="unheard-of"), None, "unheard-of"),
        (Reasoning(budget=5000), 5000, "medium"),
        (Reasoning(budget=0), 0, "none"),
        (Reasoning(budget=10**6), 10**6, "high"),
        (Reasoning(budget=-1), None, None),
    ],
)
def test_reasoning_as_budget_and_as_effort(reasoning: Reasoning, budget: int | None, effort: str | None) -> None:
    """A word becomes a number of tokens and the other way round; a negative budget lets the provider decide."""
    assert (budget_of(reasoning), effort_of(reasoning)) == (budget, effort)


def test_data_urls() -> None:
    """A data URL has a media type and base64 content; other URLs are not split."""
    assert split_data_url(data_url("image/png", "AAAA")) == ("image/png", "AAAA")
    assert split_data_url("https://example.com/a.png") is None
    assert split_data_url("data:text/plain,hello") is None
    assert split_data_url(None) is None


def test_stop_reasons() -> None:
    """A normal end with calls is a tool use; other reasons and unknown words stay what they are."""
    words = {"stop": StopReason.END, "length": StopReason.LENGTH}
    assert stop_reason("stop", words, calls=False) is StopReason.END
    assert stop_reason("stop", words, calls=True) is StopReason.TOOL_USE
    assert stop_reason("length", words, calls=True) is StopReason.LENGTH
    assert stop_reason("odd", words, calls=False) is StopReason.UNKNOWN
    assert stop_reason(None, words, calls=True) is StopReason.UNKNOWN
