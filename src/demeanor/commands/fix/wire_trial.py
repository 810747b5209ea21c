"""Try a change on the wire: the gateway makes it in every request, so nothing has to be edited or built.

This costs a few trials of the evals that fail. It can only show that a change does not help: one that does is built and
verified afterwards, as if it had not been tried.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from demeanor.commands.fix.report import WireTrial
from demeanor.commands.fix.verify import Verification, compare_cells, failing_cells
from demeanor.core.text.instructions import PromptInstruction, instructions
from demeanor.core.text.line_diff import DiffWork, opcodes
from demeanor.core.text.wording import count
from demeanor.core.trees.tree import Change, Tree
from demeanor.core.values.errors import StoreError
from demeanor.core.values.intervention import Intervention
from demeanor.core.values.record import Record
from demeanor.observe import first_request
from demeanor.store.captures import read_capture
from demeanor.store.runs import RunFolder


@dataclass(frozen=True, kw_only=True, slots=True)
class WireCandidate:
    """A change as an intervention, for evals and a subject that send the same text."""

    evals: tuple[str, ...]
    """The names of the evals."""

    subject: str
    """The subject, as `agent:model`."""

    intervention: Intervention
    """The change in their requests."""


def try_on_wire(
    changes: Sequence[Change],
    before: Verification,
    folder: RunFolder,
    run: Callable[[int, WireCandidate], Verification],
) -> WireTrial:
    """Try a change with the evals that fail in `before`, whose run is in `folder`. `run` gets the candidate and its
    number."""
    try:
        candidates = wire_candidates(changes, before, folder)
    except NotOnTheWire as reason:
        return WireTrial(detail=f"not tried: {reason}")
    tried = [run(number, candidate) for number, candidate in enumerate(candidates, 1)]
    after = Verification(
        found=tuple(outcome for part in tried for outcome in part.found),
        records=tuple(record for part in tried for record in part.records),
        stopped=None,
        notes=(),
    )
    failed = [tally for tally, _ in after.found if tally.judged and not (tally.passed or tally.voided or tally.missing)]
    ids = sorted({id_ for candidate in candidates for id_ in candidate.intervention.ids})
    changed = f"{count(len(ids), 'instruction')} changed"
    if failed:
        names = ", ".join(f"{tally.eval} on {tally.subject}: 0 of {tally.judged} passed" for tally in failed)
        detail = f"{changed}: {names}, so the change was not built"
    elif all(tally.passed for tally, _ in after.found):
        detail = f"{changed}: it helps"
    else:
        detail = f"{changed}: too few trials could be judged"
    cells = compare_cells(before, after)
    return WireTrial(detail=detail, instructions=tuple(ids), cells=cells, dropped=bool(failed))


def wire_candidates(changes: Sequence[Change], before: Verification, folder: RunFolder) -> tuple[WireCandidate, ...]:
    """The change as interventions, one for each subject and text; raises NotOnTheWire if some eval does not send it."""
    candidates: dict[tuple[str, frozenset[str]], tuple[Intervention, list[str]]] = {}
    for name, subject, sent in _failing(before, folder):
        intervention = wire_change(changes, sent)
        _, evals = candidates.setdefault((subject, intervention.ids), (intervention, []))
        evals.append(name)
    return tuple(
        WireCandidate(evals=tuple(evals), subject=subject, intervention=intervention)
        for (subject, _), (intervention, evals) in candidates.items()
    )


def _failing(before: Verification, folder: RunFolder) -> Iterator[tuple[str, str, Sequence[PromptInstruction]]]:
    """Each failing eval and subject with the instructions that were sent."""
    for name, subject in failing_cells(before):
        own = [record for record in before.records if (record.eval, record.subject) == (name, subject)]
        yield name, subject, _sent(own, folder)


def _sent(records: Sequence[Record], folder: RunFolder) -> Sequence[PromptInstruction]:
    for record in records:
        try:
            capture = read_capture(record, Tree(), run=folder)
        except StoreError:
            continue
        if request := first_request(capture.exchanges):
            return instructions(request, capture.facts)
    raise NotOnTheWire("the gateway saw no request of the agent")


# Translate a change of files into an intervention: the same change, made by the gateway in every request.
#
# Words survive the way from a file to a request, whatever joins, wraps or quotes the lines (vcs/text_search.py). So
# the instructions that were sent are searched for in the old file as words, and take the words that stand there in
# the new one. A change is translated as a whole or not at all: half of it would be another change.

_WORD = re.compile(r"[^\W_]+")
_ESCAPE = re.compile(r"\\[abfnrtv0]")
_LEAST = 3
"""Instructions with fewer words are not searched for."""
_CLOSING = re.compile(r"""(?:[.!?:;,)\]…*`”’]|\\")*""")
_CLOSING_PROSE = re.compile(r"""[.!?:;,)\]…*`”’"']*""")
_PROSE = (".md", ".mdx", ".txt")
"""The ends of names of files that hold prompts as they are; in others, a quotation mark may end the text."""
_PLACEHOLDER = re.compile(r"[{}]|\$\w")


