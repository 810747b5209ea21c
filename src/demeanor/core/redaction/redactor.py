"""The redactor: everything that is stored passes through it, so that no secret reaches the disk.

It finds known secrets in every encoding, and the API keys of well-known vendors. It replaces them by
`‹redacted:NAME:1a2b3c4d›`. The digits are an HMAC with a key that is never stored: within one run, equal secrets have
equal digits, and a secret can't be guessed from them.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import TypeAlias

from demeanor.core.redaction.encodings import SHORTEST, forms
from demeanor.core.redaction.key_patterns import vendor_keys

Span: TypeAlias = tuple[int, int, str, bytes]
"""Start, end, name and the secret itself."""

_B64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_DIGITS = re.compile(r"‹redacted:([^:›\n]+):[0-9a-f]{8}›")
_MARKED = "‹redacted:secret:0123456789abcdef›".encode()

_CUT = "…".encode()
_CUTS = re.compile(rb"(?:\n\[)?\xe2\x80\xa6(?:[^\n\xe2]{0,40}\xe2\x80\xa6\]\n)?")
_LEFT = 6
"""A remainder of this length is redacted too, where a text was truncated within a secret."""


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
        self._forms: tuple[tuple[bytes, str, bytes], ...] = tuple(_known(secrets or {}))
        self.longest = max((len(form) + 2 for form, _, _ in self._forms), default=1)
        """The maximum length of a known secret in any encoding, in bytes."""

    def also(self, secrets: Mapping[str, str]) -> Redactor:
        """A redactor with additional secrets that marks common ones in the same way."""
        found = Redactor(secrets, vendors=self._vendors, digits=False, spare=self._spare)
        found._key = self._key
        found._forms += self._forms
        found.longest = max(self.longest, found.longest)
        return found

    @property
    def steady(self) -> Redactor:
        """The same redactor without digits, for files that are compared across runs."""
        found = self.also({})
        found._key = None
        return found

    def data(self, data: bytes) -> bytes:
        """`data` without secrets."""
        spans = self.spans(data)
        return _replaced(data, spans, self.mark) if spans else data

    def text(self, text: str) -> str:
        """`text` without secrets."""
        raw = text.encode("utf-8", "surrogatepass")
        found = self.data(raw)
        return text if found is raw else found.decode("utf-8", "surrogatepass")

    def spans(self, data: bytes) -> list[Span]:
        """The positions of secrets, in order; overlapping ones are merged."""
        found = [*self._exact(data), *self._torn(data), *self._vendor(data)]
        return _merged(found) if found else found

    def _exact(self, data: bytes) -> Iterator[Span]:
        for form, name, secret in self._forms:
            at = data.find(form)
            while at >= 0:
                yield *_widened(data, at, at + len(form), form, secret), name, secret
                at = data.find(form, at + 1)

    def _torn(self, data: bytes) -> Iterator[Span]:
        """Remainders of a secret where a text was truncated: its beginning before `…`, its end after `…]`."""
        if _CUT not in data:
            return
        for cut in _CUTS.finditer(data):
            before, behind = data[max(0, cut.start() - self.longest) : cut.start()], data[cut.end() :][: self.longest]
            for form, name, secret in self._forms:
                if (size := _overlap(before, form)) >= _LEFT:
                    yield cut.start() - size, cut.start(), name, secret
                if (size := _overlap(behind[::-1], form[::-1])) >= _LEFT:
                    yield cut.end(), cut.end() + size, name, secret

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


def _known(secrets: Mapping[str, str]) -> Iterator[tuple[bytes, str, bytes]]:
    for name, value in secrets.items():
        shown = re.sub(r"[^A-Za-z0-9_.-]", "-", name)[:40]
        for secret in dict.fromkeys((value, value.strip())):
            raw = secret.encode("utf-8", "surrogatepass")
            if len(raw) >= SHORTEST and raw not in _MARKED:
                label = shown if secret not in shown else "secret"
                yield from ((form, label, raw) for form in forms(secret))


def _widened(data: bytes, start: int, end: int, form: bytes, secret: bytes) -> tuple[int, int]:
    """Include the base64 characters at both ends that encode bits of both the secret and its neighbours."""
    if len(form) * 6 // 8 > len(secret) or form in (secret, secret.hex().encode(), secret.hex().upper().encode()):
        return start, end
    if not _B64.issuperset(form):
        return start, end
    return start - (start > 0 and data[start - 1] in _B64), end + (end < len(data) and data[end] in _B64)


def _merged(spans: list[Span]) -> list[Span]:
    spans.sort(key=lambda span: (span[0], -span[1]))
    found = [spans[0]]
    for span in spans[1:]:
        start, end, name, secret = found[-1]
        if span[0] >= end:
            found.append(span)
        elif span[1] > end:
            found[-1] = (start, span[1], name, secret)
    return found


def _replaced(data: bytes, spans: list[Span], mark: Callable[[Span], bytes], start: int = 0) -> bytes:
    pieces: list[bytes] = []
    for span in spans:
        pieces += [data[start : span[0]], mark(span)]
        start = span[1]
    return b"".join([*pieces, data[start:]])


def _overlap(chunk: bytes, form: bytes) -> int:
    """The length of the chunk's suffix that could be the beginning of `form`."""
    longest = min(len(form) - 1, len(chunk))
    return next((size for size in range(longest, 0, -1) if form.startswith(chunk[-size:])), 0)
