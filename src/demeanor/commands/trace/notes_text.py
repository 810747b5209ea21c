"""Notes for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from demeanor.commands.trace.notes_report import NotesReport
from demeanor.core.text.wording import one_line, opening
from demeanor.core.values.notes import TrialNote
from demeanor.render import Screen, paint, paragraph, wrapped

_LONGEST = 500


def notes_terminal(report: NotesReport, screen: Screen | None = None) -> str:
    """The notes as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def _lines(report: NotesReport, screen: Screen) -> Iterator[Text]:
    if not report.notes:
        yield Text("no notes")
        return
    for note in report.notes:
        yield from _note(note, screen, written=report.written)


def _note(note: TrialNote, screen: Screen, *, written: bool) -> Iterator[Text]:
    author = f" by {one_line(note.author, width=80)}" if note.author else ""
    where = f"{one_line(note.trial, width=_LONGEST)} of {one_line(note.run, width=_LONGEST)}"
    head = Text.assemble(("noted: " if written else ""), (note.label, "bold"), "  ", screen.safe(where))
    head.append(screen.safe(f"  {note.made[:16].replace('T', ' ')} UTC{author}"), "dim")
    yield from wrapped(head, screen.width)
    for line in opening(note.text, lines=40, width=_LONGEST).splitlines():
        yield from paragraph(line, screen, indent=2)
