"""Made-up runs and attempts, for tests of the store and of reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record, RunInfo, RunKind
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.store.history.database import Database
from demeanor.store.history.run_writer import PlannedCell, RunWriter, WrittenRecord

PASSED = Pass(findings=(Finding(check="saves", answer="yes"),))
FAILED = Fail(findings=(Finding(check="saves", answer="no", reason="it did not"),))
VOIDED = Void(cause=VoidCause.PROVIDER, detail="503")
VERDICTS: dict[str, Verdict] = {"p": PASSED, "f": FAILED, "v": VOIDED}


def a_run(number: int = 1, kind: RunKind = "nightly") -> RunInfo:
    """A run; `number` is the day."""
    return RunInfo(
        id=f"night-{number}", started=f"2026-01-{number:02}T03:00:00+00:00", uid=f"{number:016x}", kind=kind,
        commit=f"{number:040x}", branch="main", dirty=False, demeanor="0.1",
    )  # fmt: skip


def record(number: int, verdict: Verdict = PASSED, **other: object) -> Record:
    """One attempt."""
    fields = {"eval": "saves", "subject": "a:m", "attempt": 1, "ended": f"2026-01-01T03:{number:02}:00.000+00:00"}
    fields |= {"spent": Spent(seconds=1.5, turns=2, input_tokens=10, output_tokens=5, cost_usd=0.25)}
    return Record(number=number, verdict=verdict, **(fields | other))  # type: ignore[arg-type]


def records(letters: str, **other: object) -> list[Record]:
    """Trials that passed (`p`), failed (`f`) or were void (`v`)."""
    return [record(number, VERDICTS[letter], **other) for number, letter in enumerate(letters, 1)]


def write(database: Database, run: RunInfo, found: Iterable[Record], cells: Iterable[PlannedCell] = ()) -> int:
    """Write a run; returns the number of new attempts."""
    return RunWriter(database, run).write(cells, [WrittenRecord(record=one) for one in found])


def nights(database: Database, **outcomes: str) -> None:
    """Write nightly runs of evals: `nights(db, saves="ppp ppf")` is two nights."""
    for name, letters in outcomes.items():
        for number, night in enumerate(letters.split(), 1):
            write(database, replace(a_run(number)), records(night, eval=name))
