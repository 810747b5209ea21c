"""The speed of the dashboard on a million trials: 500 evals x 6 subjects x 111 nights x 3, warm.

The median first byte, CPU time and size of every page, on SQLite and on PostgreSQL; then 50 readers at once while a
real run writes to the same store: no error, and the run not slowed by more than 5 %. Runs alone and beside readers are
measured in turn, and compared in pairs, because a machine is rarely quiet for minutes.

Both stores take minutes to fill: `--keep DIR` keeps them, and `--fill` does nothing else. With stores that are kept,
the measurement takes less than ten minutes.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import resource
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


def paths(nights: int) -> list[str]:
    """The pages that are measured, of the last night."""
    night, before = f"night-{nights - 1:03}", f"night-{max(0, nights - 11):03}"
    trial = f"/trial/{night}/eval-007/{SUBJECTS[0]}/first"
    found = ["/", "/runs", f"/run/{night}", f"/run/{night}?status=rejected&sort=cost", "/eval/eval-007", trial]
    found += [
        f"{trial}?tab=commands",
        f"/compare?a={before}&b={night}",
        "/board",
        f"/failures/{night}",
        "/cost",
        "/live",
    ]
    return [*found, "/find?q=eval-00"]


WARM = 9
"""Requests per page, of which the median counts."""

TRIALS, JOBS = 60, 6
SLOWED = 0.05
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


def pages(host: str, process: int, kind: str, nights: int) -> bool:
    """Measure every page; whether all are within the bars. The CPU time of the server does not depend on the load."""
    good = True
    for path in paths(nights):
        cold, status, size = get(host, path)
        before = cpu_seconds(process)
        taken = statistics.median(get(host, path)[0] for _ in range(WARM))
        used = (cpu_seconds(process) - before) / WARM
        fine = status == 200 and taken < FIRST_BYTE[kind] and size < (OVERVIEW_BYTES if path == "/" else PAGE_BYTES)
        good = good and fine
        problem = "" if fine else f"  ABOVE THE BAR (status {status})"
        print(f"{kind:10} {taken * 1000:7.1f} ms {used * 1000:6.1f} ms CPU {size / 1000:7.1f} kB"
              f"  cold {cold * 1000:6.0f} ms  {path}{problem}", flush=True)  # fmt: skip
    return good


def run_seconds(folder: Path, address: str) -> tuple[float, float]:
    """The duration and the CPU time of a real run, whose model takes a second to answer, on the same store."""
    command = [sys.executable, "-m", "demeanor", "run", "--trials", str(TRIALS), "--jobs", str(JOBS)]
    command += ["--sandbox", "none"]
    started, cpu = time.perf_counter(), children_cpu()
    subprocess.run(
        command, cwd=folder, env={**os.environ, "DEMEANOR_STORE": address}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    return time.perf_counter() - started, children_cpu() - cpu


def children_cpu() -> float:
    """The CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def reading(host: str, shown: list[str]) -> Iterator[tuple[list[float], list[int]]]:
    """50 readers, each of whom opens a page per second; yields the seconds of their answers, and the wrong statuses."""
    stop = threading.Event()
    asked: list[float] = []
    errors: list[int] = []

    def read(number: int) -> None:
        while not stop.is_set():
            try:
                taken, status, _ = get(host, shown[number % len(shown)])
            except (OSError, http.client.HTTPException):
                taken, status = 0.0, 0
            asked.append(taken)
            if status != 200:
                errors.append(status)
            stop.wait(1.0)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    try:
        yield asked, errors
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def readers(host: str, address: str, kind: str, args: argparse.Namespace) -> bool:
    """A run alone and beside 50 readers, in turn; whether no reader got an error and the run was not slowed."""
    alone: list[tuple[float, float]] = []
    beside: list[tuple[float, float]] = []
    asked: list[float] = []
    errors: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in PROJECT.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
        run_seconds(folder, address)  # creates caches
        for _ in range(args.rounds):
            alone.append(run_seconds(folder, address))
            with reading(host, paths(args.nights)) as (answers, wrong):
                beside.append(run_seconds(folder, address))
            asked += answers
            errors += wrong
    slower = ratio(alone, beside, 0)
    good = not errors and slower < SLOWED
    print(f"{kind:10} 50 readers: {len(asked)} answers, {len(errors)} errors, median {statistics.median(asked):.2f} s;"
          f" a run of {TRIALS} trials, {JOBS} in parallel: {statistics.median(one[0] for one in alone):.2f} →"
          f" {statistics.median(one[0] for one in beside):.2f} s, {slower:+.1%} (its CPU time:"
          f" {ratio(alone, beside, 1):+.1%}){'' if good else '  ABOVE THE BAR'}", flush=True)  # fmt: skip
    return good


def ratio(alone: list[tuple[float, float]], beside: list[tuple[float, float]], which: int) -> float:
    """How much more one figure is beside readers: the median over pairs of runs that followed each other."""
    return statistics.median(two[which] / one[which] for one, two in zip(alone, beside, strict=True)) - 1


def measure(address: str, kind: str, args: argparse.Namespace) -> bool:
    """Fill the store if it is empty, then measure."""
    database = open_database(address)
    if not database.rows("SELECT 1 FROM runs LIMIT 1"):
        print(f"{kind:10} filling {address} with {args.nights * 9000:,} trials", flush=True)
        fill(database, evals=500, nights=args.nights, trials=3)
    if kind == "postgresql":
        database.script("ANALYZE")  # autovacuum does this on a server that runs for longer
    database.close()
    if args.fill:
        return True
    with server(address) as (host, process):
        good = pages(host, process, kind, args.nights)
        return readers(host, address, kind, args) and good


def main() -> int:
    """Measure both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="keep both stores in this folder, and use them if they exist")
    parser.add_argument("--fill", action="store_true", help="only fill the stores")
    parser.add_argument("--only", choices=tuple(FIRST_BYTE), help="one database")
    parser.add_argument("--nights", type=int, default=111, help="of 9,000 trials each, in a new store")
    parser.add_argument("--rounds", type=int, default=5, help="runs alone and beside readers, in turn (default: 5)")
    args = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
        if args.only != "postgresql":
            good = measure(str((args.keep or Path(folder)) / "history.db"), "sqlite", args)
        if args.only != "sqlite":
            with postgres_server(args.keep / "postgres" if args.keep else None) as address:
                good = measure(address, "postgresql", args) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
