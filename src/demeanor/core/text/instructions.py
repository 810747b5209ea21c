"""The instructions of a request: the parts of its system prompt and tool definitions that can be changed one by one.

A prompt is split into sections, list items, sentences and code blocks; each description of a tool or of a parameter is
one instruction. An id depends on the text and on the place, not on the position, so that it stays the same when other
instructions change. What differs from trial to trial (paths of the sandbox, dates, ids) does not count. Equal texts in
one place have one id.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Text

InstructionKind: TypeAlias = Literal["section", "item", "sentence", "block", "tool", "parameter"]

SYSTEM = "system"
"""The place of everything in system and developer messages."""

_HEADING = re.compile(r" {0,3}(#{1,6})\s+\S")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_FENCE = re.compile(r"\s*(```|~~~)")
_TAG = re.compile(r"\s*</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?>\s*$")
_SENTENCE_END = re.compile(r"""[.!?]["'”’)\]*`]*\s+(?=["'“‘(\[*`<]*[A-Z0-9])""")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|al)|\b[A-Z])\.\s+$", re.IGNORECASE)
_DATES = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b"
    r"|\b\d{1,2}/\d{1,2}/\d{4}\b"
    r"|\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?"
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r" \d{1,2}(?:st|nd|rd|th)?,? \d{4}\b"
)
_IDS = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptInstruction:
    """One instruction of a request."""

    id: str
    """Eight hex digits of its text and place."""

    kind: InstructionKind
    """What it is."""

    place: str
    """`system`, the name of a tool, or `tool.parameter`."""

    text: str
    """Its text, as it was sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptSpan:
    """The place of an instruction in a text."""

    kind: InstructionKind
    """What it is."""

    start: int
    """Where it begins."""

    end: int
    """Where it ends; removing up to here leaves no empty line or double space."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptPiece:
    """A piece of a request, so that all pieces together show it as a whole: an instruction, or the text in between."""

    id: str
    """The id of the instruction; empty for headings, tags and white space."""

    place: str
    """`system`, the name of a tool, or `tool.parameter`."""

    text: str
    """Its text, with the white space around it."""


def instructions(request: Request, facts: Mapping[str, str]) -> tuple[PromptInstruction, ...]:
    """The instructions of a request in order, each id once. A section comes before what is in it."""
    by_id: dict[str, PromptInstruction] = {}
    for piece in _all(request, facts):
        by_id.setdefault(piece.id, piece)
    return tuple(by_id.values())


def _all(request: Request, facts: Mapping[str, str]) -> Iterator[PromptInstruction]:
    for text in system_texts(request):
        for span in spans(text):
            yield _instruction(span.kind, SYSTEM, text[span.start : span.end].strip(), facts)
    yield from _of_tools(request, facts)


def _of_tools(request: Request, facts: Mapping[str, str]) -> Iterator[PromptInstruction]:
    for tool in request.tools:
        if tool.description.strip():
            yield _instruction("tool", tool.name, tool.description, facts)
        for place, text in parameter_descriptions(tool.schema, tool.name):
            yield _instruction("parameter", place, text, facts)


def pieces(request: Request, facts: Mapping[str, str]) -> tuple[PromptPiece, ...]:
    """A request as instructions, sections by their parts, and the text between them. The pieces of each text of the
    system prompt add up to it."""
    parts = []
    for text in system_texts(request):
        done = 0
        for span in (span for span in spans(text) if span.kind != "section"):
            if span.start > done:
                parts.append(PromptPiece(id="", place=SYSTEM, text=text[done : span.start]))
            own = text[span.start : span.end]
            parts.append(PromptPiece(id=instruction_id(SYSTEM, own.strip(), facts), place=SYSTEM, text=own))
            done = span.end
        if done < len(text):
            parts.append(PromptPiece(id="", place=SYSTEM, text=text[done:]))
    for tool in _of_tools(request, facts):
        parts.append(PromptPiece(id=tool.id, place=tool.place, text=tool.text))
    return tuple(parts)


def _instruction(kind: InstructionKind, place: str, text: str, facts: Mapping[str, str]) -> PromptInstruction:
    return PromptInstruction(id=instruction_id(place, text, facts), kind=kind, place=place, text=text)


def instruction_id(place: str, text: str, facts: Mapping[str, str]) -> str:
    """The id of a text in a place."""
    words = " ".join(with_placeholders(text, facts).split())
    return hashlib.sha256(f"{place}\n{words}".encode("utf-8", "surrogatepass")).hexdigest()[:8]


