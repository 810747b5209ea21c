"""A key that a provider repeats is masked, however it is divided into chunks; nothing else changes."""

from __future__ import annotations

import json

from hypothesis import given, strategies as st

from demeanor.gateway.models.provider import EchoMask, secret_forms

KEYS = st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=8, max_size=40)


def passed(key: str, data: bytes, sizes: list[int]) -> tuple[bytes, list[str]]:
    """The data as the agent gets it, and the notes."""
    notes: list[str] = []
    mask, found = EchoMask(secret_forms([key]), notes.append), b""
    for size in sizes:
        found += mask.feed(data[:size])
        data = data[size:]
    return found + mask.feed(data) + mask.close(), notes


@given(KEYS, st.integers(0, 3), st.text(max_size=20), st.text(max_size=20), st.lists(st.integers(0, 9), max_size=30))
def test_a_key_never_passes(key: str, depth: int, before: str, after: str, sizes: list[int]) -> None:
    """Raw, and escaped up to three times."""
    shown = key
    for _ in range(depth):
        shown = json.dumps(shown)[1:-1]
    data = f"{before}{shown}{after}".encode()
    found, notes = passed(key, data, sizes)
    assert shown.encode() not in found
    assert len(found) == len(data)
    assert notes


@given(KEYS, st.binary(max_size=200), st.lists(st.integers(0, 9), max_size=30))
def test_anything_else_passes_unchanged(key: str, data: bytes, sizes: list[int]) -> None:
    """All of it, in order."""
    found, notes = passed(key, data, sizes)
    assert notes or found == data
