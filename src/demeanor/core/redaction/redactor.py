"""The redactor: everything that is stored passes through it, so that no secret reaches the disk.

It finds known secrets in every encoding, and the API keys of well-known vendors. It replaces them by
`‹redacted:NAME:1a2b3c4d›`. The digits are an HMAC with a key that is never stored: within one run, equal secrets have
equal digits, and a secret can't be guessed from them.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TypeAlias

from demeanor.core.redaction.encodings import SHORTEST, forms, squeezed_forms
from demeanor.core.redaction.key_patterns import vendor_keys
from demeanor.core.redaction.views import squeeze, views

Span: TypeAlias = tuple[int, int, str, bytes]
"""Start, end, name and the secret itself."""

_B64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_DIGITS = re.compile(r"‹redacted:([^:›\n]+):[0-9a-f]{8}›")
_MARKED = "‹redacted:secret:0123456789abcdef›".encode()
_LEFT = 6
"""A remainder of at least this length is redacted."""

_LEFT_AT_DOTS = 8
"""The same at `...`, which is common in ordinary text."""

_CUTS = re.compile(rb"(?:\n\[)?\xe2\x80\xa6(?:[^\n\xe2]{0,40}\xe2\x80\xa6\]\n)?|\.{3,}")


@dataclass(frozen=True, slots=True)
class _Form:
    """One encoding of one secret."""

    data: bytes
    name: str
    secret: bytes


class Redactor:
    """Removes secrets from text and bytes. Values without secrets are returned unchanged (the same object)."""

    def __init__(
        self, secrets: Mapping[str, str] | None = None, *, vendors: bool = True, digits: bool = True, spare: bytes = b""
    ) -> None:
        """`secrets` by name; short ones are ignored. Without `digits`, marks are the same in every run.

        Vendors' keys that occur in `spare` are not redacted.
        """
        self._vendors = vendors
        self._spare = spare
        self._key = os.urandom(16) if digits else None
        self._secrets = secrets or {}
        self._base: Redactor | None = None

    def also(self, secrets: Mapping[str, str]) -> Redactor:
        """A redactor with additional secrets that marks common ones in the same way."""
        redactor = Redactor(secrets, vendors=self._vendors, digits=False, spare=self._spare)
        redactor._key = self._key
        redactor._base = self
        return redactor

    @property
    def steady(self) -> Redactor:
        """The same redactor without digits, for files that are compared across runs."""
        redactor = self.also({})
        redactor._key = None
        return redactor

    def data(self, data: bytes) -> bytes:
        """`data` without secrets."""
        spans = self.spans(data)
        return _replaced(data, spans, self.mark) if spans else data

    def text(self, text: str) -> str:
        """`text` without secrets."""
        raw = text.encode("utf-8", "surrogatepass")
        redacted_data = self.data(raw)
        return text if redacted_data is raw else redacted_data.decode("utf-8", "surrogatepass")

    def spans(self, data: bytes) -> list[Span]:
        """The positions of secrets, in order; overlapping ones are merged."""
        if len(data) < SHORTEST:  # the shortest that is found, also where a text was cut
            return []
        spans = [*self._in_views(data), *self._as_they_are(data), *self._torn.spans(data), *self._vendor(data)]
        return _merged(spans) if spans else spans

    def _as_they_are(self, data: bytes) -> Iterator[Span]:
        """Encodings that no view shows."""
        for form in self._unseen:
            for start, end in _places(form.data, data):
                yield *_widened(data, start, end, form), form.name, form.secret

    def _in_views(self, data: bytes) -> Iterator[Span]:
        _, squeezed = self._forms
        if not squeezed:
            return
        for view in views(data):
            places = [(place, form) for form in squeezed for place in _places(form.data, view.data)]
            if places:
                spans = view.spans([place for place, _ in places])
                for (start, end), (_, form) in zip(spans, places, strict=True):
                    yield *_widened(data, start, end, form), form.name, form.secret

    @cached_property
    def _forms(self) -> tuple[tuple[_Form, ...], tuple[_Form, ...]]:
        """The encodings of all secrets, as they are and as views show them. There are dozens, and a redactor may serve
        one trial that printed next to nothing, so they are made when they are first searched for."""
        exact, squeezed = _known(self._secrets)
        base_exact, base_squeezed = self._base._forms if self._base else ((), ())
        return exact + base_exact, squeezed + base_squeezed

    @cached_property
    def _unseen(self) -> tuple[_Form, ...]:
        """The encodings that no view shows."""
        exact, squeezed = self._forms
        shown = {form.data for form in squeezed}
        return tuple(form for form in exact if squeeze(form.data) not in shown)

    @cached_property
    def _torn(self) -> TornForms:
        return TornForms((form.data, form.name, form.secret) for form in self._forms[0])

    def _vendor(self, data: bytes) -> Iterator[Span]:
        if self._vendors:
            for start, end, name in vendor_keys(data):
                if data[start:end] not in self._spare:
                    yield start, end, name, data[start:end]

    def mark(self, span: Span) -> bytes:
        """The replacement of a secret."""
        _, _, name, secret = span
        if self._key is None:
            return f"‹redacted:{name}›".encode()
        return f"‹redacted:{name}:{hmac.new(self._key, secret, sha256).hexdigest()[:8]}›".encode()


def without_digits(text: str) -> str:
    """`text` with the digits of all marks removed, for comparison across runs."""
    return _DIGITS.sub(r"‹redacted:\1›", text)


def _known(secrets: Mapping[str, str]) -> tuple[tuple[_Form, ...], tuple[_Form, ...]]:
    """The encodings of secrets: as they are, and as views show them."""
    exact: list[_Form] = []
    squeezed: list[_Form] = []
    for name, value in secrets.items():
        shown = re.sub(r"[^A-Za-z0-9_.-]", "-", name)[:40]
        for secret in dict.fromkeys((value, value.strip())):
            raw = secret.encode("utf-8", "surrogatepass")
            if len(raw) >= SHORTEST and raw not in _MARKED:
                label = shown if secret.lower() not in shown.lower() else "secret"
                exact += [_Form(form, label, raw) for form in forms(secret)]
                squeezed += [_Form(form, label, raw) for form in squeezed_forms(secret) if form not in _MARKED]
    return tuple(exact), tuple(squeezed)


def _places(form: bytes, data: bytes) -> Iterator[tuple[int, int]]:
    at = data.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = data.find(form, at + 1)


def _widened(data: bytes, start: int, end: int, form: _Form) -> tuple[int, int]:
    """Include the characters at both ends of base64 or base32 that encode bits of the secret and of its neighbours."""
    plain = (form.secret.lower(), squeeze(form.secret), form.secret.hex().encode())
    if len(form.data) > 2 * len(form.secret) or form.data.lower() in plain or not _B64.issuperset(form.data):
        return start, end
    return start - (start > 0 and data[start - 1] in _B64), end + (end < len(data) and data[end] in _B64)


def _merged(spans: list[Span]) -> list[Span]:
    spans.sort(key=lambda span: (span[0], -span[1]))
    merged = [spans[0]]
    for span in spans[1:]:
        start, end, name, secret = merged[-1]
        if span[0] >= end:
            merged.append(span)
        elif span[1] > end:
            merged[-1] = (start, span[1], name, secret)
    return merged


def _replaced(data: bytes, spans: list[Span], mark: Callable[[Span], bytes]) -> bytes:
    pieces: list[bytes] = []
    start = 0
    for span in spans:
        pieces += [data[start : span[0]], mark(span)]
        start = span[1]
    return b"".join([*pieces, data[start:]])


class TornForms:
    """Finds remainders of a secret where a text was shortened: its beginning before `…` or `...`, its end after it.

    Demeanor removes secrets before it shortens text (core/text/wording.py), but agents and other programs shorten text
    too. Each mark costs constant time: the few bytes next to it are looked up in a table of all places where a secret
    can be cut.
    """

    def __init__(self, encoded: Iterable[tuple[bytes, str, bytes]]) -> None:
        """`encoded`: each encoding with the name and the value of its secret."""
        self._heads: dict[bytes, list[tuple[bytes, int, str, bytes]]] = {}
        self._tails: dict[bytes, list[tuple[bytes, int, str, bytes]]] = {}
        self._known = [(form, name, secret) for form, name, secret in encoded if len(form) > _LEFT]

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