class NotOnTheWire(Exception):
    """A change that can't be made in requests; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _WordText:
    """A text and its words."""

    text: str
    words: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    def part(self, start: int, end: int) -> str:
        """The text from one word up to another one."""
        return self.text[self.places[start][0] : self.places[end - 1][1]] if start < end else ""

    def closing(self, end: int, path: str) -> str:
        """The punctuation behind a word."""
        pattern = _CLOSING_PROSE if path.endswith(_PROSE) else _CLOSING
        match = pattern.match(self.text, self.places[end - 1][1])
        return match[0] if match else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _WordEdit:
    """Words of the old text that are replaced by words of the new one; both may be empty."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _SentPlace:
    """Where an instruction stands in a file, as a range of words; several may have the same text."""

    start: int
    end: int
    instruction: PromptInstruction


def wire_change(changes: Sequence[Change], sent: Sequence[PromptInstruction]) -> Intervention:
    """The intervention that does to these instructions what the change does to files; raises NotOnTheWire."""
    replacements: dict[str, str] = {}
    for change in changes:
        for id_, text in _replacements(change, [item for item in sent if item.kind != "section"]):
            if replacements.setdefault(id_, text) != text:
                raise NotOnTheWire(f"{change.path}: a text that occurs more than once was changed in different ways")
    return Intervention(
        without=tuple(id_ for id_, text in replacements.items() if not text),
        replacements={id_: text for id_, text in replacements.items() if text},
    )


def _replacements(change: Change, sent: Sequence[PromptInstruction]) -> Iterator[tuple[str, str]]:
    """The new text of each instruction that the change of one file touches; empty if it was removed."""
    old, new = _read(change)
    edits = _edits(old.words, new.words)
    if not edits:
        raise NotOnTheWire(f"{change.path}: no word was changed")
    places = list(_places(old.words, sent))
    touched: set[_SentPlace] = set()
    for own, group in _blocks(edits, places, change.path):
        text = _new_text(change.path, old, new, own, group)
        first = own[0]
        touched |= set(own)
        for place in own:
            same = (place.start, place.end) == (first.start, first.end)
            yield place.instruction.id, text if same else ""
    changed = {place.instruction.id for place in touched}
    if any(place.instruction.id in changed for place in places if place not in touched):
        raise NotOnTheWire(f"{change.path}: a text that occurs more than once was changed in one place only")


def _read(change: Change) -> tuple[_WordText, _WordText]:
    old, new = (entry.read() if entry is not None else None for entry in (change.before, change.after))
    if old is None or new is None:
        raise NotOnTheWire(f"{change.path}: the file was {change.how}")
    try:
        return _word_text(old.decode()), _word_text(new.decode())
    except UnicodeDecodeError:
        raise NotOnTheWire(f"{change.path}: the file is not text") from None


