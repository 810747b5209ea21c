"""pytest is stopped while the agents of its evals run."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.helpers.project import Project, default_signals
from tests.journeys.test_survival import agents_alive, records, slow, until, until_gone

__all__ = ["slow"]


@pytest.mark.parametrize(
    ("number", "options"),
    [(signal.SIGINT, ()), (signal.SIGTERM, ()), (signal.SIGHUP, ()), (signal.SIGTERM, ("-n", "1"))],
    ids=["ctrl-c", "term", "hup", "term with xdist"],
)
def test_finished_trials_are_kept_and_nothing_is_left(
    slow: Project, number: signal.Signals, options: tuple[str, ...]
) -> None:
    """By whatever signal: pytest itself would die of two of them at once, with agents and temp folders left."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "evals", *options]
    run = subprocess.Popen(
        command, cwd=slow.folder, env=slow.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=default_signals,  # noqa: PLW1509 - it only sets signals
    )  # fmt: skip
    until(lambda: len(records(slow)) == 2 and len(agents_alive(slow)) >= 2)
    run.send_signal(number)
    out, _ = run.communicate(timeout=300)
    assert run.returncode == pytest.ExitCode.INTERRUPTED, out
    assert "2 of 6 judged: 2 passed" in out
    until_gone(lambda: [str(pid) for pid in agents_alive(slow)])
    assert [name for name in slow.temporary() if name.startswith("demeanor")] == []
    assert (slow.folder / "results/latest/report.json").is_file()
