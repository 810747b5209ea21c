"""Queries of the dashboard: exactly what one page shows, from either database."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from demeanor.core.values.evidence import Spent
from demeanor.core.values.history import PastRun
from demeanor.core.values.usage import AT_INPUT_PRICE, price_notes
from demeanor.store.history.database import Row, batches, marks
from demeanor.store.history.rows import clean
from demeanor.store.history.sql_history import SqlHistory

_MOST_NAMES = 50
_MOST_WORDS = 20
_SUMS = (
    "SUM(t.passed), SUM(t.failed), SUM(t.voided), SUM(t.seconds), SUM(t.turns), SUM(t.input_tokens),"
    " SUM(t.output_tokens), SUM(t.cost_usd), SUM(t.unpriced), SUM(t.uncounted)"
)
"""The tallies of some cells, added up, as `_total` reads them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialOutcome:
    """The result of one trial."""

    number: int
    """The trial's number within its cell."""

    outcome: str
    """`pass`, `fail` or `void`."""

    cause: str | None
    """Why it is void."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExchangeTime:
    """When one exchange of a trial took place, and what it used."""

    number: int
    """1, 2, 3 … in the order of arrival."""

    model: str
    """The model that answered."""

    stopped: str
    """Why the answer ended, or the kind of error."""

    spent: Spent
    """Tokens and cost."""

    started: float
    """Seconds since the start of the trial."""

    first_byte: float | None
    """When the answer began."""

    ended: float
    """When it was complete."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTotal:
    """All cells of one run, added up."""

    run: str
    """The run's name."""

    passed: int
    """Trials that passed."""

    failed: int
    """Trials that failed."""

    voided: int
    """Void trials."""

    spent: Spent
    """What all attempts used."""

    unpriced: int
    """Attempts of unknown cost."""

    uncounted: int
    """Attempts whose tokens are not known in full."""


def newest_state(history: SqlHistory) -> str:
    """A text that changes when a run begins, or attempts are added to one of the newest."""
    rows = history.query(
        "SELECT run_id, cells, writes FROM run_states"
        " WHERE run_id IN (SELECT id FROM (SELECT id FROM runs ORDER BY started DESC LIMIT 2) AS newest)"
        " ORDER BY run_id"
    )
    return ";".join(",".join(map(str, row)) for row in rows)


def outcomes(
    history: SqlHistory, run: str, cells: Sequence[tuple[str, str]]
) -> Mapping[tuple[str, str], tuple[TrialOutcome, ...]]:
    """The results of all trials of some cells (eval, subject) of one run, in the order of their numbers."""
    ids = _cell_ids(history, run, cells)
    trials_of: dict[tuple[str, str], list[TrialOutcome]] = {cell: [] for cell in cells}
    for batch in batches(sorted(ids)):
        sql = f"SELECT cell_id, number, verdict, cause FROM trials WHERE cell_id IN ({marks(len(batch))})"
        for cell, number, outcome, cause in history.query(f"{sql} ORDER BY cell_id, number", batch):
            trials_of[ids[cell]].append(TrialOutcome(number=number, outcome=outcome, cause=cause))
    return {cell: tuple(trials) for cell, trials in trials_of.items()}


