"""Notes as a report."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.core.values.notes import TrialNote
from demeanor.render import ReportDocument


@dataclass(frozen=True, kw_only=True, slots=True)
class NotesReport:
    """Notes about trials: those that were asked for, or the one that was written."""

    notes: tuple[TrialNote, ...]
    """The notes, newest first."""

    written: bool = False
    """Whether the command wrote it just now."""


NOTES_DOCUMENT = ReportDocument("notes", NotesReport)
