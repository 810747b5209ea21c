"""Standard output that goes away, is full or is closed: the run goes on, and the exit code tells the truth."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.helpers.project import Project
from tests.journeys.test_survival import records, slow, start, until  # noqa: F401 - a fixture

CONFIG = """\
subjects = ["quick"]
sandbox = "none"
jobs = 2
[agents.quick]
adapter = "command"
command = ["sh", "-c", "echo hi > out.txt", "{prompt}"]
"""
FAILS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.", trials=3)
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "bye"
"""
PASSES = FAILS.replace("bye", "hi\\n")


def shell(project: Project, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script of bash, in which `demeanor` is the command."""
    demeanor = f'demeanor() {{ {" ".join(project.command())} "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", demeanor + script], cwd=project.folder, env=project.env, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture
def failing(project: Project) -> Project:
    """A project whose only eval fails."""
    project.write(demeanor_toml=CONFIG, evals__eval_writes_py=FAILS)
    return project


@pytest.mark.parametrize("reader", ["head -1", "true", "head -c 1"])
def test_a_reader_that_goes_away_changes_neither_the_run_nor_the_exit_code(failing: Project, reader: str) -> None:
    """All trials run, and the exit code is that of the failing eval."""
    ran = shell(failing, f"demeanor run 2>&1 | {reader} > /dev/null; exit ${{PIPESTATUS[0]}}")
    assert ran.returncode == 1, ran.stderr
    assert len(records(failing)) == 3
    assert list((failing.folder / "results").glob("2*/report.json"))


def test_the_same_with_json_and_for_other_commands(failing: Project) -> None:
    """A passing run exits with 0, a listing too."""
    failing.write(evals__eval_writes_py=PASSES)
    assert shell(failing, "demeanor run --json | true; exit ${PIPESTATUS[0]}").returncode == 0
    for command in ("validate --list", "trace writes --json", "report", "--help", "--version"):
        ran = shell(failing, f"demeanor {command} | true; exit ${{PIPESTATUS[0]}}")
        assert (ran.returncode, ran.stderr) == (0, ""), command


@pytest.mark.parametrize("target", ["> /dev/full", ">&-"])
def test_a_report_that_can_not_be_written_is_exit_code_70(failing: Project, target: str) -> None:
    """The trials still run and are kept; standard error says why the report is missing."""
    failing.write(evals__eval_writes_py=PASSES)
    ran = shell(failing, f"demeanor run {target}")
    assert ran.returncode == 70, ran.stderr
    assert "standard output can't be written" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(records(failing)) == 3
    for command in ("validate --list", "run --json", "--help", "--version"):
        assert shell(failing, f"demeanor {command} {target}").returncode == 70, command


@pytest.mark.parametrize("target", ["2> /dev/full", "2>&-", "2>&- <&-"])
def test_progress_that_can_not_be_shown_does_not_matter(failing: Project, target: str) -> None:
    """Standard error is for progress; the report is whole."""
    ran = shell(failing, f"demeanor run {target}")
    assert ran.returncode == 1
    assert "exit 1" in ran.stdout
    assert len(records(failing)) == 3


def test_everything_closed(failing: Project) -> None:
    """No file of the run gets the number of a closed stream."""
    ran = shell(failing, "demeanor run <&- >&- 2>&-")
    assert ran.returncode == 70
    (ledger,) = (failing.folder / "results").glob("2*/ledger.jsonl")
    assert [json.loads(line)["number"] for line in ledger.read_text().splitlines()]
    assert len(records(failing)) == 3


@pytest.mark.parametrize("times", [1, 2])
def test_a_hang_up_keeps_finished_trials_and_prints_how_to_resume(slow: Project, times: int) -> None:  # noqa: F811
    """A closed terminal sends the signal once or twice."""
    run = start(slow)
    until(lambda: len(records(slow)) == 2)
    for _ in range(times):
        run.send_signal(signal.SIGHUP)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, err
    assert "finished trials are kept" in err
    (folder,) = (path for path in (slow.folder / "results").iterdir() if path.name.startswith("2"))
    assert f"demeanor run --resume {folder.name}" in out
    assert len(records(slow)) == 2


def test_a_run_under_nohup_survives_a_hang_up(slow: Project, tmp_path: Path) -> None:  # noqa: F811
    """An ignored signal stays ignored."""
    slow.env["nohup"] = "1"
    run = subprocess.Popen(
        ["nohup", *slow.command("run")], cwd=slow.folder, env=slow.env, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: len(records(slow)) == 2)
    os.kill(run.pid, signal.SIGHUP)
    (slow.folder.parent / "gate").touch()
    _, err = run.communicate(timeout=300)
    assert run.returncode == 0, err.decode()
    assert len(records(slow)) == 6


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_line_of_standard_error_is_written_at_once(unbuffered: str) -> None:
    """Also with PYTHONUNBUFFERED, which images of Python set: a log shows the address of a server that is running."""
    script = (
        "import os, sys\nfrom demeanor.core.text.streams import install_streams\ninstall_streams(os.environ)\n"
        "sys.stderr.write('listening\\n')\nsys.stdin.read()"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdin is not None
    assert program.stderr is not None
    stopper = threading.Timer(60, program.kill)
    stopper.start()
    try:
        assert program.stderr.readline() == "listening\n"
        assert program.poll() is None
    finally:
        stopper.cancel()
        program.communicate(timeout=60)
