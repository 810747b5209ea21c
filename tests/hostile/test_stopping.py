"""A run stops when it is told to, whatever its agents do to the gateway."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.processes import read, with_command
from tests.helpers.project import Project

SYSTEM_PYTHON = Path("/usr/bin/python3")
CONFIG = """\
subjects = ["flood:scripted"]
attempts = 1
timeout = 3000
[agents.flood]
adapter = "command"
dialect = "openai-chat"
command = ["/usr/bin/python3", "-I", "flood.py", "{prompt}"]
env = { BASE_URL = "{base_url}", TOKEN = "{token}" }
"""
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

FLOOD = '''
import http.client, os, signal, threading, urllib.parse
signal.signal(signal.SIGTERM, signal.SIG_IGN)
url = urllib.parse.urlsplit(os.environ["BASE_URL"])
head = {"Authorization": "Bearer " + os.environ["TOKEN"], "Content-Type": "application/json"}
def flood(name):
    number = 0
    while True:
        number += 1
        text = "%d %d %s" % (name, number, "x" * 20_000_000)
        link = http.client.HTTPConnection(url.hostname, url.port)
        try:
            body = '{"model": "scripted", "messages": [{"role": "user", "content": "%s"}]}' % text
            link.request("POST", url.path + "/v1/chat/completions", body, head)
            link.getresponse().read()
        except OSError:
            continue
for name in range(4):
    threading.Thread(target=flood, args=(name,)).start()
'''

@eval_test(ALWAYS_PASSES, prompt="Flood.", files={"flood.py": FLOOD}, trials=2)
def floods(rig, result):
    assert rig.calls.count() == 0
"""


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)


def flooding(project: Project) -> list[str]:
    """The agents of this run that are alive, by the folder of the run in the environment of bubblewrap."""
    return [pid for pid in with_command("flood.py") if str(project.folder.parent) in read(pid, "environ")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="the agent needs a Python that is visible in the sandbox")
def test_a_run_stops_while_agents_flood_the_gateway(project: Project, number: signal.Signals) -> None:
    """Agents that send large requests all the time, and ignore signals, neither delay the end nor survive it."""
    project.write(demeanor_toml=CONFIG, evals__eval_floods_py=EVAL)
    run = subprocess.Popen(
        project.command("run", "--sandbox", "bubblewrap"),
        cwd=project.folder,
        env=project.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: bool(flooding(project)))
    run.send_signal(number)
    assert run.wait(300) == 130
    assert flooding(project) == []
    assert project.temporary() == []
