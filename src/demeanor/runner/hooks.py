"""Hooks: functions of other packages that are told what happens, found by the entry point `demeanor.hooks`.

Each hook has a thread of its own, so a slow one delays neither trials nor other hooks. A hook can't change a verdict, a
decision or the exit code. If it fails or hangs, the report has a note.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor.core.entry_points import installed
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.redaction.values import redacted
from demeanor.core.text.codec import encode
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.history import KeptDecision
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.trial import Plan

ENTRY_POINT = "demeanor.hooks"
EVENTS = ("run_began", "trial_ended", "run_ended", "decision")
_PATIENCE = 30.0
"""Seconds to wait for a hook when everything was told."""

Hook = Callable[[Mapping[str, Any]], object]


@dataclass(slots=True)
class _Listener:
    """One hook: its functions by event, its thread, and what went wrong."""

    name: str
    functions: Mapping[str, Hook]
    news: queue.SimpleQueue[tuple[str, Mapping[str, Any]] | None] = field(default_factory=queue.SimpleQueue)
    failures: int = 0
    first: str = ""
    busy_with: str = ""
    thread: threading.Thread | None = None

    def tell(self, event: str, document: Mapping[str, Any]) -> None:
        """Pass an event on, if the hook wants it."""
        if event not in self.functions:
            return
        if self.thread is None:
            self.thread = threading.Thread(target=self._work, name=f"hook {self.name}", daemon=True)
            self.thread.start()
        self.news.put((event, document))

    def _work(self) -> None:
        while (event := self.news.get()) is not None:
            self.busy_with, document = event
            try:
                self.functions[self.busy_with](document)
            except BaseException as error:  # noqa: BLE001 - code of the user, also sys.exit; it is reported as a note
                self._failed(f"{type(error).__name__}: {error}")

    def _failed(self, why: str) -> None:
        """Count a failure; the first one is told."""
        self.first = self.first or f"in {self.busy_with}: {why}"
        self.failures += 1

    def close(self, patience: float) -> str | None:
        """Wait until everything was told; return what went wrong."""
        if self.thread is not None:
            self.news.put(None)
            self.thread.join(patience)
            if self.thread.is_alive():
                self._failed(f"not finished after {patience:g} s")
        if not self.failures:
            return None
        times = count(self.failures, "time")
        problem = one_line(self.first, width=300)
        return f"hook {self.name!r} failed {times}, first {problem} (verdicts and exit code are not affected)"


class Hooks:
    """The hooks of one run or one decision. `close` waits for them; `notes` then tells which of them failed."""

    def __init__(self, listeners: Sequence[_Listener] = (), notes: Iterable[str] = ()) -> None:
        self._listeners = listeners
        self.notes: tuple[str, ...] = tuple(notes)
        self._run: Mapping[str, Any] = {}
        self._redactor: Redactor | None = None

    def run_began(self, info: RunInfo, folder: Path, redactor: Redactor) -> None:
        """Tell that a run began; what is told about it from now on contains no secrets."""
        self._redactor = redactor
        self._run = {"run": self._document(info), "folder": str(folder)}
        self.tell("run_began", self._run)

    def attempt_ended(self, record: Record) -> None:
        """Tell that a trial ended, if this was its last attempt."""
        if record.final and self._listeners:
            self.tell("trial_ended", {**self._run, "trial": self._document(record)})

    def run_ended(self, plan: Plan, records: Iterable[Record], stopped: str | None) -> None:
        """Tell that a run ended, with the number of its verdicts."""
        counts = Counter(record.verdict.outcome for record in records if record.final)
        verdicts = {"pass": counts["pass"], "fail": counts["fail"], "void": counts["void"]}
        planned = sum(1 for _ in plan.trials())
        self.tell("run_ended", {**self._run, "planned": planned, "verdicts": verdicts, "stopped": stopped})

    def _document(self, value: RunInfo | Record) -> Any:
        """The value as JSON data, as in the files of the run."""
        return encode(redacted(value, self._redactor) if self._redactor else value)

    def tell(self, event: str, document: Mapping[str, Any]) -> None:
        """Tell all hooks about an event, without waiting for them."""
        for listener in self._listeners:
            listener.tell(event, document)

    def close(self, patience: float = _PATIENCE) -> None:
        """Wait for all hooks."""
        notes = [listener.close(patience) for listener in self._listeners]
        self.notes += tuple(note for note in notes if note)
        self._listeners = ()


def load_hooks() -> Hooks:
    """The hooks of all installed packages. One that can't be loaded is a note."""
    listeners, notes = [], []
    for point in sorted(installed(ENTRY_POINT), key=lambda point: point.name):
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001 - code of the user; it is reported as a note
            notes.append(
                f"hook {point.name!r} can't be loaded: {one_line(f'{type(error).__name__}: {error}', width=300)}"
            )
            continue
        functions = {event: function for event in EVENTS if callable(function := getattr(loaded, event, None))}
        if functions:
            listeners.append(_Listener(name=point.name, functions=functions))
        else:
            notes.append(f"hook {point.name!r} has none of the functions {', '.join(EVENTS)}")
    return Hooks(listeners, notes)


def tell_decisions(decisions: Iterable[KeptDecision]) -> tuple[str, ...]:
    """Tell all hooks about decisions, and wait for them; return which of them failed."""
    hooks = load_hooks()
    for decision in decisions:
        hooks.tell("decision", encode(decision))
    hooks.close()
    return hooks.notes
