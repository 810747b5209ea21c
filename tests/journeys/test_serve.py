"""The dashboard beside a run: the address is printed, a live run is seen as such, and the server ends with the run."""

from __future__ import annotations

import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.helpers.dashboard_server import Dashboard
from tests.helpers.dashboard_store import DashboardStore
from tests.helpers.project import Project, default_signals

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Wait for me.", files={})
def waits(rig, result):
    assert result
"""
MODEL = """\
import time
from pathlib import Path

def play(turn):
    while not Path({gate!r}).exists():
        time.sleep(0.05)
    Path({gate!r}).unlink()
    return "done"
"""


def test_a_run_is_live_until_it_ends(project: Project):
    """A page of the server shows the run of another process while it waits."""
    gate = project.folder / "gate"
    config = 'subjects = ["native:slow"]\n[models.slow]\nscript = "slow.py"\n'
    project.write(evals__eval_a_py=EVAL, slow_py=MODEL.format(gate=str(gate)), demeanor_toml=config)
    server = subprocess.Popen(
        project.command("serve", "--port", "0"), cwd=project.folder, env=project.env, stderr=subprocess.PIPE, text=True
    )
    run = subprocess.Popen(
        project.command("run", "--trials", "2", "--jobs", "1", "--sandbox", "none"), cwd=project.folder,
        env=project.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    try:
        address = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+", line)))
        dashboard = Dashboard(address, DashboardStore(root=Path(project.folder), nights=()))
        while "Running now" not in (text := dashboard.page("/live").text):
            assert run.poll() is None, text
        assert "0 of 2" in text
        events = urllib.request.urlopen(f"{dashboard.address}/events", timeout=120)  # noqa: S310 - our own server
        first = events.readline()
        gate.write_text("")
        while (line := events.readline()).strip() in {b"", b":"} or line == first:
            assert line, "the stream ended before the run did"
        assert line.startswith(b"data: ")
        while "1 of 2" not in (text := dashboard.page("/live").text):
            assert run.poll() is None, text
        gate.write_text("")
        out, err = run.communicate(timeout=300)
    finally:
        run.kill()
        server.terminate()
        server.communicate()
    assert run.returncode == 0, out + err
    assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["ctrl-c", "term", "hup"])
def test_every_signal_that_stops_the_server_is_a_success(project: Project, number: signal.Signals):
    """Also that of a terminal which is closed."""
    project.write(evals__eval_a_py=EVAL, demeanor_toml='subjects = ["native:scripted"]\n')
    server = subprocess.Popen(
        project.command("serve", "--port", "0"), cwd=project.folder, env=project.env, stderr=subprocess.PIPE, text=True,
        preexec_fn=default_signals,  # noqa: PLW1509 - it only sets signals
    )  # fmt: skip
    assert server.stderr is not None
    assert any("stop with Ctrl-C" in line for line in server.stderr)
    server.send_signal(number)
    _, rest = server.communicate(timeout=300)
    assert (server.returncode, "Traceback" in rest) == (0, False), rest