def void_causes(history: SqlHistory, run: str) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Why trials of one run are void: cause → the eval and subject of each void trial, the most frequent first."""
    rows = history.query(
        "SELECT a.cause, c.eval, c.subject FROM attempts a JOIN cells c ON c.id = a.cell_id"
        " JOIN runs r ON r.id = c.run_id JOIN tallies t ON t.cell_id = c.id"
        " WHERE r.name = ? AND t.voided > 0 AND a.verdict = 'void' AND a.final = 1 ORDER BY c.id, a.number",
        (clean(run),),
    )
    cells_by_cause: dict[str, list[tuple[str, str]]] = {}
    for cause, name, subject in rows:
        cells_by_cause.setdefault(cause or "unknown", []).append((name, subject))
    return {cause: tuple(cells) for cause, cells in sorted(cells_by_cause.items(), key=lambda item: -len(item[1]))}


def exchange_times(history: SqlHistory, run: str, name: str, subject: str, number: int) -> tuple[ExchangeTime, ...]:
    """The exchanges of the attempt that counts of one trial."""
    (cell,) = _cell_ids(history, run, [(name, subject)]) or (None,)
    if cell is None:
        return ()
    digest = history.query("SELECT digest FROM trials WHERE cell_id = ? AND number = ?", (cell, number))
    if not digest:
        return ()
    rows = history.query(
        "SELECT exchange, model, stopped, input_tokens, output_tokens, cost_usd, started, first_byte, ended"
        " FROM usages WHERE cell_id = ? AND number = ? AND digest = ? ORDER BY exchange",
        (cell, number, digest[0][0]),
    )
    return tuple(
        ExchangeTime(
            number=exchange,
            model=model,
            stopped=stopped,
            spent=Spent(input_tokens=sent, output_tokens=received, cost_usd=cost, seconds=ended - started),
            started=started,
            first_byte=first_byte,
            ended=ended,
        )
        for exchange, model, stopped, sent, received, cost, started, first_byte, ended in rows
    )


def run_totals(history: SqlHistory, runs: Sequence[str]) -> Mapping[str, RunTotal]:
    """The sums over all cells of some runs: name → total."""
    totals: dict[str, RunTotal] = {}
    for batch in batches(runs):
        rows = history.query(
            f"SELECT r.name, {_SUMS} FROM runs r JOIN cells c ON c.run_id = r.id JOIN tallies t ON t.cell_id = c.id"
            f" WHERE r.name IN ({marks(len(batch))}) GROUP BY r.name",
            batch,
        )
        totals |= {row[0]: _total(row) for row in rows}
    return totals


@dataclass(frozen=True, kw_only=True, slots=True)
class LastAttempt:
    """An attempt that ended lately."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject."""

    number: int
    """The trial."""

    attempt: int
    """1, 2, 3 …"""

    final: bool
    """False if another attempt follows."""

    outcome: str
    """`pass`, `fail` or `void`."""

    cause: str | None
    """Why it is void."""

    ended: str
    """When it ended."""

    spent: Spent
    """What it used."""


def last_attempts_of(history: SqlHistory, run: str, limit: int = 20) -> tuple[LastAttempt, ...]:
    """The attempts of a run that ended last, the newest first."""
    rows = history.query(
        "SELECT c.eval, c.subject, a.number, a.attempt, a.final, a.verdict, a.cause, a.ended, a.seconds, a.cost_usd"
        " FROM attempts a JOIN cells c ON c.id = a.cell_id JOIN runs r ON r.id = c.run_id"
        f" WHERE r.name = ? ORDER BY a.ended DESC, c.id, a.number LIMIT {int(limit)}",
        (clean(run),),
    )
    return tuple(
        LastAttempt(
            eval=name, subject=subject, number=number, attempt=attempt, final=bool(final), outcome=outcome,
            cause=cause, ended=ended, spent=Spent(seconds=seconds, cost_usd=cost),
        )
        for name, subject, number, attempt, final, outcome, cause, ended, seconds, cost in rows
    )  # fmt: skip


def planned_trials(history: SqlHistory, run: str) -> int:
    """How many trials a run is planned to have."""
    rows = history.query(
        "SELECT SUM(c.planned) FROM cells c JOIN runs r ON r.id = c.run_id WHERE r.name = ? AND c.skipped IS NULL",
        (clean(run),),
    )
    return int(rows[0][0] or 0)


def usage_by(history: SqlHistory, column: str, runs: Sequence[str]) -> tuple[tuple[str, int, RunTotal], ...]:
    """What some runs used by `eval` or `subject`: its name, the number of attempts and the sums."""
    if column not in {"eval", "subject"}:
        raise ValueError(f"column={column!r}: expected eval or subject")
    rows = history.query(
        f"SELECT c.{column}, SUM(t.attempts), {_SUMS} FROM cells c JOIN tallies t ON t.cell_id = c.id"
        f" JOIN runs r ON r.id = c.run_id WHERE r.name IN ({marks(len(runs))}) GROUP BY c.{column}",
        list(runs),
    )
    return tuple((row[0], int(row[1]), _total((row[0], *row[2:]))) for row in rows)


def _total(row: Row) -> RunTotal:
    name, passed, failed, voided, seconds, turns, sent, received, cost, unpriced, uncounted = row
    return RunTotal(
        run=name,
        passed=int(passed),
        failed=int(failed),
        voided=int(voided),
        spent=Spent(
            seconds=float(seconds),
            turns=int(turns),
            input_tokens=None if sent is None else int(sent),
            output_tokens=None if received is None else int(received),
            cost_usd=cost,
        ),
        unpriced=int(unpriced),
        uncounted=int(uncounted),
    )


def count_runs(history: SqlHistory, kind: str | None = None) -> int:
    """The number of runs, or of those of one kind."""
    where, values = ("WHERE kind = ?", (kind,)) if kind else ("", ())
    return int(history.query(f"SELECT COUNT(*) FROM runs {where}", values)[0][0])


