"""How long the history takes to answer when it holds a million trials: 500 evals x 6 subjects x 111 nights x 3.

On SQLite, and on PostgreSQL where a server's programs are installed. Also: what it costs to write one trial at a time,
and whether two processes that write 5,000 trials each into one store lose any.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.helpers.postgres_server import postgres_server  # noqa: E402
from tests.helpers.runs import records  # noqa: E402

from demeanor.commands.report.report import NightReport  # noqa: E402
from demeanor.commands.report.terminal import night_terminal  # noqa: E402
from demeanor.commands.report.workflow import find_past_run, make_night_report  # noqa: E402
from demeanor.core.record import RunInfo  # noqa: E402
from demeanor.store.history import SqlHistory, open_history  # noqa: E402
from demeanor.store.history.database import Database, Row  # noqa: E402
from demeanor.store.history.run_writer import PlannedCell, RunWriter, WrittenRecord  # noqa: E402
from demeanor.store.history.tallies import CellTally, write_tallies  # noqa: E402

BARS = {"nights": 1.0, "report": 1.0, "promote": 2.0, "history": 0.2, "insert": 0.002}
HASHES = ("0123456789ab", "ba9876543210", "1.4.2", "aaaabbbbcccc", "f" * 64)
SUBJECTS = [f"agent-{number % 2}:model-{number}" for number in range(6)]


def night(number: int) -> RunInfo:
    """One night."""
    started = (datetime(2026, 1, 1, 3, tzinfo=UTC) + timedelta(days=number)).isoformat()
    return RunInfo(
        id=f"night-{number:03}", started=started, uid=f"{number:015x}0", kind="nightly", commit=f"{number:040x}",
        branch="main", dirty=False, demeanor="0.1",
    )  # fmt: skip


def fill(database: Database, *, evals: int, nights: int, trials: int) -> None:
    """Load all nights: attempts as plain rows, so that it takes a minute and not ten."""
    draw = random.Random(7)
    rates = {(e, s): draw.choice((1.0, 0.99, 0.9, 0.7)) for e in range(evals) for s in SUBJECTS}
    for number in range(nights):
        run = night(number)
        cells = [PlannedCell(eval=f"eval-{e:03}", subject=s, planned=trials) for e, s in rates]
        RunWriter(database, run).write(cells, ())
        ids = database.rows(
            "SELECT c.id FROM cells c JOIN runs r ON r.id = c.run_id WHERE r.name = ? ORDER BY c.id", (run.id,)
        )
        attempts: list[Row] = []
        findings: list[Row] = []
        for (cell,), rate in zip(ids, rates.values(), strict=True):
            for trial in range(1, trials + 1):
                passed = draw.random() < rate
                digest = draw.getrandbits(63)
                attempts.append((
                    cell, trial, digest, 1, 1, "pass" if passed else "fail", None, None,
                    run.started, 12.5, 4, 9000, 700,                    0.031, *HASHES, '{"chain": "read → edit"}',
                ))  # fmt: skip
                answer = ("yes", "") if passed else ("no", "the file was not saved")
                findings.append((cell, trial, digest, 0, "saves the file", *answer))
        with database.writing():
            database.append("attempts", attempts)
            database.append("findings", findings)
            write_tallies(database, [tally_of(cell, list(rows)) for cell, rows in groupby(attempts, itemgetter(0))])


def tally_of(cell: int, attempts: list[Row]) -> CellTally:
    """The attempts of a new cell, counted."""
    nothing = CellTally(
        **{
            "cell_id": cell,
            **dict.fromkeys(CellTally.__slots__[1:7], 0),
            "input_tokens": None,
            "output_tokens": None,
            "cost_usd": None,
            "unpriced": 0,
            "uncounted": 0,
            "eval_hash": None,
            "prompt_hash": None,
            "agent_version": None,
            "fingerprint": None,
        }
    )
    return nothing.plus(before=[], new=attempts)


def best_of(times: int, ask: Callable[[], object]) -> float:
    """The median of a few goes."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - started)
    return sorted(taken)[times // 2]


def insert(database: Database, at_once: int, many: int = 500) -> float:
    """Seconds per trial, some in one transaction: a run gathers what ends within a quarter of a second."""
    run = night(9999 + at_once)
    writer = RunWriter(database, run)
    found = [WrittenRecord(record=one) for one in records("p" * many, eval="eval-000", subject=SUBJECTS[0])]
    started = time.perf_counter()
    for first in range(0, many, at_once):
        writer.write((), found[first : first + at_once])
    return (time.perf_counter() - started) / many


def two_writers(place: str, many: int) -> int:
    """How many of 2 x `many` trials are there after two processes wrote them at once."""
    from tests.store.history.test_schema import _WRITER

    command = [sys.executable, "-c", _WRITER, place]
    writers = [subprocess.Popen([*command, str(n), str(many), "shared"], cwd=ROOT) for n in (1, 2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    history = open_history(place)
    found = sum(cell.passed for cell in history.cells("night-1"))
    history.close()
    return found


def report_of(history: SqlHistory) -> NightReport:
    """The last night and the seven before it, with the reasons of 20 failures."""
    return make_night_report(history, find_past_run(history, None))


def measure(history: SqlHistory, name: str) -> None:
    """Ask what reports and decisions ask."""
    figures = {
        "nights": ("7 nights of all evals", best_of(5, lambda: history.nights(7))),
        "report": ("the report of a night", best_of(5, lambda: night_terminal(report_of(history)))),
        "promote": ("promote: 10 nights, decisions", best_of(5, lambda: (history.nights(10), history.decisions()))),
        "history": ("one eval's history", best_of(5, lambda: history.eval_history("eval-123"))),
        "insert": ("insert, 8 trials at a time", insert(history.database, 8)),
    }
    for key, (told, seconds) in figures.items():
        verdict = "within" if seconds < BARS[key] else "ABOVE"
        print(f"{name:10} {told:32} {seconds * 1000:9.2f} ms   {verdict} the bar of {BARS[key] * 1000:g} ms")
    started = time.process_time()
    history.nights(7)
    used = time.process_time() - started
    print(
        f"{name:10} {'7 nights: CPU time of our own':32} {used * 1000:9.2f} ms   (this process only, without waiting)"
    )
    print(f"{name:10} {'insert, one trial at a time':32} {insert(history.database, 1) * 1000:9.2f} ms   (no bar)")
    everything = best_of(1, lambda: history.nights(None))
    print(f"{name:10} {'all nights of all evals':32} {everything * 1000:9.2f} ms   (no bar)")


@contextmanager
def places(only: str | None) -> Iterator[dict[str, str]]:
    """The databases to measure."""
    with tempfile.TemporaryDirectory() as folder:
        found = {"sqlite": str(Path(folder) / "demeanor.db")}
        if only == "sqlite":
            yield found
            return
        try:
            with postgres_server() as address:
                found["postgres"] = address
                yield {name: place for name, place in found.items() if only in {None, name}}
        except RuntimeError as error:
            print(f"postgres: left out: {error}")
            yield found


def main() -> None:
    """Fill and measure each database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=111)
    parser.add_argument("--evals", type=int, default=500)
    parser.add_argument("--writers", type=int, default=5000, help="trials that each of two processes writes")
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    args = parser.parse_args()
    with places(args.only) as found:
        for name, place in found.items():
            history = open_history(place)
            started = time.perf_counter()
            fill(history.database, evals=args.evals, nights=args.nights, trials=3)
            loaded = args.nights * args.evals * len(SUBJECTS) * 3
            print(f"{name:10} {loaded:,} trials loaded in {time.perf_counter() - started:.0f} s")
            measure(history, name)
            history.close()
            kept = two_writers(place, args.writers)
            verdict = "none lost" if kept == 2 * args.writers else "SOME LOST"
            print(f"{name:10} two processes wrote {2 * args.writers:,} trials at once, {kept:,} are there: {verdict}")


if __name__ == "__main__":
    main()
