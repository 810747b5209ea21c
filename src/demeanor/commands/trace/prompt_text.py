"""Instructions as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from demeanor.core.text.wording import count, one_line, printable
from demeanor.core.values.record import Record
from demeanor.render import Screen
from demeanor.results import LocatedInstruction

_HINT = """\
try without one, or with another text:
→ demeanor run --edit-prompt remove:ID
→ demeanor run --edit-prompt replace:ID=FILE"""


def prompt_text(record: Record, rows: Sequence[LocatedInstruction], screen: Screen, *, full: bool) -> str:
    """The instructions by place, one per line, each with its id."""
    lines = [record.trial]
    places: dict[str, list[LocatedInstruction]] = {}
    for row in rows:
        places.setdefault(row.instruction.place.partition(".")[0], []).append(row)
    for place, group in places.items():
        lines += ["", "system prompt" if place == "system" else f"tool {printable(place)}"]
        for row in group:
            lines += _row(row, screen.width, full=full)
    return "\n".join([*lines, "", f"{count(len(rows), 'instruction')}; {_HINT}"])


def _row(row: LocatedInstruction, width: int, *, full: bool) -> Iterator[str]:
    instruction = row.instruction
    name = instruction.place.partition(".")[2]
    head = f"  {instruction.id}  {instruction.kind:<9}  {f'{printable(name)}: ' if name else ''}"
    shown = instruction.text.partition("\n")[0] if instruction.kind == "section" else instruction.text
    if full:
        first, *rest = printable(shown).splitlines()
        yield head + first
        yield from (f"{'':<{len(head)}}{line}" for line in rest)
    else:
        yield head + one_line(shown, width=max(30, width - len(head)))
    if row.location is not None:
        yield f"{'':<23}{row.location.path}:{row.location.line}"


def prompt_json(record: Record, rows: Sequence[LocatedInstruction]) -> dict[str, Any]:
    """The instructions as JSON values."""
    return {
        "trial": record.trial,
        "instructions": [
            {
                "id": row.instruction.id,
                "kind": row.instruction.kind,
                "place": row.instruction.place,
                "text": row.instruction.text,
                "file": row.location.path if row.location else None,
                "line": row.location.line if row.location else None,
            }
            for row in rows
        ],
    }
