"""One lab per module and worker: a run of Harbor costs seconds. What several tests ask about is run once for all."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harbor_env.helpers import HarborLab, HarborTrial, by_task, harbor, read_job


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> HarborLab:
    """A fresh lab; skipped, loudly, where there is no Harbor."""
    harbor()
    return HarborLab(tmp_path_factory.mktemp("harbor"))


def once(factory: pytest.TempPathFactory, name: str, prepare: Callable[[HarborLab], None]) -> dict[str, HarborTrial]:
    """The trials of a job that is run by whichever worker comes first; the others wait for it."""
    harbor()
    top = factory.getbasetemp()
    top = top.parent if "PYTEST_XDIST_WORKER" in os.environ else top
    folder, done = top / name, top / f"{name}.done"
    with (top / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            lab = HarborLab(folder)
            prepare(lab)
            trials = lab.run("-n", "2")
            done.write_text(str(trials[0].folder.parent))
    return by_task(read_job(Path(done.read_text())))
