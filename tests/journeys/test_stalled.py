"""A provider that falls silent: the trial ran out of time, but it was not the agent's doing."""

from __future__ import annotations

import socket
import threading

from tests.helpers.project import Project

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=2, timeout=4)
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
