"""Runs a command and measures it: wall time, CPU time of all its processes, and the memory of the largest one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import statistics
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One measured command."""

    wall: float
    """Seconds until it exited."""

    cpu: float
    """CPU seconds of all its processes, also of those that outlived it."""

    peak_mb: float
    """The peak resident memory of its largest process, in megabytes."""


class Failed(Exception):
    """A command did not do the work; the message has its last lines."""


def adopt_orphans() -> None:
    """Let processes that outlive their parent become children of this one, so that their CPU time is counted."""
    if os.uname().sysname == "Linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def environment(**more: str) -> dict[str, str]:
    """The environment of measured commands. Bytecode is written: without it, every start compiles every module, which
    no installed program does."""
    left_out = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED"}
    return {name: value for name, value in os.environ.items() if name not in left_out} | more


def measure(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, *, limit: float = 3600) -> Sample:
    """Run a command to its end; raises Failed if it does not exit with 0. It waits for every child of this process, so
    use `measure_alone` where there are others, such as a server."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (cwd / "bench.log").open("wb") as log:
        started = time.perf_counter()
        process = subprocess.Popen(
            list(command), cwd=cwd, env=env or environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        guard = threading.Timer(limit, process.kill)  # `wait` with a time limit looks only every 50 ms
        guard.start()
        while (ended := os.wait())[0] != process.pid:
            pass  # an orphan that this process adopted; as zombies, thousands of them slow everything down
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        wall = time.perf_counter() - started
        guard.cancel()
    if wall >= limit:
        raise Failed(f"{command[0]} did not end within {limit:.0f} s")
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    if process.returncode != 0:
        raise Failed(f"{' '.join(command)[:300]} exited with {process.returncode}:\n{tail(cwd)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Sample(wall=wall, cpu=cpu, peak_mb=after.ru_maxrss / 1024)


def measure_alone(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> Sample:
    """The same in a forked process, because the peak memory of children is the maximum of all of them so far."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        text = "failed: it crashed"
        try:
            adopt_orphans()
            found = measure(command, cwd, env)
            text = f"{found.wall!r} {found.cpu!r} {found.peak_mb!r}"
        except BaseException as error:  # noqa: BLE001 - the parent raises it
            text = f"failed: {error}"
        finally:
            os.write(writer, text.encode()[:60_000])
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:  # noqa: PTH123 - a descriptor
        text = file.read().decode("utf-8", "replace")
    os.waitpid(pid, 0)
    if text.startswith("failed: "):
        raise Failed(text.removeprefix("failed: "))
    wall, cpu, peak = map(float, text.split())
    return Sample(wall=wall, cpu=cpu, peak_mb=peak)


def tail(cwd: Path, lines: int = 15) -> str:
    """The last lines that the last command printed."""
    return "\n".join((cwd / "bench.log").read_text("utf-8", "replace").splitlines()[-lines:])


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """The middle and the extremes of some figures."""

    median: float
    """The median."""

    low: float
    """The smallest."""

    high: float
    """The largest."""

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        """The spread of at least one figure."""
        return cls(median=statistics.median(figures), low=min(figures), high=max(figures))


def machine() -> dict[str, str]:
    """What the figures depend on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model,
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "load before": f"{os.getloadavg()[0]:.1f}",
    }
