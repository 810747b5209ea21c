"""The speed of the history with a million trials: 500 evals x 6 subjects x 111 nights x 3.

On SQLite, and on PostgreSQL if a server is installed: queries in this process, and `demeanor report` and `demeanor
trace` as whole commands. Also measures writing one trial at a time, and checks that two processes that write 5,000
trials each into one store lose none.
"""

from __future__ import annotations

import argparse
import json
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

from benchmarks.comparison.commands import medians  # noqa: E402
from benchmarks.comparison.measure import measure_alone  # noqa: E402
from benchmarks.comparison.trials import demeanor, project  # noqa: E402
from tests.helpers.postgres_server import postgres_server  # noqa: E402
from tests.helpers.runs import records  # noqa: E402

from demeanor.config import Config  # noqa: E402
from demeanor.core.values.record import RunInfo  # noqa: E402
from demeanor.decide.promotion import NIGHTS  # noqa: E402
from demeanor.reports.night.report import NightReport  # noqa: E402
from demeanor.reports.night.terminal import night_terminal  # noqa: E402
from demeanor.reports.night.workflow import make_night_report  # noqa: E402
from demeanor.results.runs import find_past_run  # noqa: E402
from demeanor.store.history import SqlHistory, open_history  # noqa: E402
from demeanor.store.history.database import Database, Row  # noqa: E402
from demeanor.store.history.run_writer import CellTally, PlannedCell, RunWriter, WrittenRecord, write_tallies  # noqa: E402  # noqa: E402

BARS = {"nights": 1.0, "report": 1.0, "promote": 2.0, "history": 0.2, "insert": 0.002}
COMMAND_BARS = {"report": 1.0, "trace": 0.3}
HASHES = ("0123456789ab", "ba9876543210", "1.4.2", "aaaabbbbcccc", "ccccddddeeee", "f" * 64)
_WORDS = [f"{kind}{number}" for kind in ("port", "name", "file", "test") for number in range(500)]
SUBJECTS = [f"agent-{number % 2}:model-{number}" for number in range(6)]


def night(number: int) -> RunInfo:
    """One night."""
    started = (datetime(2026, 1, 1, 3, tzinfo=UTC) + timedelta(days=number)).isoformat()
    return RunInfo(
        id=f"night-{number:03}", started=started, uid=f"{number:015x}0", kind="nightly", commit=f"{number:040x}",
        branch="main", dirty=False, demeanor="0.1",
    )  # fmt: skip


def fill(database: Database, *, evals: int, nights: int, trials: int) -> None:
    """Load all nights; attempts as plain rows, which is ten times faster."""
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
        texts: list[Row] = []
        for (cell,), rate in zip(ids, rates.values(), strict=True):
            for trial in range(1, trials + 1):
                passed = draw.random() < rate
                digest = draw.getrandbits(63)
                attempts.append((
                    cell, trial, digest, 1, 1, "pass" if passed else "fail", None, None,
                    run.started, 12.5, 4, 9000, 700,                    0.031, *HASHES, '{"chain": "read → edit"}',
                ))  # fmt: skip
                answer = ("yes", "") if passed else ("no", "the file was not saved")
                words = " ".join(draw.choices(_WORDS, k=20))
                texts.append(
                    (
                        cell,
                        trial,
                        digest,
                        f"{'' if passed else 'the file was not saved'} 1. read_file(path='src/{words}')\n{number}",
                    )
                )
                findings.append((cell, trial, digest, 0, "saves the file", *answer))
        with database.writing():
            database.append("attempts", attempts)
            database.append("findings", findings)
            database.many("INSERT INTO texts (cell_id, number, digest, body) VALUES (?, ?, ?, ?)", texts)
            write_tallies(database, [tally_of(cell, list(rows)) for cell, rows in groupby(attempts, itemgetter(0))])


def tally_of(cell: int, attempts: list[Row]) -> CellTally:
    """The tally of a new cell."""
    nothing = CellTally(
        cell_id=cell, passed=0, failed=0, voided=0, attempts=0, seconds=0.0, turns=0, input_tokens=None,
        output_tokens=None, cost_usd=None, unpriced=0, uncounted=0, eval_hash=None, prompt_hash=None,
        agent_version=None, fingerprint=None, model_hash=None,
    )  # fmt: skip
    return nothing.plus(before=[], new=attempts)


