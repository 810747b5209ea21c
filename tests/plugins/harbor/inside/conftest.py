"""One project per module and worker: a run of Harbor takes seconds, so what several tests need is run once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugins.harbor.inside.helpers import HarborProject, HarborTrial, by_task, harbor, read_job


@pytest.fixture(scope="module")
def harbor_project(tmp_path_factory: pytest.TempPathFactory) -> HarborProject:
    """A new project; skipped, loudly, where there is no Harbor."""
    harbor()
    return HarborProject(tmp_path_factory.mktemp("harbor"))


def once(
    factory: pytest.TempPathFactory, name: str, prepare: Callable[[HarborProject], None]
) -> dict[str, HarborTrial]:
    """The trials of a job that is run by whichever worker comes first; the others wait for it."""
    harbor()
    top = factory.getbasetemp()
    top = top.parent if "PYTEST_XDIST_WORKER" in os.environ else top
    folder, done = top / name, top / f"{name}.done"
    with (top / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            harbor_project = HarborProject(folder)
            prepare(harbor_project)
            trials = harbor_project.run("-n", "2")
            done.write_text(str(trials[0].folder.parent))
    return by_task(read_job(Path(done.read_text())))
