"""The speed of the dashboard on a million trials: 500 evals x 6 subjects x 111 nights x 3, warm.

The median first byte and the size of every page, on SQLite and on PostgreSQL; then 50 readers
at once while a real run writes to the same store: no error, and the run not slowed by more than 5 %.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.history import SUBJECTS, fill  # noqa: E402
from tests.helpers.postgres_server import postgres_server  # noqa: E402

from demeanor.store.history.connect import open_database  # noqa: E402

FIRST_BYTE = {"sqlite": 0.150, "postgresql": 0.250}
OVERVIEW_BYTES, PAGE_BYTES = 300_000, 150_000
NIGHT = "night-110"
TRIAL = f"/trial/{NIGHT}/eval-007/{SUBJECTS[0]}/first"
PAGES = ["/", "/runs", f"/run/{NIGHT}", f"/run/{NIGHT}?status=rejected&sort=cost", "/eval/eval-007", TRIAL]
PAGES += [f"{TRIAL}?tab=commands", f"/compare?a=night-100&b={NIGHT}", "/board", f"/triage/{NIGHT}", "/cost", "/live"]
PAGES += ["/find?q=eval-00"]
WARM = 9
"""Requests per page, of which the median counts."""

TRIALS, JOBS = 60, 6
PROJECT = {
    "demeanor.toml": 'subjects = ["native:slow"]\n[models.slow]\nscript = "slow.py"\n',
    "slow.py": 'import time\n\n\ndef play(turn):\n    time.sleep(1)\n    return "done"\n',
    "evals/eval_waits.py": (
        "from demeanor import ALWAYS_PASSES, eval_test\n\n\n"
        '@eval_test(ALWAYS_PASSES, prompt="Wait.", files={})\ndef waits(rig, result):\n    assert result\n'
    ),
}
"""The files of the project whose run is measured."""


@contextmanager
def server(address: str) -> Iterator[tuple[str, int]]:
    """`demeanor serve`; yields its host and port, and its process id."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "demeanor.toml").write_text("")
        command = [sys.executable, "-m", "demeanor", "serve", "--port", "0"]
        environ = {**os.environ, "DEMEANOR_STORE": address}
        process = subprocess.Popen(command, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.search(r"http://\S+", line)
            assert found, line
            yield urlsplit(found[0]).netloc, process.pid
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def get(host: str, path: str) -> tuple[float, int, int]:
    """Seconds until the first byte, status and size."""
    connection = http.client.HTTPConnection(host, timeout=300)
    started = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    first = time.perf_counter() - started
    size = len(answer.read())
    connection.close()
    return first, answer.status, size


def cpu_seconds(process: int) -> float:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pages(host: str, process: int, kind: str) -> bool:
    """Measure every page; whether all are within the bars. The CPU time of the server does not depend on the load."""
    good = True
    for path in PAGES:
        cold, status, size = get(host, path)
        before = cpu_seconds(process)
        taken = statistics.median(get(host, path)[0] for _ in range(WARM))
        used = (cpu_seconds(process) - before) / WARM
        fine = status == 200 and taken < FIRST_BYTE[kind] and size < (OVERVIEW_BYTES if path == "/" else PAGE_BYTES)
        good = good and fine
        problem = "" if fine else f"  ABOVE THE BAR (status {status})"
        print(f"{kind:10} {taken * 1000:7.1f} ms {used * 1000:6.1f} ms CPU {size / 1000:7.1f} kB"
              f"  cold {cold * 1000:6.0f} ms  {path}{problem}")  # fmt: skip
    return good


def run_seconds(folder: Path, address: str) -> float:
    """The duration of a real run, whose model takes a second to answer, on the same store."""
    command = [sys.executable, "-m", "demeanor", "run", "--trials", str(TRIALS), "--jobs", str(JOBS)]
    command += ["--sandbox", "none"]
    started = time.perf_counter()
    subprocess.run(
        command, cwd=folder, env={**os.environ, "DEMEANOR_STORE": address}, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - started


@contextmanager
def reading(host: str) -> Iterator[tuple[list[float], list[int]]]:
    """50 readers, each of whom opens a page per second; yields the seconds of their answers, and the wrong statuses."""
    stop = threading.Event()
    asked: list[float] = []
    errors: list[int] = []

    def read(number: int) -> None:
        while not stop.is_set():
            taken, status, _ = get(host, PAGES[number % len(PAGES)])
            asked.append(taken)
            if status != 200:
                errors.append(status)
            stop.wait(1.0)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    yield asked, errors
    stop.set()
    for thread in threads:
        thread.join()


def readers(host: str, address: str, kind: str, rounds: int) -> bool:
    """A run alone and beside 50 readers, in turn; whether no reader got an error and the run was not slowed."""
    alone, beside, asked, errors = [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in PROJECT.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
        run_seconds(folder, address)  # creates caches
        for _ in range(rounds):
            alone.append(run_seconds(folder, address))
            with reading(host) as (answers, wrong):
                beside.append(run_seconds(folder, address))
            asked += answers
            errors += wrong
    slower = statistics.median(beside) / statistics.median(alone) - 1
    print(f"{kind:10} 50 readers: {len(asked)} answers, {len(errors)} errors, median {statistics.median(asked):.2f} s;"
          f" a run of {TRIALS} trials, {JOBS} in parallel: {statistics.median(alone):.2f} →"
          f" {statistics.median(beside):.2f} s, {slower:+.1%}")  # fmt: skip
    return not errors and slower < 0.05


def measure(address: str, kind: str, nights: int, rounds: int) -> bool:
    """Fill the store, then measure."""
    database = open_database(address)
    if not database.rows("SELECT 1 FROM runs LIMIT 1"):
        fill(database, evals=500, nights=nights, trials=3)
    database.close()
    with server(address) as (host, process):
        good = pages(host, process, kind)
        return readers(host, address, kind, rounds) and good


def main() -> int:
    """Measure both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, help="keep the SQLite store here, and use it if it exists")
    parser.add_argument("--no-postgres", action="store_true", help="SQLite only")
    parser.add_argument("--rounds", type=int, default=3, help="runs alone and beside readers, in turn (default: 3)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = measure(str(args.store or Path(folder, "history.db")), "sqlite", 111, args.rounds)
    if not args.no_postgres:
        with postgres_server() as address:
            good = measure(address, "postgresql", 111, args.rounds) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
