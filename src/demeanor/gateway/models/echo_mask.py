"""Masks the key and the headers of a provider where the provider repeats them to the agent.

Some providers and proxies quote a rejected key in their error. It becomes asterisks of the same length, so that nothing
else of a response changes, not even its size.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

NOTE = "the provider repeated its key or a configured header to the agent; it was masked"

_SHORTEST = 8
"""Shorter values occur in ordinary text by chance."""


def secret_forms(secrets: Iterable[str]) -> Sequence[bytes]:
    """How secrets may occur in a response: the longest form first, because it may contain another."""
    forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
    return sorted(forms, key=len, reverse=True)


class EchoMask:
    """Masks secrets in the chunks of one response."""

    def __init__(self, forms: Sequence[bytes], note: Callable[[str], None]) -> None:
        """`forms` are those of the secrets, see `secret_forms`; `note` is called if something was masked."""
        self._forms = forms
        self._note = note
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """The next chunk; an end that may be the beginning of a secret is held back."""
        data = self._masked(self._held + chunk)
        keep = max((_overlap(data, form) for form in self._forms), default=0)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def close(self) -> bytes:
        """What was held back."""
        rest, self._held = self._held, b""
        return rest

    def text(self, text: str) -> str:
        """A whole text, such as the value of a header."""
        return self._masked(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def _masked(self, data: bytes) -> bytes:
        for form in self._forms:
            if form in data:
                data = data.replace(form, b"*" * len(form))
                self._note(NOTE)
        return data


def _forms(secret: str) -> Iterator[bytes]:
    """A secret as it is, and escaped up to three times in JSON strings."""
    for ascii_only in (True, False):
        text = secret
        for _ in range(4):
            yield text.encode("utf-8", "surrogateescape")
            yield text.replace("/", "\\/").encode("utf-8", "surrogateescape")
            text = json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def _overlap(data: bytes, form: bytes) -> int:
    """The length of the end of `data` that is a beginning of `form`."""
    start = max(0, len(data) - len(form) + 1)
    at = data.find(form[:1], start)
    while at >= 0:
        if form.startswith(data[at:]):
            return len(data) - at
        at = data.find(form[:1], at + 1)
    return 0
