"""Strict JSON: what the gateway takes as JSON, and what it refuses."""

from __future__ import annotations

import pytest

from demeanor.gateway.dialects.strict_json import DEEPEST, arguments, compact, loads


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
        b"[" * (DEEPEST + 1) + b'"padding to make the text long enough"' + b"]" * (DEEPEST + 1),
        b'{"a":' * (DEEPEST + 1) + b"1" + b"}" * (DEEPEST + 1),
    ],
)
def test_refused(text: bytes) -> None:
    """Whatever could break somebody later is refused now, and always with the same kind of error."""
    with pytest.raises(ValueError):  # noqa: PT011 - the message depends on what is wrong
        loads(text)


def test_as_deep_as_allowed() -> None:
    """The deepest value that is allowed is allowed."""
    assert loads(b"[" * DEEPEST + b"]" * DEEPEST)


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
def test_halves_of_surrogate_pairs(text: str, data: object) -> None:
    """Half a pair is replaced, a whole one is a character, and an escaped backslash is none of both."""
    assert loads(text) == loads(text.encode()) == data


@pytest.mark.parametrize(
    ("raw", "found"),
    [("", {}), (" \n", {}), ('{"a": 1}', {"a": 1}), ("[1]", None), ('{"a": ', None), ("null", None), ('"x"', None)],
)
def test_arguments(raw: str, found: object) -> None:
    """Only an object is arguments; nothing at all means none."""
    assert arguments(raw) == found


def test_compact_is_ascii() -> None:
    """What is written can be sent anywhere."""
    assert compact({"é": ["\ud800"]}) == '{"\\u00e9":["\\ud800"]}'