def neighbour(history: SqlHistory, run: PastRun, *, older: bool) -> str:
    """The name of the run of the same kind before or after another one; empty if there is none."""
    sign, order = ("<", "DESC") if older else (">", "ASC")
    rows = history.query(
        f"SELECT name FROM runs WHERE kind = ? AND (started {sign} ? OR (started = ? AND name {sign} ?))"
        f" ORDER BY started {order}, name {order} LIMIT 1",
        (run.info.kind, run.info.started, run.info.started, run.name),
    )
    return str(rows[0][0]) if rows else ""


def matching_names(history: SqlHistory, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of runs, and of evals of the latest runs, that contain a text in any case."""
    pattern = f"%{clean(text).lower().replace('!', '!!').replace('%', '!%').replace('_', '!_')}%"
    runs = history.query(
        f"SELECT name FROM runs WHERE lower(name) LIKE ? ESCAPE '!' ORDER BY started DESC LIMIT {_MOST_NAMES}",
        (pattern,),
    )
    evals = history.query(
        "SELECT DISTINCT eval FROM cells WHERE run_id IN (SELECT id FROM (SELECT id FROM runs ORDER BY started DESC"
        f" LIMIT 10) AS newest) AND lower(eval) LIKE ? ESCAPE '!' ORDER BY eval LIMIT {_MOST_NAMES}",
        (pattern,),
    )
    return tuple(name for (name,) in runs), tuple(name for (name,) in evals)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundTrial:
    """A trial whose reasons, calls or last lines contain what was searched."""

    run: str
    """The name of its run."""

    eval: str
    """The eval."""

    subject: str
    """The subject."""

    number: int
    """The trial's number."""

    outcome: str
    """`pass`, `fail` or `void`."""

    body: str
    """What can be searched of it. Hostile text."""


def words_of(text: str) -> list[str]:
    """The words to search for, in lower case, without punctuation."""
    return re.findall(r"[^\W_]+", text.lower())[:_MOST_WORDS]


def matching_trials(history: SqlHistory, text: str, limit: int = 50) -> tuple[FoundTrial, ...]:
    """The newest trials that contain all words of a text, in their reasons, calls or last lines."""
    words = words_of(clean(text))
    ids = history.matching(words, 2 * limit) if words else []
    trials_by_key: dict[tuple[str, str, str, int], FoundTrial] = {}
    for batch in batches(ids):
        sql = (
            "SELECT r.name, c.eval, c.subject, a.number, a.verdict, x.body FROM texts x"
            " JOIN cells c ON c.id = x.cell_id JOIN runs r ON r.id = c.run_id"
            " JOIN attempts a ON a.cell_id = x.cell_id AND a.number = x.number"
            f" AND a.digest = x.digest WHERE x.id IN ({marks(len(batch))}) ORDER BY x.id DESC"
        )
        for run, name, subject, number, outcome, body in history.query(sql, batch):
            trial = FoundTrial(run=run, eval=name, subject=subject, number=number, outcome=outcome, body=body)
            trials_by_key.setdefault((run, name, subject, number), trial)
    return tuple(trials_by_key.values())[:limit]


def _cell_ids(history: SqlHistory, run: str, cells: Sequence[tuple[str, str]]) -> dict[int, tuple[str, str]]:
    asked = set(cells)
    names = sorted({clean(name) for name, _ in cells})
    return {
        cell: (name, subject)
        for batch in batches(names)
        for cell, name, subject in history.query(
            "SELECT c.id, c.eval, c.subject FROM cells c JOIN runs r ON r.id = c.run_id"
            f" WHERE r.name = ? AND c.eval IN ({marks(len(batch))})",
            (clean(run), *batch),
        )
        if (name, subject) in asked
    }


def stored_price_notes(history: SqlHistory, runs: Collection[str]) -> tuple[str, ...]:
    """What the trials of these runs say about prices without a rate for cached tokens, each sentence once."""
    if not runs:
        return ()
    rows = history.query(
        "SELECT a.more FROM attempts a JOIN cells c ON c.id = a.cell_id JOIN runs r ON r.id = c.run_id"
        f" WHERE r.name IN ({marks(len(runs))}) AND a.more LIKE ? ORDER BY c.id, a.number, a.attempt",
        (*map(clean, runs), f"%{AT_INPUT_PRICE}%"),
    )
    return price_notes(note for (more,) in rows for note in json.loads(more).get("notes", ()))
