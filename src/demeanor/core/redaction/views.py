"""Views of data in which a secret has one form, however it was escaped, wrapped or spelled.

A view is the data without white space, quotes, backslashes and NULs, in lower case: so it also finds secrets in UTF-16,
over several lines, and inside nested JSON, repr or shell quotes. `squeezed` is the data itself; `decoded` also resolves
escapes (`%41`, `\\u0041`, `\\x41`, `\\101`, `&#65;`) and drops escapes of terminals and characters without width, which
readers remove, so that the secret would appear; `chunks` joins the pieces of a streamed text (`{"text": "sk-"}`,
`{"text": "ant…"}`). Making a view takes linear time; the positions of what was found in it are computed only if
something was.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

_DROPPED = b"\0\t\n\x0b\x0c\r \"'\\"
_KEPT_RUNS = re.compile(rb"[^\0\t\n\x0b\x0c\r \"'\\]+")
_ESCAPES = re.compile(
    rb"(?:\x1b|(?<!\\)\\++(?:u001[bB]|x1[bB]|033|e))(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n\\]*+\x07?|[@-Z^_])"
    rb"|%(?:25)*[0-9A-Fa-f]{2}"
    rb"|(?<!\\)\\++(?:u[dD][89abAB][0-9A-Fa-f]{2}\\++u[dD][c-fC-F][0-9A-Fa-f]{2}"
    rb"|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U00[0-9A-Fa-f]{6}|x[0-9A-Fa-f]{2}|[0-3][0-7]{2}|[nrtbf])"
    rb"|\xc2\xad|\xe2\x80[\x8b-\x8f]|\xe2\x81[\xa0-\xa4]|\xef\xbb\xbf"
    rb"|&(?:amp;)*(?:#[0-9]{1,7};|#[xX][0-9A-Fa-f]{1,6};|lt;|gt;|quot;|apos;|(?<=amp;))"
)
_TERMINAL = re.compile(rb"\\+(?:u001[bB]|x1[bB]|033|e)[\[\]@-Z^_]")
_HIDDEN = re.compile(rb"[%\\&\x1b]|\xc2\xad|\xe2[\x80\x81]|\xef\xbb\xbf")
"""What data with escapes has."""
_INVISIBLE = frozenset({0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF})
"""Characters that take no space, such as U+200B."""
_ENTITIES = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_CHUNKS = re.compile(
    rb'(?<!\\)\\*+"(?:text|content|delta|partial_json|arguments|thinking|reasoning|output|chunk|data|value)'
    rb'\\*+"\s{0,4}:\s{0,4}\\*+"((?:[^"\\]++|\\++[^"\\])*)'
)


@dataclass(frozen=True, slots=True)
class View:
    """A view of some data."""

    data: bytes
    """What is searched."""

    pieces: Callable[[], Iterator[tuple[int, int, bytes]]]
    """Its pieces in order: start and end in the original data, and the bytes that stand for them."""

    def spans(self, places: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Where places in the view, given by start and end, are in the original data."""
        starts: list[int] = []
        origins: list[tuple[int, int, int]] = []
        size = 0
        for start, end, text in self.pieces():
            if text:
                starts.append(size)
                origins.append((start, end, len(text)))
                size += len(text)
        for first, last in places:
            at, to = bisect_right(starts, first) - 1, bisect_right(starts, last - 1) - 1
            start, end, length = origins[at]
            whole = start + (first - starts[at]) if length == end - start else start
            start, end, length = origins[to]
            yield whole, start + (last - starts[to]) if length == end - start else end


def squeeze(data: bytes) -> bytes:
    """`data` in lower case, without white space, quotes, backslashes and NULs."""
    return data.translate(None, _DROPPED).lower()


def decode(data: bytes) -> bytes:
    """`data` with its escapes resolved."""
    return _ESCAPES.sub(lambda match: _decoded(match[0]), data)


def views(data: bytes) -> Iterator[View]:
    """The views of some data that differ from one another."""
    yield View(squeeze(data), lambda: _runs(data))
    if _HIDDEN.search(data):
        plain = decode(data)
        if plain != data:
            yield View(squeeze(plain), lambda: _decoded_runs(data))
    if b'"' in data:
        joined = b"".join(map(decode, _CHUNKS.findall(data)))
        if joined:
            yield View(squeeze(joined), lambda: _chunk_runs(data))


def _runs(data: bytes, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int, bytes]]:
    for match in _KEPT_RUNS.finditer(data, first, len(data) if last is None else last):
        yield match.start(), match.end(), match[0].lower()


def _decoded_runs(data: bytes, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int, bytes]]:
    end, last = first, len(data) if last is None else last
    for match in _ESCAPES.finditer(data, first, last):
        yield from _runs(data, end, match.start())
        yield match.start(), match.end(), squeeze(_decoded(match[0]))
        end = match.end()
    yield from _runs(data, end, last)


def _chunk_runs(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    for match in _CHUNKS.finditer(data):
        yield from _decoded_runs(data, match.start(1), match.end(1))


@cache
def _letter(code: int) -> bytes:
    return b"" if code in _INVISIBLE else chr(code).encode("utf-8", "surrogatepass")


@lru_cache(maxsize=4096)
def _decoded(escape: bytes) -> bytes:
    """What an escape stands for."""
    if escape[:1] in b"\x1b\xc2\xe2\xef" or _TERMINAL.match(escape):
        return b""
    if escape[:1] == b"%":
        return bytes.fromhex(escape[-2:].decode())
    if escape[:1] == b"&":
        name = escape[1:].rpartition(b"amp;")[2].rstrip(b";") or b"amp"
        if not name.startswith(b"#"):
            return _ENTITIES[name]
        code = int(name[2:], 16) if name[1:2] in (b"x", b"X") else int(name[1:])
        return _letter(code) if code < 0x110000 else escape
    text = escape.lstrip(b"\\")
    if len(text) == 1:
        return b" "
    if text[:1].isdigit():
        return bytes([int(text, 8)])
    if text[1:2] == b"{":
        code = int(text[2:-1], 16)
        return _letter(code) if code < 0x110000 else escape
    if text[:1] == b"x":
        return bytes.fromhex(text[1:].decode())
    if len(text) == 5:
        return _letter(int(text[1:], 16))
    if text[:1] == b"U":
        code = int(text[1:], 16)
        return _letter(code) if code < 0x110000 else escape
    high, low = int(text[1:5], 16), int(text[-4:], 16)
    return _letter(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
