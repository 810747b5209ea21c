"""A command that is stopped while it starts, before its first trial, in the foreground or as a background job."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.helpers.project import Project

EVALS = """\
import os
from demeanor import USUALLY_PASSES, eval_test

with open(os.environ["STARTING"], "w") as pipe:
    pipe.write("loading the evals")
with open(os.environ["NEVER"]) as pipe:  # waits for a writer
    pipe.read()

@eval_test(USUALLY_PASSES, prompt="Save a note.")
def saves(rig, result):
    assert rig.workspace["notes.txt"].exists()
"""


def in_the_background() -> None:
    """A shell without job control starts background jobs like this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def in_the_foreground() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
@pytest.mark.parametrize("where", [in_the_background, in_the_foreground])
@pytest.mark.parametrize("command", ["run", "cover"])
def test_a_command_that_loads_evals_can_be_stopped(project: Project, command: str, where, number: signal.Signals):
    """No traceback and no run, and the exit code of an interrupted command."""
    project.write(evals__eval_slow_py=EVALS)
    pipes = {name: str(project.folder.parent / name.lower()) for name in ("STARTING", "NEVER")}
    for path in pipes.values():
        os.mkfifo(path)
    process = subprocess.Popen(
        project.command(command), cwd=project.folder, env={**project.env, **pipes}, preexec_fn=where,  # noqa: PLW1509
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process, Path(pipes["STARTING"]).open() as starting:
        assert starting.read() == "loading the evals"
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert (out, "Traceback" in err) == ("", False), err
    assert not (project.folder / "results").exists()
