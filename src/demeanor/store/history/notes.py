"""Notes of people about trials, in the history."""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.errors import UnknownName
from demeanor.core.values.notes import NoteLabel, TrialNote
from demeanor.store.history.database import conditions, limit_clause, marks
from demeanor.store.history.rows import clean, digest
from demeanor.store.history.sql_history import SqlHistory

_COLUMNS = ("digest", "run_id", "eval", "subject", "number", "label", "text", "author", "made")
_TRIAL = (
    "SELECT 1 FROM attempts a JOIN cells c ON c.id = a.cell_id"
    " WHERE c.run_id = ? AND c.eval = ? AND c.subject = ? AND a.number = ? LIMIT 1"
)


def add_note(history: SqlHistory, note: TrialNote, redactor: Redactor) -> TrialNote:
    """Append a note without secrets, and return it; raises UnknownName if the history does not have its trial. The same
    note again has no effect."""
    note = replace(note, text=redactor.steady.text(note.text), author=redactor.steady.text(note.author))
    run = history.run(note.run)
    name, subject = clean(note.eval), clean(note.subject)
    ((run_id,),) = history.query("SELECT id FROM runs WHERE uid = ?", (run.info.uid,))
    if not -(2**31) < note.number < 2**31 or not history.query(_TRIAL, (run_id, name, subject, note.number)):
        evals = [trial for (trial,) in history.query("SELECT eval FROM cells WHERE run_id = ? LIMIT 1000", (run_id,))]
        raise UnknownName("trial", note.trial, evals, where=f"run {run.name}")
    text, author = clean(note.text), clean(note.author)
    key = digest(run.info.uid, name, subject, note.number, note.label, text, author, note.made)
    row = (key, run_id, name, subject, note.number, note.label, text, author, note.made)
    with history.writing():
        history.database.rows(
            f"INSERT INTO notes ({', '.join(_COLUMNS)}) VALUES ({marks(len(row))}) ON CONFLICT DO NOTHING", row
        )
    return note


def read_notes(
    history: SqlHistory,
    *,
    run: str | None = None,
    name: str | None = None,
    subject: str | None = None,
    number: int | None = None,
    label: NoteLabel | None = None,
    limit: int | None = None,
) -> tuple[TrialNote, ...]:
    """The notes, newest first."""
    clauses = [("r.name = ?", run), ("n.eval = ?", name), ("n.subject = ?", subject), ("n.number = ?", number)]
    where, values = conditions([*clauses, ("n.label = ?", label)])
    rows = history.query(
        "SELECT n.made, r.name, n.eval, n.subject, n.number, n.label, n.text, n.author"
        f" FROM notes n JOIN runs r ON r.id = n.run_id WHERE {where} ORDER BY n.made DESC, n.id DESC"
        f"{limit_clause(limit)}",
        [clean(value) if isinstance(value, str) else value for value in values],
    )
    return tuple(
        TrialNote(
            made=made, run=of, eval=eval_, subject=who, number=trial, label=said, text=text, author=author
        )
        for made, of, eval_, who, trial, said, text, author in rows
    )  # fmt: skip
