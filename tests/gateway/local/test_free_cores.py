"""A local model uses the cores that other programs leave free."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from demeanor.gateway.local.free_cores import CpuSample, cpu_sample, engine_threads, others_busy, threads_for


@pytest.mark.parametrize(
    ("cores", "busy", "threads"),
    [(2, 0.0, 2), (2, 0.2, 2), (2, 0.6, 1), (2, 2.0, 1), (1, 1.0, 1), (8, 0.1, 8), (8, 3.0, 5), (8, 8.0, 4)],
)
def test_a_core_that_is_nearly_idle_is_used(cores: int, busy: float, threads: int) -> None:
    """At least half of the cores are, because others may stop."""
    assert threads_for(cores, busy) == threads


def test_our_own_processes_do_not_count_as_others() -> None:
    before, after = CpuSample(busy=1000, own=100), CpuSample(busy=1060, own=120)
    assert others_busy(before, after, 40.0) == 1.0
    assert others_busy(before, CpuSample(busy=1010, own=150), 40.0) == 0.0


def a_process(proc: Path, pid: int, parent: int, ticks: int) -> None:
    """A process in the format of Linux; its name has a space and a bracket."""
    (proc / str(pid)).mkdir()
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "1", "0", "0", "20"]
    (proc / str(pid) / "stat").write_text(f"{pid} (a ) b) {' '.join(fields)}")


def test_descendants_are_our_own(tmp_path: Path) -> None:
    """Also those of a child."""
    (tmp_path / "stat").write_text("cpu  100 10 20 5000 7 3 2 0 0 0\ncpu0 1 1\n")
    a_process(tmp_path, os.getpid(), 1, 30)
    a_process(tmp_path, 800_001, os.getpid(), 5)
    a_process(tmp_path, 800_002, 800_001, 4)
    a_process(tmp_path, 800_003, 1, 1000)
    assert cpu_sample(tmp_path) == CpuSample(busy=135, own=42)


def test_where_nothing_can_be_measured_there_is_no_sample(tmp_path: Path) -> None:
    assert cpu_sample(tmp_path / "none") is None


def test_threads_are_at_most_the_cores() -> None:
    assert 1 <= engine_threads() <= (os.cpu_count() or 1)
