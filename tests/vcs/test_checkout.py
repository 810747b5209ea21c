"""Checkouts: no process of a build is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from demeanor.config.config import Config
from demeanor.config.tables import BuildRules
from demeanor.vcs.checkout import checked_out
from tests.helpers.processes import alive
from tests.vcs.test_commit_range import Repository

BUILD = ("sleep", "61.75")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A project with a slow build."""
    project = tmp_path / "project"
    project.mkdir()
    Repository(project).commit("one")
    return Config(root=project, build=BuildRules(command=BUILD))


def interrupted(started: Callable[..., None], pids: list[int], number: signal.Signals) -> Callable[..., None]:
    """The step of Popen that starts a process, with a signal that arrives before Popen returns."""

    def start(self: subprocess.Popen[bytes], args: Any, *rest: Any, **more: Any) -> None:
        started(self, args, *rest, **more)
        if tuple(args)[-len(BUILD) :] == BUILD:  # below the process that ends its tree
            pids.append(self.pid)
            signal.raise_signal(number)

    return start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_build_is_started_leaves_no_process(
    config: Config, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Even if the process runs already and Popen has not returned."""
    pids: list[int] = []
    starts: Any = subprocess.Popen
    monkeypatch.setattr(starts, "_execute_child", interrupted(starts._execute_child, pids, number))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), checked_out(config, "HEAD", environ=dict(os.environ)):
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    assert [alive(pid) for pid in pids] == [False]
