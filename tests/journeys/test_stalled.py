"""A provider that falls silent: the trial ran out of time, but it was not the agent's doing."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.project import Project

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=2, timeout=10)
def saves_the_note(rig, result):
    assert rig.workspace.exists("notes.txt")
"""
CONFIG = """\
subjects = ["native:acme/m"]
attempts = 1
[providers.acme]
base_url = "http://127.0.0.1:{port}"
dialect = "openai-chat"
"""

SLOW = """\
subjects = ["slow"]
[agents.slow]
adapter = "command"
command = ["sh", "-c", "sleep 60", "{prompt}"]
"""


def test_a_silent_provider_is_void_and_a_slow_agent_is_a_fail(project: Project):
    """The gateway saw that the provider owed an answer when the time ran out."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        held: list[socket.socket] = []
        threading.Thread(target=lambda: [held.append(silent.accept()[0]) for _ in range(4)], daemon=True).start()
        project.write(demeanor_toml=CONFIG.format(port=silent.getsockname()[1]), evals__eval_note_py=EVAL)
        ran = project.demeanor("run")
        for connection in held:
            connection.close()
    assert ran.returncode == 3, ran.stdout
    assert "void(stalled): the trial timed out after the provider had not responded for" in ran.stdout
    project.write(demeanor_toml=SLOW)
    assert project.demeanor("run").returncode == 1


IMPATIENT = """\
import json, os, sys, urllib.request

def ask(seconds):
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": []}
    request = urllib.request.Request(os.environ["BASE"] + "/v1/chat/completions", json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["KEY"], "Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=seconds).read()
    except OSError as error:
        print("gave up:", error)

if sys.argv[1] == "once":
    ask(4)
    sys.exit(1)
while True:
    ask(0.5)
"""
IMPATIENT_CONFIG = """\
subjects = ["impatient:acme/m"]
attempts = 1
[agents.impatient]
adapter = "command"
command = ["{python}", "{program}", "{mode}", "{{prompt}}"]
dialect = "openai-chat"
env = {{ BASE = "{{base_url}}", KEY = "{{token}}" }}
[providers.acme]
base_url = "http://127.0.0.1:{port}"
dialect = "openai-chat"
"""


@pytest.fixture
def silent_port() -> Iterator[int]:
    """The port of a server that accepts every connection and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as silent:
        yield silent.getsockname()[1]


@pytest.mark.parametrize(("mode", "timeout"), [("once", 12), ("again and again", 10)])
def test_an_agent_that_gives_up_has_no_provider_to_blame(
    project: Project, tmp_path: Path, silent_port: int, mode: str, timeout: int
):
    """Whether it ends with an error, or asks again and again until its time is over: it hung up by itself."""
    program = tmp_path / "impatient.py"
    program.write_text(IMPATIENT)
    config = IMPATIENT_CONFIG.format(python=sys.executable, program=program, mode=mode, port=silent_port)
    project.write(demeanor_toml=config, evals__eval_note_py=EVAL.replace("timeout=10", f"timeout={timeout}"))
    ran = project.demeanor("run")
    assert ran.returncode == 1, ran.stdout
    assert "void" not in ran.stdout