def _word_text(text: str) -> _WordText:
    """Split a text; `\\n` in a quoted string is not a word."""
    words = list(_WORD.finditer(_ESCAPE.sub("  ", text)))
    return _WordText(text=text, words=tuple(match[0] for match in words), places=tuple(match.span() for match in words))


def _edits(old: Sequence[str], new: Sequence[str]) -> list[_WordEdit]:
    """The differences."""
    return [
        _WordEdit(start=a, end=b, new_start=c, new_end=d)
        for tag, a, b, c, d in opcodes(old, new, DiffWork())
        if tag != "equal"
    ]


def _places(words: Sequence[str], sent: Sequence[PromptInstruction]) -> Iterator[_SentPlace]:
    """Where each instruction stands as a whole."""
    index: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        index.setdefault(word, []).append(at)
    for instruction in sent:
        own = _word_text(instruction.text).words
        if len(own) < _LEAST:
            continue
        for at in index.get(own[0], ()):
            if tuple(words[at : at + len(own)]) == own:
                yield _SentPlace(start=at, end=at + len(own), instruction=instruction)


def _blocks(
    edits: Sequence[_WordEdit], places: Sequence[_SentPlace], path: str
) -> Iterator[tuple[list[_SentPlace], list[_WordEdit]]]:
    """Instructions that are changed together, in order, with their edits."""
    blocks: list[tuple[list[_SentPlace], list[_WordEdit]]] = []
    for edit in edits:
        own = sorted(_touched(edit, places), key=lambda place: (place.start, place.end))
        covered = {at for place in own for at in range(place.start, place.end)}
        if not own or not covered.issuperset(range(edit.start, edit.end)):
            raise NotOnTheWire(f"{path}: the change is not only in text that the agent sends")
        if blocks and own[0].start < max(place.end for place in blocks[-1][0]):
            before, group = blocks[-1]
            before += [place for place in own if place not in before]
            group.append(edit)
        else:
            blocks.append((own, [edit]))
    for own, group in blocks:
        ranges = sorted({(place.start, place.end) for place in own})
        if any(range_[1] > other[0] for range_, other in pairwise(ranges)):
            raise NotOnTheWire(f"{path}: the changed text is part of several instructions")
        yield own, group


def _touched(edit: _WordEdit, places: Sequence[_SentPlace]) -> list[_SentPlace]:
    """The instructions that an edit changes. Words between two of them belong to the first one."""
    if edit.start < edit.end:
        return [place for place in places if place.start < edit.end and edit.start < place.end]
    at = edit.start
    inside = [place for place in places if place.start < at < place.end]
    behind = [place for place in places if place.end == at]
    return inside or behind or [place for place in places if place.start == at]


def _new_text(path: str, old: _WordText, new: _WordText, own: Sequence[_SentPlace], edits: Sequence[_WordEdit]) -> str:
    """The text that took the place of instructions, as the agent would send it."""
    start, end = own[0].start, max(place.end for place in own)
    new_start = edits[0].new_start - (edits[0].start - start)
    new_end = edits[-1].new_end + (end - edits[-1].end)
    if new_start >= new_end:
        return ""
    sent = own[0].instruction.text
    text = _unquoted(path, new.part(new_start, new_end) + new.closing(new_end, path))
    if _PLACEHOLDER.search(text) and not _PLACEHOLDER.search(sent):
        raise NotOnTheWire(f"{path}: the new text has a placeholder")
    if "\n" in old.part(start, end) and "\n" not in sent:  # the agent joins lines
        text = "\n\n".join(" ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text))
    first = _WORD.search(sent)
    return f"{sent[: first.start()] if first else ''}{text}"


def _unquoted(path: str, text: str) -> str:
    """The text without the escapes of JSON; other formats' escapes are not known."""
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"', strict=False)) if path.endswith(".json") else _unknown_escape(path)
    except ValueError:
        return _unknown_escape(path)


def _unknown_escape(path: str) -> str:
    raise NotOnTheWire(f"{path}: the new text has escapes that can't be read")
