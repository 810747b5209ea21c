"""The gate's comment on a pull request, against a local server that answers like GitHub's API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from demeanor.commands.gate.comment import MARK
from tests.helpers.project import Project

TOKEN = "job-token-0123456789"
CONFIG = """\
subjects = ["writer"]
sandbox = "none"
[agents.writer]
adapter = "command"
command = ["sh", "-c", "printf hi > out.txt", "{prompt}"]
"""
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.")
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""


class GitHub(ThreadingHTTPServer):
    """The comments of one pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = [
            {"id": n, "body": f"{MARK}\nsomebody's comment {n}", "own": False} for n in range(1, 151)
        ]
        self.calls: list[str] = []
        self.refuse = 0
        self.other: object = self
        """What to answer to writing requests, or to all if it is a list, instead of a comment; itself for nothing."""


class _Handler(BaseHTTPRequestHandler):
    server: GitHub

    def answer(self) -> None:
        self.server.calls.append(f"{self.command} {self.path}")
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        if self.server.refuse or self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.send_error(self.server.refuse or 401)
        one: Any
        reads = self.path == "/graphql"
        if reads:
            one = self.page(body["variables"])
        elif self.command == "POST" and self.path == "/repos/acme/agent/issues/7/comments":
            one = {
                "id": 1000 + len(self.server.comments),
                "body": body["body"],
                "html_url": "https://example.test/new",
                "own": True,
            }
            self.server.comments.append(one)
        elif self.command == "PATCH" and self.path.startswith("/repos/acme/agent/issues/comments/"):
            number = int(self.path.rpartition("/")[2])
            one = next(comment for comment in self.server.comments if comment["id"] == number)
            one["body"] = body["body"]
        else:
            return self.send_error(404)
        if self.server.other is not self.server and (not reads or isinstance(self.server.other, list)):
            one = self.server.other
        data = json.dumps(one).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        return None

    def page(self, variables: dict[str, Any]) -> dict[str, Any]:
        """A page of comments, as GraphQL returns them."""
        assert (variables["owner"], variables["name"], variables["number"]) == ("acme", "agent", 7)
        start = int(variables["after"] or 0)
        nodes = [
            {"databaseId": comment["id"], "body": comment["body"], "viewerDidAuthor": comment["own"]}
            for comment in self.server.comments[start : start + 100]
        ]
        comments = {"nodes": nodes, "pageInfo": {"endCursor": str(start + 100)}}
        return {"data": {"repository": {"pullRequest": {"comments": comments}}}}

    do_POST = do_PATCH = answer  # noqa: N815 - the names of the base class

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(timeout=60)


@pytest.fixture(scope="module")
def shared_gated(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose gate has run."""
    project = Project(tmp_path_factory.mktemp("gated") / "project")
    project.write(demeanor_toml=CONFIG, evals__eval_a_py=EVAL)
    assert project.demeanor("gate").returncode == 0
    return project


@pytest.fixture
def gated(shared_gated: Project, tmp_path: Path) -> Project:
    """A copy of it."""
    return shared_gated.copy_to(tmp_path / "project")


@pytest.fixture
def job(tmp_path: Path, github: GitHub) -> dict[str, str]:
    """The variables of a job for pull request 7."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    return {
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "acme/agent",
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
        "GITHUB_TOKEN": TOKEN,
    }


def test_each_gate_replaces_its_comment(gated: Project, github: GitHub, job: dict[str, str]) -> None:
    """And none of somebody else, though it begins in the same way."""
    first = gated.demeanor("gate", "--comment", **job)
    assert "comment  https://example.test/new" in first.stderr, first.stderr
    second = gated.demeanor("gate", "--comment", **job)
    assert (first.returncode, second.returncode) == (0, 0)
    own = [comment["body"] for comment in github.comments if comment["own"]]
    assert len(github.comments) == 151
    assert own == [f"{MARK}\n{(gated.folder / 'results/latest/summary.md').read_text()}"]


def test_another_job_writes_the_comment_of_the_newest_run(gated: Project, github: GitHub, job: dict[str, str]) -> None:
    (gated.folder / "results/latest").unlink()  # artifacts of CI do not keep links
    wrote = gated.demeanor("gate", "--comment-from", "results", **job)
    assert (wrote.returncode, wrote.stdout) == (0, "comment  https://example.test/new\n"), wrote.stderr
    assert len(list((gated.folder / "results").glob("*/run.json"))) == 1  # it ran nothing
    assert github.comments[-1]["body"].startswith(MARK)


@pytest.mark.parametrize("status", [403, 500])
def test_a_refused_comment_changes_no_decision(
    gated: Project, github: GitHub, job: dict[str, str], status: int
) -> None:
    github.refuse = status
    ran = gated.demeanor("gate", "--comment", **job)
    assert ran.returncode == 0
    assert f"no comment was written: GitHub refused the comment: {status}" in ran.stderr
    assert ("pull-requests: write" in ran.stderr) == (status == 403)
    assert TOKEN not in ran.stdout + ran.stderr
    assert gated.demeanor("gate", "--comment-from", "results", **job).returncode == 70


def test_outside_a_pull_request_nothing_is_run(gated: Project, job: dict[str, str]) -> None:
    Path(job["GITHUB_EVENT_PATH"]).write_text(json.dumps({"ref": "refs/heads/main"}))
    ran = gated.demeanor("gate", "--comment", **job)
    assert ran.returncode == 2
    assert "not the job of a pull request" in ran.stderr
    assert len(list((gated.folder / "results").glob("2*/run.json"))) == 1  # that of the fixture


def test_a_missing_token_is_named(gated: Project, job: dict[str, str]) -> None:
    without_gh = {**job, "GITHUB_TOKEN": "", "PATH": str(Path("/usr/bin"))}
    ran = gated.demeanor("gate", "--comment", **without_gh)
    assert ran.returncode == 2
    assert "GITHUB_TOKEN: no token for GitHub" in ran.stderr


def test_a_long_summary_is_shortened(gated: Project, github: GitHub, job: dict[str, str]) -> None:
    (gated.folder / "results/latest/summary.md").write_text("a line of the summary\n" * 10_000)
    assert gated.demeanor("gate", "--comment-from", "results", **job).returncode == 0
    assert len(github.comments[-1]["body"]) < 65_536
    assert "too long for a comment" in github.comments[-1]["body"]


@pytest.mark.parametrize("answer", [{}, [], None, [{"id": "x"}], {"html_url": 5}], ids=str)
def test_an_unexpected_answer_of_the_api_is_an_error(
    gated: Project, github: GitHub, job: dict[str, str], answer: object
) -> None:
    """A proxy or another server may answer 200 with anything."""
    github.other = answer
    wrote = gated.demeanor("gate", "--comment-from", "results", **job)
    assert wrote.returncode == 70, wrote.stdout + wrote.stderr
    assert "Traceback" not in wrote.stderr
    assert f"the answer of http://127.0.0.1:{github.server_port}/" in wrote.stderr
    assert "GITHUB_API_URL" in wrote.stderr
    ran = gated.demeanor("gate", "--comment", **job)
    assert (ran.returncode, "no comment was written" in ran.stderr) == (0, True)
