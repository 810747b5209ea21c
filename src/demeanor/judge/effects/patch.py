"""The files that a patch changes: codex's format (`*** Update File: a.py`) and unified diffs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.effect import Effect

_HEADER = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)|\*\*\* Move to: (.+)")
_OLD, _NEW = re.compile(r"--- (?:a/)?([^\t\n]+)"), re.compile(r"\+\+\+ (?:b/)?([^\t\n]+)")
_MAX_FILES = 1000


def patch_effects(text: str) -> Iterator[Effect]:
    """One effect per file; its text is the text that is added."""
    effects = _codex(text) if "*** Begin Patch" in text else _unified(text)
    for count, effect in enumerate(effects):
        if count >= _MAX_FILES:
            return
        yield effect


def _codex(text: str) -> Iterator[Effect]:
    sections: list[tuple[str, str, list[str]]] = []
    for line in text.splitlines():
        if header := _HEADER.fullmatch(line.rstrip()):
            sections.append((header[1] or "Move", (header[2] or header[3]).strip(), []))
        elif line.startswith("+") and sections:
            sections[-1][2].append(line[1:])
    for action, path, added in sections:
        kind = Kind.DELETE if action == "Delete" else Kind.EDIT
        yield Effect(kind=kind, target=path, text="\n".join(added) if kind is Kind.EDIT else None)


def _unified(text: str) -> Iterator[Effect]:
    old: str | None = None
    path, added = "", list[str]()
    for line in text.splitlines():
        if before := _OLD.fullmatch(line):
            old = before[1].strip()
        elif (after := _NEW.fullmatch(line)) and old is not None:
            if path:
                yield Effect(kind=Kind.EDIT, target=path, text="\n".join(added))
            new = after[1].strip()
            if new == "/dev/null":
                yield Effect(kind=Kind.DELETE, target=old)
            path, added = ("" if new == "/dev/null" else new), []
            old = None
        elif line.startswith("+"):
            added.append(line[1:])
    if path:
        yield Effect(kind=Kind.EDIT, target=path, text="\n".join(added))
