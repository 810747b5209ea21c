"""Find the source files of a text that was templated, wrapped, joined or escaped on its way.

An agent's prompt is assembled from files: lines are joined, placeholders filled in, parts quoted as strings of Python
or JSON. Words survive this. So both sides are compared as words, and the longest common runs of words show where the
text comes from; a filled-in placeholder only splits a run in two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from demeanor.core.trees.git import git

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|[abfnrtv0])")
_WORD = re.compile(r"[^\W_]+")
_GRAM = 4
"""The number of consecutive words to search for; of a shorter text, all words."""
_LEAST = 3
"""Texts with fewer words are not searched for."""
_LONG_RUN = 8
"""A run of this many words counts, however small its share of the text is."""
_NEAR = 10
"""Runs at most this many lines apart belong to one location."""
_MOST = 8

_Index: TypeAlias = Mapping[tuple[str, ...], Sequence[tuple[str, int]]]
_LARGEST_FILE = 2**20
"""Larger files are left out: they do not contain a prompt that a person wrote."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextLocation:
    """The location of a text, or of a part of it."""

    path: str
    """The file."""

    line: int
    """The first line of the largest matching part."""

    end_line: int
    """Its last line."""

    words: int
    """The number of the text's words that are in the file."""

    share: float
    """The share of the text's words, 0 to 1."""

    source: bool = True
    """Whether the file is a source: False if it only repeats parts that better locations have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _TextRun:
    """Consecutive words that a text and a file share."""

    at: int
    words: int
    line: int
    end_line: int


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case; escapes such as `\\n` and `\\u00e9` are read, not spelled."""
    return _WORD.findall(_plain(text))


def find_texts(texts: Mapping[str, str], files: Iterable[tuple[str, str]]) -> dict[str, tuple[TextLocation, ...]]:
    """The files that contain each text, or a significant part of it, by the text's name, best first."""
    words = {name: own for name, text in texts.items() if len(own := words_of(text)) >= _LEAST}
    index = _indexed(words)
    locations: dict[str, list[tuple[TextLocation, frozenset[int]]]] = {name: [] for name in texts}
    for path, content in files:
        for name, runs in _runs(words, index, content).items():
            location = _location(path, runs, len(words[name]))
            if location is not None:
                locations[name].append((location, _covered(runs)))
    return {name: _ranked(places) for name, places in locations.items()}


def _ranked(places: Sequence[tuple[TextLocation, frozenset[int]]]) -> tuple[TextLocation, ...]:
    """Best first; locations that add nothing to better ones are not sources."""
    covered_lines: set[int] = set()
    ranked = []
    for place, covered in sorted(places, key=lambda pair: _order(pair[0])):
        source = not covered_lines or len(covered - covered_lines) >= _LONG_RUN
        ranked.append(replace(place, source=source))
        covered_lines |= covered if source else set()
    return tuple(ranked[:_MOST])


def _order(place: TextLocation) -> tuple[float, int, str]:
    return -place.share, len(place.path), place.path


def _plain(text: str) -> str:
    """The text in lower case with escapes decoded, on the same lines."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text).lower()


def _indexed(texts: Mapping[str, Sequence[str]]) -> dict[int, _Index]:
    """The positions of word sequences, by their length."""
    index: dict[int, dict[tuple[str, ...], list[tuple[str, int]]]] = {}
    for name, words in texts.items():
        size = min(_GRAM, len(words))
        grams = index.setdefault(size, {})
        for at in range(len(words) - size + 1):
            grams.setdefault(tuple(words[at : at + size]), []).append((name, at))
    return dict(index)


def _runs(texts: Mapping[str, Sequence[str]], index: Mapping[int, _Index], content: str) -> dict[str, list[_TextRun]]:
    """The maximal runs of words that the file shares with each text."""
    runs: dict[str, list[_TextRun]] = {}
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
                runs.setdefault(name, []).append(run)
    return runs


def _line_numbers(text: str) -> list[int]:
    """The line of each word."""
    return [number for number, line in enumerate(text.split("\n"), 1) for _ in _WORD.finditer(line)]


def _length(text: Sequence[str], place: int, words: Sequence[str], at: int, size: int) -> int:
    """The length of the common run from here."""
    length = size
    while place + length < len(text) and at + length < len(words) and text[place + length] == words[at + length]:
        length += 1
    return length


def _location(path: str, runs: Sequence[_TextRun], size: int) -> TextLocation | None:
    covered = _covered(runs)
    longest = max(runs, key=lambda run: run.words)
    share = len(covered) / size
    if longest.words < _LONG_RUN and share < 0.5:
        return None
    whole = [run for run in runs if run.words == size]
    if len(whole) == 1:  # similar words nearby do not belong to it
        line, end_line = whole[0].line, whole[0].end_line
        return TextLocation(path=path, line=line, end_line=end_line, words=size, share=1.0)
    line, end_line = next((first, last) for first, last in _clusters(runs) if first <= longest.line <= last)
    return TextLocation(path=path, line=line, end_line=end_line, words=len(covered), share=share)


def _covered(runs: Sequence[_TextRun]) -> frozenset[int]:
    """The indices of the text's words that were found."""
    return frozenset(at for run in runs for at in range(run.at, run.at + run.words))


def _clusters(runs: Sequence[_TextRun]) -> list[tuple[int, int]]:
    """The line ranges of the runs, with close ones merged."""
    spans = sorted((run.line, run.end_line) for run in runs)
    breaks = [place for place, (a, b) in enumerate(pairwise(spans), 1) if b[0] - a[1] > _NEAR]
    starts, ends = [0, *breaks], [*breaks, len(spans)]
    return [(spans[a][0], max(end for _, end in spans[a:b])) for a, b in zip(starts, ends, strict=True)]


def tracked_text_files(tree: Path, *, leave_out: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield the path and content of each tracked text file, except those to leave out. Raises GitError."""
    for path in git(tree, "ls-files", "-z").split("\0"):
        place = tree / path
        if not path or leave_out(path) or place.is_symlink() or not place.is_file():
            continue
        if place.stat().st_size > _LARGEST_FILE:
            continue
        content = place.read_bytes()
        if b"\0" not in content:
            yield path, content.decode("utf-8", "replace")
