"""What a tool call makes of the files that it changes, as far as its arguments say. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

from demeanor.core.values.trajectory import Called, Kind
from demeanor.judge import CallFacts, values


class Unknown(Enum):
    """A content that is not known."""

    UNKNOWN = "unknown"
    """Nothing shows it."""

    MISMATCH = "mismatch"
    """The content before is known, but it does not contain what was replaced: it was another one."""


UNKNOWN: Final = Unknown.UNKNOWN
MISMATCH: Final = Unknown.MISMATCH

Content: TypeAlias = bytes | Unknown | None
"""The content of a file; None if it does not exist."""

Read: TypeAlias = Callable[[str], Content]

_PARTIAL = {"insert", "append", "undo_edit", "rename", "move"}
_SECTION = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")


def file_changes(call: Called, facts: CallFacts, read: Read) -> Iterator[tuple[str, Content]]:
    """Each path that a call changes, as the call names it, with its new content. `read` is the content before."""
    if facts.kind is Kind.EXECUTE:
        yield from _by_command(facts)
    elif facts.kind is Kind.DELETE:
        yield from ((effect.target, None) for effect in facts.effects.of((Kind.DELETE,)) if effect.target)
    elif facts.kind is Kind.EDIT:
        patch = next((text for text in _strings(facts.arguments, call.raw) if "*** Begin Patch" in text), None)
        yield from _patched(patch, read) if patch else _edited(facts, read)


def _by_command(facts: CallFacts) -> Iterator[tuple[str, Content]]:
    """A command that deletes files, or that writes a text which it contains."""
    commands = " ".join(values(facts.arguments, "command", facts.kind, facts.offered))
    appends = ">>" in commands or "tee" in commands
    for effect in facts.effects.known:
        if effect.target is None or effect.reach == "glob":
            continue
        if effect.kind is Kind.DELETE:
            yield effect.target, None
        elif effect.kind is Kind.EDIT:
            yield effect.target, effect.text.encode("utf-8", "replace") if effect.text and not appends else UNKNOWN


def _edited(facts: CallFacts, read: Read) -> Iterator[tuple[str, Content]]:
    arguments = facts.arguments
    paths = values(arguments, "path", facts.kind, facts.offered)
    if len(paths) != 1:
        yield from ((path, UNKNOWN) for path in paths)
        return
    edits = arguments.get("edits")
    parts = [edit for edit in edits if isinstance(edit, Mapping)] if isinstance(edits, list) else [arguments]
    content = read(paths[0])
    for part in parts:
        content = _one_edit(part, content)
    yield paths[0], content


def _one_edit(arguments: Mapping[str, Any], content: Content) -> Content:
    old = values(arguments, "old", Kind.EDIT)
    new = values(arguments, "new", Kind.EDIT)
    if any(isinstance(value, str) and value.lower() in _PARTIAL for value in arguments.values()):
        return UNKNOWN
    if old and old[0]:
        if not isinstance(content, bytes) or len(old) != 1 or len(new) > 1:
            return UNKNOWN
        if old[0].encode("utf-8", "replace") not in content:
            return MISMATCH
        every = any(
            name.lower().replace("_", "") == "replaceall" and value is True for name, value in arguments.items()
        )
        before, after = old[0].encode("utf-8", "replace"), (new[0] if new else "").encode("utf-8", "replace")
        return content.replace(before, after, -1 if every else 1)
    written = values(arguments, "content", Kind.EDIT) or new
    return written[0].encode("utf-8", "replace") if len(written) == 1 else UNKNOWN


def _strings(arguments: Mapping[str, Any], raw: str) -> list[str]:
    return [value for value in arguments.values() if isinstance(value, str)] + ([raw] if raw else [])


def _patched(patch: str, read: Read) -> Iterator[tuple[str, Content]]:
    """The files after a patch in Codex's format."""
    sections: list[tuple[str, str, list[str]]] = []
    for line in patch.splitlines():
        if header := _SECTION.fullmatch(line.rstrip()):
            sections.append((header[1], header[2].strip(), []))
        elif sections and line.strip() != "*** End Patch":
            sections[-1][2].append(line)
    for action, path, lines in sections:
        if action == "Delete":
            yield path, None
        elif action == "Add":
            yield path, "".join(f"{line[1:]}\n" for line in lines if line.startswith("+")).encode("utf-8", "replace")
        elif lines and (moved := _MOVE.fullmatch(lines[0].rstrip())):
            yield path, None
            yield moved[1].strip(), _with_hunks(read(path), lines[1:])
        else:
            yield path, _with_hunks(read(path), lines)


def _with_hunks(content: Content, lines: list[str]) -> Content:
    """A content after some hunks; each replaces its own lines where they occur next."""
    if not isinstance(content, bytes):
        return UNKNOWN
    text = content.decode("utf-8", "surrogateescape").split("\n")
    hunks: list[tuple[list[str], list[str]]] = []
    for line in lines:
        if line.startswith("@@") or not hunks:
            hunks.append(([], []))
        if line.startswith(("@@", "*** End of File")):
            continue
        if not line.startswith("+"):
            hunks[-1][0].append(line[1:])
        if not line.startswith("-"):
            hunks[-1][1].append(line[1:])
    at = 0
    for old, new in hunks:
        place = next((index for index in range(at, len(text)) if old and text[index : index + len(old)] == old), None)
        if place is None:
            return MISMATCH
        text[place : place + len(old)] = new
        at = place + len(new)
    return "\n".join(text).encode("utf-8", "surrogateescape")