def best_of(times: int, ask: Callable[[], object]) -> float:
    """The median of a few measurements."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - started)
    return sorted(taken)[times // 2]


def insert(database: Database, at_once: int, many: int = 500) -> float:
    """Seconds per trial, with several trials per transaction, as in a run."""
    run = night(9999 + at_once)
    writer = RunWriter(database, run)
    found = [WrittenRecord(record=one) for one in records("p" * many, eval="eval-000", subject=SUBJECTS[0])]
    started = time.perf_counter()
    for first in range(0, many, at_once):
        writer.write((), found[first : first + at_once])
    return (time.perf_counter() - started) / many


def two_writers(address: str, many: int) -> int:
    """The number of stored trials after two processes wrote `many` each at the same time."""
    from tests.store.history.test_schema import _WRITER

    command = [sys.executable, "-c", _WRITER, address]
    writers = [subprocess.Popen([*command, str(n), str(many), "shared"], cwd=ROOT) for n in (1, 2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    history = open_history(address)
    found = sum(cell.passed for cell in history.cells("night-1"))
    history.close()
    return found


def report_of(history: SqlHistory) -> NightReport:
    """The last night and the seven before it, with the reasons of 20 failures."""
    return make_night_report(history, find_past_run(history, None), Config(root=ROOT))


def promote_reads(history: SqlHistory) -> None:
    """What `demeanor promote` reads."""
    history.nightly_cells(NIGHTS)
    history.decisions()


def measure(history: SqlHistory, name: str) -> None:
    """Measure the queries of reports and decisions."""
    figures = {
        "nights": ("7 nights of all evals", best_of(5, lambda: history.nightly_cells(7))),
        "report": ("the report of a night", best_of(5, lambda: night_terminal(report_of(history)))),
        "promote": ("promote: 80 nights, decisions", best_of(5, lambda: promote_reads(history))),
        "history": ("one eval's history", best_of(5, lambda: history.eval_history("eval-123"))),
        "insert": ("insert, 8 trials at a time", insert(history.database, 8)),
    }
    for key, (told, seconds) in figures.items():
        verdict = "within" if seconds < BARS[key] else "ABOVE"
        print(f"{name:10} {told:32} {seconds * 1000:9.2f} ms   {verdict} the bar of {BARS[key] * 1000:g} ms")
    started = time.process_time()
    history.nightly_cells(7)
    used = time.process_time() - started
    print(
        f"{name:10} {'7 nights: CPU time of our own':32} {used * 1000:9.2f} ms   (this process only, without waiting)"
    )
    print(f"{name:10} {'insert, one trial at a time':32} {insert(history.database, 1) * 1000:9.2f} ms   (no bar)")
    everything = best_of(1, lambda: history.nightly_cells(None))
    print(f"{name:10} {'all nights of all evals':32} {everything * 1000:9.2f} ms   (no bar)")


def measure_commands(address: str, name: str) -> None:
    """Measure whole commands, in a project with a run of one trial in the same store."""
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = project(Path(name_of_folder), "sh", "")
        config = folder / "demeanor.toml"
        config.write_text(f"store = {json.dumps(address)}\n{config.read_text()}")
        measure_alone([demeanor(), "run", "--trials", "1", "--sandbox", "none"], folder)
        commands = {"report": [demeanor(), "report"], "trace": [demeanor(), "trace", "writes/writer/1"]}
        for command, seconds in medians(commands, folder, 5).items():
            bar = COMMAND_BARS[command]
            verdict = "within" if seconds < bar else "ABOVE"
            told = f"demeanor {command}, whole command"
            print(f"{name:10} {told:32} {seconds * 1000:9.2f} ms   {verdict} the bar of {bar * 1000:g} ms")


@contextmanager
def addresses(only: str | None) -> Iterator[dict[str, str]]:
    """The databases to measure."""
    with tempfile.TemporaryDirectory() as folder:
        found = {"sqlite": str(Path(folder) / "demeanor.db")}
        if only == "sqlite":
            yield found
            return
        try:
            with postgres_server() as address:
                found["postgres"] = address
                yield {name: address for name, address in found.items() if only in {None, name}}
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
    with addresses(args.only) as found:
        for name, address in found.items():
            history = open_history(address)
            started = time.perf_counter()
            fill(history.database, evals=args.evals, nights=args.nights, trials=3)
            loaded = args.nights * args.evals * len(SUBJECTS) * 3
            print(f"{name:10} {loaded:,} trials loaded in {time.perf_counter() - started:.0f} s")
            measure_commands(address, name)  # before `measure`, which adds nights of one cell
            measure(history, name)
            history.close()
            kept = two_writers(address, args.writers)
            verdict = "none lost" if kept == 2 * args.writers else "SOME LOST"
            print(f"{name:10} two processes wrote {2 * args.writers:,} trials at once, {kept:,} are there: {verdict}")


if __name__ == "__main__":
    main()
