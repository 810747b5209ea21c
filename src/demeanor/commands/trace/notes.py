"""Write a note about a trial to the history, or read the notes."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from demeanor.commands.trace.notes_report import NotesReport
from demeanor.config import Config
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.notes import NoteLabel, TrialNote, checked_author, checked_label, checked_text
from demeanor.results import find_record, find_stored_run, open_project_history
from demeanor.runner import Catalog
from demeanor.store.history import add_note, read_notes, uid_of


@dataclass(frozen=True, kw_only=True, slots=True)
class NoteRequest:
    """What to write, or which notes to list."""

    trial: str | None
    """`EVAL/SUBJECT/N`, or the beginning of it; None for all."""

    run: str | None
    """The run; None for the latest, or for all when listing."""

    label: NoteLabel | None
    """The label; None for all."""

    text: str
    """The note."""

    results: Path
    """The folder of the runs."""


def write_note(request: NoteRequest, config: Config, environ: Mapping[str, str]) -> NotesReport:
    """Find the trial and append the note to the history."""
    stored = find_stored_run(request.run or "latest", request.results, config, environ)
    record = find_record(stored, request.trial)
    label, text = checked_label(request.label or ""), checked_text(request.text)
    author = checked_author(_user())
    with open_project_history(config, environ, results=request.results, reading=False) as history:
        try:
            note = TrialNote(
                made=datetime.now(UTC).isoformat(timespec="milliseconds"),
                run=history.run(uid_of(stored.info)).name,
                eval=record.eval,
                subject=record.subject,
                number=record.number,
                label=label,
                text=text,
                author=author,
            )
            note = add_note(history, note, Catalog(config=config, environ=environ).redactor)
        except UnknownName:
            raise UsageError(
                f"{record.trial} of {stored.name} is not in the history {history.database.label}\n"
                f"  → add its run: demeanor store import {stored.local_folder().folder.resolve()}"
            ) from None
    return NotesReport(notes=(note,), written=True)


def list_notes(request: NoteRequest, config: Config, environ: Mapping[str, str]) -> NotesReport:
    """The notes of the history that match."""
    with open_project_history(config, environ, results=request.results) as history:
        run = None
        if request.run:
            run = find_stored_run(request.run, request.results, config, environ).name
        notes = read_notes(history, run=run, label=request.label)
    path = (request.trial or "").rstrip("/")
    return NotesReport(notes=tuple(note for note in notes if not path or f"{note.trial}/".startswith(f"{path}/")))


def _user() -> str:
    """The name of the user; empty where the system does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
