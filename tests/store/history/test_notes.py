"""Notes of people about trials, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.errors import UnknownName
from demeanor.core.values.notes import TrialNote
from demeanor.store.history import SqlHistory, open_history
from demeanor.store.history.copy import copy_notes, copy_runs
from demeanor.store.history.notes import add_note, read_notes
from tests.helpers.runs import a_run, records, write

NOTE = TrialNote(
    made="2026-01-02T09:00:00.000+00:00", run="night-1", eval="saves", subject="a:m", number=2, label="flaky",
    text="fails every\nother day \0", author="Ada",
)  # fmt: skip


def test_notes_are_appended_and_read_newest_first(history: SqlHistory):
    """By run, eval, subject, trial and label; the same note twice is one."""
    write(history.database, a_run(), records("pf"))
    later = replace(NOTE, made="2026-01-03T09:00:00.000+00:00", label="eval-bug", text="")
    for note in (NOTE, NOTE, later):
        add_note(history, note, Redactor())
    kept = replace(NOTE, text="fails every\nother day \\x00")
    assert read_notes(history) == (later, kept)
    assert read_notes(history, limit=1) == (later,)
    assert read_notes(history, label="flaky", run="night-1", name="saves", subject="a:m", number=2) == (kept,)
    for other in ({"run": "night-2"}, {"name": "x"}, {"subject": "x"}, {"number": 1}, {"label": "real"}):
        assert read_notes(history, **other) == ()  # type: ignore[arg-type]


def test_a_note_has_no_secrets(history: SqlHistory):
    """Someone may paste the output of an agent."""
    write(history.database, a_run(), records("pf"))
    kept = add_note(history, replace(NOTE, text="it printed hunter2hunter2"), Redactor({"acme": "hunter2hunter2"}))
    assert "hunter2" not in kept.text
    assert read_notes(history) == (kept,)


@pytest.mark.parametrize("wrong", [{"number": 3}, {"number": 10**30}, {"eval": "x"}, {"subject": "x"}, {"run": "x"}])
def test_a_note_about_a_trial_that_does_not_exist_is_refused(history: SqlHistory, wrong: dict[str, object]):
    """Nothing is written."""
    write(history.database, a_run(), records("pf"))
    with pytest.raises(UnknownName):
        add_note(history, replace(NOTE, **wrong), Redactor())  # type: ignore[arg-type]
    assert read_notes(history) == ()


def test_notes_are_copied_with_a_history(history: SqlHistory, tmp_path: Path):
    """Each once, also if copied twice."""
    with open_history(str(tmp_path / "source.db")) as source:
        write(source.database, a_run(), records("pf"))
        add_note(source, NOTE, Redactor())
        for _ in range(2):
            assert len(list(copy_runs(source, history))) == 1
            assert copy_notes(source, history) == 1
        assert read_notes(history) == read_notes(source)
