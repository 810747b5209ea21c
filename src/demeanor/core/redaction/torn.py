"""Remainders of a secret where a text was shortened: its beginning before `…` or `...`, its end after it.

Demeanor removes secrets before it shortens text (core/text/wording.py), but agents and other programs shorten text too.
Each mark costs constant time: the few bytes next to it are looked up in a table of all places where a secret can be
cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LEFT = 6
"""A remainder of at least this length is redacted."""

_LEFT_AT_DOTS = 8
"""The same at `...`, which is common in ordinary text."""

_CUTS = re.compile(rb"(?:\n\[)?\xe2\x80\xa6(?:[^\n\xe2]{0,40}\xe2\x80\xa6\]\n)?|\.{3,}")


class TornForms:
    """The encodings of secrets, by what can stand next to a cut."""

    def __init__(self, forms: Iterable[tuple[bytes, str, bytes]]) -> None:
        """`forms`: each encoding with the name and the value of its secret."""
        self._heads: dict[bytes, list[tuple[bytes, int, str, bytes]]] = {}
        self._tails: dict[bytes, list[tuple[bytes, int, str, bytes]]] = {}
        self._known = [(form, name, secret) for form, name, secret in forms if len(form) > _LEFT]

    def spans(self, data: bytes) -> Iterator[tuple[int, int, str, bytes]]:
        """The remainders in `data`: start, end, name and value of the secret."""
        if not self._known or (b"\xe2\x80\xa6" not in data and b"..." not in data):
            return
        if not self._heads:
            self._fill()
        for cut in _CUTS.finditer(data):
            least = _LEFT_AT_DOTS if cut[0].startswith(b".") else _LEFT
            start, end = cut.span()
            for form, size, name, secret in self._heads.get(data[max(0, start - _LEFT) : start], ()):
                if least <= size <= start and data[start - size : start] == form[:size]:
                    yield start - size, start, name, secret
            for form, size, name, secret in self._tails.get(data[end : end + _LEFT], ()):
                if size >= least and data[end : end + size] == form[-size:]:
                    yield end, end + size, name, secret

    def _fill(self) -> None:
        for form, name, secret in self._known:
            for size in range(_LEFT, len(form)):
                at = len(form) - size
                self._heads.setdefault(form[size - _LEFT : size], []).append((form, size, name, secret))
                self._tails.setdefault(form[at : at + _LEFT], []).append((form, size, name, secret))
