"""Where in some files a text lies, though on its way it was templated, wrapped, joined or escaped.

What an agent sends to its model was put together from files: lines were joined, places filled in, pieces quoted as
strings of a program or of JSON. Words survive all of that. So both sides are taken as words, and the longest runs of
words that they share tell where the text comes from; what was filled in breaks a run in two, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|[abfnrtv0])")
_WORD = re.compile(r"[^\W_]+")
_GRAM = 4
"""So many words in a row are looked for; of a shorter text, all of its words."""
_LEAST = 3
"""A text of fewer words says too little to be found by."""
_TELLING = 8
"""A run of so many words is worth telling, however small a part of the text it is."""
_NEAR = 10
"""Runs that are at most so many lines apart belong to one place."""
_MOST = 8

_Index: TypeAlias = Mapping[tuple[str, ...], Sequence[tuple[str, int]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class TextLocation:
    """Where a text, or a part of it, lies."""

    path: str
    """The file."""

    line: int
    """The first line of the largest part that is found there."""

    end_line: int
    """Its last line."""

    words: int
    """How many words of the text are found in the file."""

    share: float
    """Which share of the text's words that is, 0 to 1."""

    source: bool = True
    """Whether a good part of it is found in no better place: False for what merely repeats some of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _TextRun:
    """Words in a row that a text and a file share."""

    at: int
    words: int
    line: int
    end_line: int


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case; escapes such as `\\n` and `\\u00e9` are read, not spelled."""
    return _WORD.findall(_plain(text))


def find_texts(texts: Mapping[str, str], files: Iterable[tuple[str, str]]) -> dict[str, tuple[TextLocation, ...]]:
    """By the name of each text: the files that it, or a part worth telling of it, lies in, the best first."""
    words = {name: own for name, text in texts.items() if len(own := words_of(text)) >= _LEAST}
    index = _indexed(words)
    found: dict[str, list[tuple[TextLocation, frozenset[int]]]] = {name: [] for name in texts}
    for path, content in files:
        for name, runs in _runs(words, index, content).items():
            place = _place(path, runs, len(words[name]))
            if place is not None:
                found[name].append((place, _covered(runs)))
    return {name: _ranked(places) for name, places in found.items()}


def _ranked(places: Sequence[tuple[TextLocation, frozenset[int]]]) -> tuple[TextLocation, ...]:
    """The best first; those that add nothing to better ones are no source."""
    known: set[int] = set()
    ranked = []
    for place, covered in sorted(places, key=lambda pair: _order(pair[0])):
        source = not known or len(covered - known) >= _TELLING
        ranked.append(replace(place, source=source))
        known |= covered if source else set()
    return tuple(ranked[:_MOST])


def _order(place: TextLocation) -> tuple[float, int, str]:
    return -place.share, len(place.path), place.path


def _plain(text: str) -> str:
    """Without escapes, in lower case, on the same lines."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text).lower()


def _indexed(texts: Mapping[str, Sequence[str]]) -> dict[int, _Index]:
    """By length of the rows of words that are looked for: where they stand."""
    found: dict[int, dict[tuple[str, ...], list[tuple[str, int]]]] = {}
    for name, words in texts.items():
        size = min(_GRAM, len(words))
        grams = found.setdefault(size, {})
        for at in range(len(words) - size + 1):
            grams.setdefault(tuple(words[at : at + size]), []).append((name, at))
    return dict(found)


def _runs(texts: Mapping[str, Sequence[str]], index: Mapping[int, _Index], content: str) -> dict[str, list[_TextRun]]:
    """By text: the rows of words that the file shares with it, as long as they can be."""
    found: dict[str, list[_TextRun]] = {}
    text = _plain(content)
    words = _WORD.findall(text)
    lines: list[int] = []
    for size, grams in index.items():
        done: dict[str, int] = {}
        rows = zip(*(words[start:] for start in range(size)), strict=False)
        for at, here in ((at, grams[row]) for at, row in enumerate(rows) if row in grams):
            lines = lines or _line_numbers(text)
            for name in dict.fromkeys(own for own, _ in here):
                if at < done.get(name, 0):
                    continue
                length, place = max(
                    (_length(texts[name], other, words, at, size), -other) for own, other in here if own == name
                )
                done[name] = at + length
                run = _TextRun(at=-place, words=length, line=lines[at], end_line=lines[at + length - 1])
                found.setdefault(name, []).append(run)
    return found


def _line_numbers(text: str) -> list[int]:
    """The line of each word."""
    return [number for number, line in enumerate(text.split("\n"), 1) for _ in _WORD.finditer(line)]


def _length(text: Sequence[str], place: int, words: Sequence[str], at: int, size: int) -> int:
    """How far a text and a file go on alike from here."""
    length = size
    while place + length < len(text) and at + length < len(words) and text[place + length] == words[at + length]:
        length += 1
    return length


def _place(path: str, runs: Sequence[_TextRun], size: int) -> TextLocation | None:
    covered = _covered(runs)
    longest = max(runs, key=lambda run: run.words)
    share = len(covered) / size
    if longest.words < _TELLING and share < 0.5:
        return None
    line, end_line = next((first, last) for first, last in _clusters(runs) if first <= longest.line <= last)
    return TextLocation(path=path, line=line, end_line=end_line, words=len(covered), share=share)


def _covered(runs: Sequence[_TextRun]) -> frozenset[int]:
    """The words of the text that are found."""
    return frozenset(at for run in runs for at in range(run.at, run.at + run.words))


def _clusters(runs: Sequence[_TextRun]) -> list[tuple[int, int]]:
    """The runs' lines, those that are near to each other as one."""
    spans = sorted((run.line, run.end_line) for run in runs)
    breaks = [place for place, (a, b) in enumerate(pairwise(spans), 1) if b[0] - a[1] > _NEAR]
    starts, ends = [0, *breaks], [*breaks, len(spans)]
    return [(spans[a][0], max(end for _, end in spans[a:b])) for a, b in zip(starts, ends, strict=True)]
