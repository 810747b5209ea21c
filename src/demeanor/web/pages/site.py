"""The dashboard as the server sees it: a page by its name and its parts."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from demeanor.core.text.wording import one_line, shortened
from demeanor.core.values.errors import StoreError, UsageError
from demeanor.core.values.notes import TrialNote, checked_author, checked_label, checked_text
from demeanor.runner import Catalog
from demeanor.store.history import add_note, matching_names, matching_trials, newest_state, words_of
from demeanor.store.runs import ledgers_state, runs_in_progress, stop_run
from demeanor.web.links import Links, ServedLinks
from demeanor.web.pages.board_page import board_page
from demeanor.web.pages.compare_page import compare_page
from demeanor.web.pages.context import PageContext
from demeanor.web.pages.cost_page import cost_page, cost_table
from demeanor.web.pages.cover_page import cover_page
from demeanor.web.pages.eval_page import eval_page, eval_table
from demeanor.web.pages.live_page import live_page
from demeanor.web.pages.overview import overview_page
from demeanor.web.pages.run_page import run_page, run_table, runs_page
from demeanor.web.pages.triage_page import triage_page
from demeanor.web.pages.trial_page import trial_page
from demeanor.web.templating import render

_Page: TypeAlias = Callable[[PageContext, Mapping[str, str], Mapping[str, str]], dict[str, Any]]
_FRESH_SECONDS = 0.5
_BEFORE, _SHOWN = 80, 300


def find_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """Runs and evals whose names contain a text, and trials with its words."""
    text = query.get("q", "").strip()[:200]
    history = context.history()
    runs, evals = matching_names(history, text) if text else ((), ())
    trials = matching_trials(history, text)
    return {"q": text, "runs": runs, "evals": evals, "trials": [(trial, _around(trial.body, text)) for trial in trials]}


def _around(body: str, text: str) -> str:
    """The part of a text in which the first word is."""
    line = one_line(body, width=20_000)
    word = next(iter(words_of(text)), "")
    start = max(0, line.lower().find(word) - _BEFORE)
    return ("… " if start else "") + shortened(line[start:], _SHOWN)


_PAGES: Mapping[str, _Page] = {
    "overview": overview_page,
    "compare": compare_page,
    "board": board_page,
    "failures": triage_page,
    "cost": cost_page,
    "cover": cover_page,
    "live": live_page,
    "runs": runs_page,
    "run": run_page,
    "trial": trial_page,
    "find": find_page,
}


_TABLES: Mapping[str, Callable[[PageContext, Mapping[str, str], Mapping[str, str]], list[dict[str, Any]]]] = {
    "run": run_table,
    "eval": eval_table,
    "cost": cost_table,
}
"""The pages that can be downloaded."""


def harmless(value: Any) -> Any:
    """A value that a spreadsheet does not take for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


class DashboardSite:
    """All pages over one store."""

    def __init__(self, context: PageContext) -> None:
        self.context = context
        self._lock = threading.Lock()
        self._state = (0.0, "")

    def page(self, name: str, parts: Mapping[str, str], query: Mapping[str, str]) -> str:
        """One page of the server."""
        return self.render(name, parts, query, ServedLinks())

    def render(self, name: str, parts: Mapping[str, str], query: Mapping[str, str], links: Links) -> str:
        """One page, with links for the server or for an export."""
        try:
            values = self._values(name, parts, query, links)
        except StoreError:  # the connection may be broken, so try once more with a new one
            self.context.forget_connection()
            values = self._values(name, parts, query, links)
        return render(f"{name}.html", links, here=name, project=self.context.config.root.name, **values)

    def _values(self, name: str, parts: Mapping[str, str], query: Mapping[str, str], links: Links) -> dict[str, Any]:
        if name == "eval":
            return eval_page(self.context, parts, query, links)
        return _PAGES[name](self.context, parts, query)

    def table(self, name: str, parts: Mapping[str, str], query: Mapping[str, str], form: str) -> str:
        """The rows of a page as CSV or JSON."""
        if name not in _TABLES:
            raise UsageError(f"format={form}: the page {name} is no table")
        rows = _TABLES[name](self.context, parts, query)
        if form == "json":
            return json.dumps(rows, indent=1) + "\n"
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows({key: harmless(value) for key, value in row.items()} for row in rows)
        return text.getvalue()

    def changes(self) -> str:
        """A text that changes whenever attempts or runs are added; asked for by many readers, so it is kept a while."""
        with self._lock:
            when, state = self._state
            if time.monotonic() - when > _FRESH_SECONDS:
                state = f"{self._read_state()} {self.context.made}"
                self._state = (time.monotonic(), state)
        return state

    def add_note(self, fields: Mapping[str, str]) -> str:
        """Store a note from the form of a trial's page; returns the address of that page."""
        number = fields.get("number", "")
        note = TrialNote(
            made=datetime.now(UTC).isoformat(timespec="milliseconds"),
            run=fields.get("run", ""),
            eval=fields.get("eval", ""),
            subject=fields.get("subject", ""),
            number=int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0,
            label=checked_label(fields.get("label", "")),
            text=checked_text(fields.get("text", "")),
            author=checked_author(fields.get("author", "")),
        )
        redactor = Catalog(config=self.context.config, environ=self.context.environ).redactor
        add_note(self.context.history(), note, redactor)
        return ServedLinks().page("trial", note.run, note.eval, note.subject, note.number) + "#notes"

    def stop_run(self, fields: Mapping[str, str]) -> str:
        """End a run of this machine, as Ctrl-C does; returns the address of the page with what runs."""
        name = fields.get("run", "")
        if not any(folder.name == name and stop_run(folder) for folder in runs_in_progress(self.context.results)):
            raise UsageError(f"run={one_line(name)}: no process on this machine makes it now")
        return ServedLinks().page("live")

    def _read_state(self) -> str:
        """The ledgers of this machine, which are first to know, and the history, where runs of other machines are."""
        ledgers = ledgers_state(self.context.results)
        try:
            return f"{ledgers} {newest_state(self.context.history())}"
        except StoreError:  # the runs of this machine go on; other pages say what is wrong
            self.context.forget_connection()
            return ledgers
