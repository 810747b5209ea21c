"""Strict JSON: what the gateway accepts as JSON, and what it refuses."""

from __future__ import annotations

import pytest

from demeanor.gateway.dialects.strict_json import MAX_DEPTH, arguments, compact, loads


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"NaN",
        b"[Infinity]",
        b"1e999",
        b"9" * 5000,
        b'"\xff"',
        b"[" * 100_000,
        b"[" * (MAX_DEPTH + 1) + b'"padding to make the text long enough"' + b"]" * (MAX_DEPTH + 1),
        b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1),
    ],
)
def test_refused(text: bytes) -> None:
    """Dangerous input is refused, always with the same exception."""
    with pytest.raises(ValueError):  # noqa: PT011 - the message depends on what is wrong
        loads(text)


def test_maximum_depth() -> None:
    """The deepest allowed value is accepted."""
    assert loads(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('"a\\ud83d"', "a\ufffd"),
        ('{"\\uDE00": 1}', {"\ufffd": 1}),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\\\ud83d"', "\\ud83d"),
        ("\ufeff[1]", [1]),
    ],
)
def test_lone_surrogates(text: str, data: object) -> None:
    """A lone surrogate is replaced, a pair is a character, and an escaped backslash is neither."""
    assert loads(text) == loads(text.encode()) == data


@pytest.mark.parametrize(
    ("raw", "found"),
    [("", {}), (" \n", {}), ('{"a": 1}', {"a": 1}), ("[1]", None), ('{"a": ', None), ("null", None), ('"x"', None)],
)
def test_arguments(raw: str, found: object) -> None:
    """Only an object is valid arguments; empty text means no arguments."""
    assert arguments(raw) == found


def test_compact_is_ascii() -> None:
    """The output can be sent in any encoding."""
    assert compact({"é": ["\ud800"]}) == '{"\\u00e9":["\\ud800"]}'
