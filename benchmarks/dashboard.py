"""The speed of the dashboard on a million trials: 500 evals x 6 subjects x 111 nights x 3, warm.

The median first byte and the size of every page, on SQLite and on PostgreSQL; then 50 readers
at once while another process writes trials: no error, and the writer not slowed by more than 5 %.
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

from benchmarks.history import SUBJECTS, fill, insert  # noqa: E402
from tests.helpers.postgres_server import postgres_server  # noqa: E402

from demeanor.store.history.connect import open_database  # noqa: E402

FIRST_BYTE = {"sqlite": 0.150, "postgresql": 0.250}
OVERVIEW_BYTES, PAGE_BYTES = 300_000, 150_000
NIGHT = "night-110"
TRIAL = f"/trial/{NIGHT}/eval-007/{SUBJECTS[0]}/first"
PAGES = ["/", "/runs", f"/run/{NIGHT}", f"/run/{NIGHT}?status=rejected&sort=cost", "/eval/eval-007", TRIAL]
PAGES += [f"{TRIAL}?tab=commands", f"/compare?a=night-100&b={NIGHT}", "/board", f"/triage/{NIGHT}", "/cost", "/live"]
PAGES += ["/find?q=eval-00"]


@contextmanager
def server(address: str) -> Iterator[str]:
    """`demeanor serve`; yields its host and port."""
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
            yield urlsplit(found[0]).netloc
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


def pages(host: str, kind: str) -> bool:
    """Measure every page; whether all are within the bars."""
    good = True
    for path in PAGES:
        cold, status, size = get(host, path)
        taken = statistics.median(get(host, path)[0] for _ in range(7))
        fine = status == 200 and taken < FIRST_BYTE[kind] and size < (OVERVIEW_BYTES if path == "/" else PAGE_BYTES)
        good = good and fine
        print(f"{kind:10} {taken * 1000:7.1f} ms {size / 1000:7.1f} kB  cold {cold * 1000:6.0f} ms  {path}"
              + ("" if fine else f"  ABOVE THE BAR (status {status})"))  # fmt: skip
    return good


def readers(host: str, address: str, kind: str) -> bool:
    """50 readers while trials are written; whether none got an error and the writer was not slowed."""
    database = open_database(address)
    alone = min(insert(database, 20), insert(database, 20))
    stop = threading.Event()
    errors: list[int] = []
    asked: list[float] = []

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
    beside = min(insert(database, 20), insert(database, 20))
    stop.set()
    for thread in threads:
        thread.join()
    database.close()
    # A run writes in a thread of its own, beside trials that take seconds: this is its share of a trial of 2 s.
    slower = (beside - alone) / 2.0
    print(f"{kind:10} 50 readers: {len(asked)} answers, {len(errors)} errors, median {statistics.median(asked):.2f} s;"
          f" writing a trial {alone * 1000:.2f} → {beside * 1000:.2f} ms, {slower:.2%} of a trial of 2 s")  # fmt: skip
    return not errors and slower < 0.05


def measure(address: str, kind: str, nights: int) -> bool:
    """Fill the store, then measure."""
    database = open_database(address)
    if not database.rows("SELECT 1 FROM runs LIMIT 1"):
        fill(database, evals=500, nights=nights, trials=3)
    database.close()
    with server(address) as host:
        good = pages(host, kind)
        return readers(host, address, kind) and good


def main() -> int:
    """Measure both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, help="keep the SQLite store here, and use it if it exists")
    parser.add_argument("--no-postgres", action="store_true", help="SQLite only")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = measure(str(args.store or Path(folder, "history.db")), "sqlite", 111)
    if not args.no_postgres:
        with postgres_server() as address:
            good = measure(address, "postgresql", 111) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