def system_texts(request: Request) -> Iterator[str]:
    """The texts of system and developer messages, part by part."""
    for message in request.messages:
        if message.role in {"system", "developer"}:
            yield from (part.text for part in message.parts if isinstance(part, Text))


def parameter_descriptions(schema: Mapping[str, Any], place: str) -> Iterator[tuple[str, str]]:
    """The descriptions of parameters in a JSON schema, with their places; also of nested ones."""
    properties = schema.get("properties")
    for name, about in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(about, Mapping):
            continue
        where = f"{place}.{name}"
        if isinstance(text := about.get("description"), str) and text.strip():
            yield where, text
        yield from parameter_descriptions(about, where)
        if isinstance(items := about.get("items"), Mapping):
            yield from parameter_descriptions(items, f"{where}[]")


def spans(text: str) -> tuple[PromptSpan, ...]:
    """The instructions of a prompt, by where they begin; a section before what is in it."""
    parts = [*_sections(text), *_parts(text)]
    return tuple(sorted(parts, key=lambda span: (span.start, -span.end)))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with its line break, and where it begins."""
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, line
        start += len(line)


def _sections(text: str) -> Iterator[PromptSpan]:
    """From each heading to the next one of its level or above."""
    headings, fenced = [], False
    for start, line in _lines(text):
        fenced ^= bool(_FENCE.match(line))
        if not fenced and (heading := _HEADING.match(line)):
            headings.append((start, len(heading[1])))
    for number, (start, level) in enumerate(headings):
        end = next((other for other, above in headings[number + 1 :] if above <= level), len(text))
        yield PromptSpan(kind="section", start=start, end=end)


def _parts(text: str) -> Iterator[PromptSpan]:
    """List items, sentences and code blocks."""
    block: int | None = None
    lines: list[tuple[int, str]] = []  # since the last code block
    for start, line in _lines(text):
        if not _FENCE.match(line):
            if block is None:
                lines.append((start, line))
        elif block is None:
            yield from _items_and_sentences(text, lines)
            block, lines = start, []
        else:
            yield PromptSpan(kind="block", start=block, end=start + len(line))
            block = None
    yield from _items_and_sentences(text, lines)
    if block is not None:
        yield PromptSpan(kind="block", start=block, end=len(text))


def _items_and_sentences(text: str, lines: Iterable[tuple[int, str]]) -> Iterator[PromptSpan]:
    """List items and sentences in lines without a code block."""
    item: tuple[int, int, int] | None = None  # where it begins and ends, and its indentation
    paragraph: tuple[int, int] | None = None

    def finished() -> Iterator[PromptSpan]:
        nonlocal item, paragraph
        if item is not None:
            yield PromptSpan(kind="item", start=item[0], end=item[1])
        if paragraph is not None:
            yield from _sentences(text, *paragraph)
        item = paragraph = None

    for start, line in lines:
        end = start + len(line)
        if not line.strip() or _HEADING.match(line) or _TAG.match(line):
            yield from finished()
        elif _ITEM.match(line):
            yield from finished()
            item = (start, end, _indentation(line))
        elif item is not None and _indentation(line) > item[2]:
            item = (item[0], end, item[2])
        else:
            if item is not None:
                yield from finished()
            paragraph = (paragraph[0] if paragraph else start, end)
    yield from finished()


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _sentences(text: str, start: int, end: int) -> Iterator[PromptSpan]:
    """The sentences of a paragraph; each ends where the next one begins, and the last one before the line break."""
    first = start
    for match in _SENTENCE_END.finditer(text, start, end):
        if not _ABBREVIATION.search(text, first, match.end()):
            yield PromptSpan(kind="sentence", start=first, end=match.end())
            first = match.end()
    if first > start:
        end = len(text[:end].rstrip())  # what comes before it keeps its line
    if text[first:end].strip():
        yield PromptSpan(kind="sentence", start=first, end=end)


def with_placeholders(text: str, facts: Mapping[str, str]) -> str:
    """The text with placeholders for `workspace`, `home` and `agent` of the facts, for dates and for ids."""
    for name in ("workspace", "home", "agent"):
        if facts.get(name):
            text = text.replace(facts[name], f"<{name}>")
            as_folder = re.sub(r"[^A-Za-z0-9]", "-", facts[name])  # agents name folders after it
            text = text.replace(as_folder, f"<{name}>")
    return _IDS.sub("<id>", _DATES.sub("<date>", text))
