"""The encodings in which a secret can appear in a text."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

from demeanor.core.redaction.views import decode, squeeze

SHORTEST = 8
"""Shorter values are ignored, because they occur in ordinary text by chance."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|COOKIE|AUTH|_DSN\b", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z]{1,20}|[\d.,:_-]+|[~.]?/\S*|[a-z]{2}_[A-Z]{2}(\.\S*)?|C\.UTF-8")
_DESCRIPTIVE_HEADERS = frozenset(
    {
        *("accept", "accept-language", "anthropic-beta", "anthropic-version", "content-type", "http-referer"),
        *("openai-beta", "origin", "referer", "user-agent", "x-title"),
    }
)
"""Headers that describe the client: their values, such as the URL of a project, occur in ordinary answers."""
_PERCENT = re.compile(r"%[0-9A-F]{2}")


def telling(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that are named like a secret and whose values can be one."""
    return {name: value for name, value in environ.items() if _SECRET_NAME.search(name) and can_be_secret(value)}


def can_be_secret(value: str) -> bool:
    """Whether a value can be distinguished from ordinary text: not short, not a plain word, number, path or locale."""
    return len(value) >= SHORTEST and not _PLAIN.fullmatch(value)


def secret_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers whose values can be secrets: all except those that describe the client."""
    return {
        name: value
        for name, value in headers.items()
        if name.lower() not in _DESCRIPTIVE_HEADERS and can_be_secret(value)
    }


def forms(value: str) -> tuple[bytes, ...]:
    """The encodings of a secret that are searched for as they are: raw, JSON-escaped (once and twice), URL-quoted, hex,
    and base64 at any alignment.

    Base64 forms leave out the characters at both ends that also encode bits of the neighbouring bytes.
    """
    return tuple(sorted({form for form in _forms(value) if len(form) >= SHORTEST}, key=len, reverse=True))


def squeezed_forms(value: str) -> tuple[bytes, ...]:
    """The encodings that are searched for in views: raw, hex, UTF-16, and base64 and base32 at any alignment."""
    raw = value.encode("utf-8", "surrogatepass")
    encoded = {raw, decode(raw), raw.hex().encode(), *_base64(raw), *_base32(raw)}
    if not raw.isascii():  # without its NULs, ASCII text in UTF-16 is the text itself
        encoded |= {value.encode(codec, "surrogatepass") for codec in ("utf-16-le", "utf-16-be")}
        encoded.add(b"".join(map(_in_repr, value)))
    return tuple(sorted({form for form in map(squeeze, encoded) if len(form) >= SHORTEST}, key=len, reverse=True))


def _forms(value: str) -> Iterator[bytes]:
    raw = value.encode("utf-8", "surrogatepass")
    yield raw
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]
        for text in (once, twice, once.replace("/", "\\/")):
            yield text.encode("utf-8", "surrogatepass")
    for quoted in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield quoted.encode()
        yield _PERCENT.sub(lambda match: match[0].lower(), quoted).encode()
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield from _base64(raw)


def _in_repr(letter: str) -> bytes:
    """A character as the repr of a text shows it, once its `\\xXX` is taken for a byte."""
    code = ord(letter)
    escaped = code < 0x100 and not letter.isprintable()
    return bytes([code]) if escaped else letter.encode("utf-8", "surrogatepass")


def _base64(raw: bytes) -> Iterator[bytes]:
    for before in range(3):
        first, end = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        padded = bytes(before) + raw + bytes(2)
        yield base64.b64encode(padded)[first:end]
        yield base64.urlsafe_b64encode(padded)[first:end]


def _base32(raw: bytes) -> Iterator[bytes]:
    for before in range(5):
        first, end = -(-before * 8 // 5), (before + len(raw)) * 8 // 5
        yield base64.b32encode(bytes(before) + raw + bytes(4))[first:end]
