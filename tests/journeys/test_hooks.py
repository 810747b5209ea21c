"""Hooks and reporters of another package: the examples of docs/extend.md, and broken ones."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.helpers.project import Project

DOCS = Path(__file__).parents[2] / "docs/extend.md"
EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_the_note(rig, result):
    assert rig.workspace["notes.txt"].text == "EXPECTED\\n"
"""
RUN = ("run", "--subject", "native:scripted", "--trials", "1", "--policy", "all", "--sandbox", "none")


def install(project: Project, code: str, points: str) -> None:
    """Put a package with entry points on the project's Python path."""
    packages = project.folder.parent / "packages"
    about = packages / "demeanor_slack-1.0.dist-info"
    about.mkdir(parents=True)
    (packages / "demeanor_slack.py").write_text(code)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: demeanor-slack\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(points)
    project.env["PYTHONPATH"] = str(packages)


@pytest.fixture
def slack() -> Iterator[tuple[str, list[str]]]:
    """A web server in the place of Slack, and the messages that it got."""
    messages: list[str] = []

    class Webhook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Webhook) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", messages
        server.shutdown()
        thread.join()


def test_the_slack_example_posts_nights_and_rejections(project: Project, slack: tuple[str, list[str]]) -> None:
    """The code and the entry points are those of the page; the reporter works too."""
    url, messages = slack
    page = DOCS.read_text("utf-8")
    (code,) = re.findall(r"```python\n# demeanor_slack.py\n(.*?)```", page, re.S)
    (points,) = re.findall(r"```ini\n(.*?)```", page, re.S)
    points = re.sub(r'\[project.entry-points."(.*)"\]', r"[\1]", points).replace('"', "")
    install(project, code, points)
    project.write(evals__eval_a_py=EVAL.replace("EXPECTED", "buy bread"))
    ran = project.demeanor("nightly", *RUN[1:5], *RUN[7:], SLACK_WEBHOOK_URL=url)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    night, rejected = messages
    assert re.fullmatch(r"Night 2\S+: 0 passed, 1 failed, 0 void", night)
    assert rejected.startswith("Rejected by run: saves_the_note on native:scripted: 0 of 1 passed")
    assert "hook" not in ran.stdout
    text = project.demeanor("store", "export", "--format", "slack-text")
    assert re.fullmatch(r"2\S+: 1 rejected saves_the_note\n", text.stdout), text.stdout + text.stderr


BROKEN = """\
import sys

def run_began(event):
    raise ValueError("no such channel")

def trial_ended(event):
    sys.exit(5)

def reporter(report):
    return 7
"""


def test_a_broken_hook_is_a_note_and_changes_nothing(project: Project) -> None:
    """Neither an exception nor sys.exit nor a hook that can't be imported changes verdicts or the exit code."""
    points = "[demeanor.hooks]\nbroken = demeanor_slack\nabsent = no_such_module\nempty = demeanor_slack:reporter\n"
    install(project, BROKEN, points + "[demeanor.reporters]\nseven = demeanor_slack:reporter\n")
    project.write(evals__eval_a_py=EVAL.replace("EXPECTED", "buy milk"))
    ran = project.demeanor(*RUN)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    notes = json.loads((project.folder / "results/latest/report.json").read_text())["notes"]
    assert any(
        note.startswith("hook 'broken' failed 2 times, first in run_began: ValueError: no such channel")
        for note in notes
    ), notes
    assert any(note.startswith("hook 'absent' can't be loaded: ModuleNotFoundError") for note in notes)
    assert any(note.startswith("hook 'empty' has none of the functions") for note in notes)
    assert "hook 'broken' failed 2 times" in " ".join(ran.stdout.split())
    seven = project.demeanor("store", "export", "--format", "seven")
    assert seven.returncode == 2
    assert "the reporter returned int, not text" in seven.stderr
    wrong = project.demeanor("store", "export", "--format", "jsn")
    assert wrong.returncode == 2
    assert "did you mean 'json'?" in wrong.stderr
