"""An agent, the gateway and a provider, which is played by a second gateway."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.helpers.project import Project

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=2)
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text
    assert rig.calls.of_kind("edit").count() == 1
    assert rig.cost_usd is not None
    assert rig.cost_usd > 0
"""
CONFIG = """\
subjects = ["native:milk"]
attempts = 1
[models.milk]
provider = "acme"
model = "scripted"
price = {{ input = 3.0, output = 15.0 }}
[providers.acme]
base_url = "{url}"
dialect = "{dialect}"
key_env = "ACME_KEY"
"""


@contextmanager
def serving(project: Project, *words: str) -> Iterator[tuple[str, str]]:
    """`demeanor gateway serve`: its URL and its key."""
    process = subprocess.Popen(
        project.command("gateway", "serve", *words),
        cwd=project.folder,
        env=project.env,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = "".join(process.stderr.readline() for _ in range(5))
    found = re.search(r"ANTHROPIC_BASE_URL=(\S+)  ANTHROPIC_API_KEY=(\S+)", said)
    assert found, said
    try:
        yield found[1], found[2]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
    assert process.returncode == 0


@pytest.fixture
def provider(project: Project) -> Iterator[tuple[str, str]]:
    """A provider's URL and key."""
    with serving(project) as found:
        yield found


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_any_provider_can_answer_and_its_key_stays_in_the_gateway(
    project: Project, provider: tuple[str, str], dialect: str
):
    """The agent uses the chat API, the provider its own dialect. No file of the run contains the key."""
    url, key = provider
    project.write(demeanor_toml=CONFIG.format(url=url, dialect=dialect), evals__eval_note_py=EVAL)
    ran = project.demeanor("run", ACME_KEY=key)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    kept = [path for path in (project.folder / "results").rglob("*") if path.is_file() and path.suffix != ".gz"]
    assert len(kept) > 6
    assert not [path for path in kept if key.encode() in path.read_bytes()]


def test_a_wrong_key_is_void_and_not_a_fail(project: Project, provider: tuple[str, str]):
    """The provider's 401 decides, whatever the agent does."""
    project.write(demeanor_toml=CONFIG.format(url=provider[0], dialect="anthropic"), evals__eval_note_py=EVAL)
    ran = project.demeanor("run", ACME_KEY="wrong")
    assert ran.returncode == 3
    assert "void(auth)" in ran.stdout


def test_an_agent_that_spends_the_budget_of_its_trial_fails(project: Project, provider: tuple[str, str]):
    """When the budget is spent, the gateway sends an error of the dialect."""
    url, key = provider
    config = CONFIG.format(url=url, dialect="anthropic") + "[budgets.trial]\nusd = 0.000001\n"
    project.write(demeanor_toml=config, evals__eval_note_py=EVAL)
    ran = project.demeanor("run", ACME_KEY=key)
    assert ran.returncode == 1, ran.stdout
    assert "the budget of the trial is spent: $0.0028 of" in ran.stdout


@contextmanager
def answering(body: bytes, content_type: str) -> Iterator[str]:
    """The URL of a provider that answers every request with status 200 and this body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def chunk(text: str) -> bytes:
    """An event of a chat stream without a finish reason."""
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    return b"data: %s\n\n" % json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}).encode()


WHOLE = {"id": "c", "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "Hello."}}]}


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html><body>Sign in.</body></html>", "text/html"),
        (chunk("Hello.") + b"data: [DONE]\n\n", "text/event-stream"),
        (chunk("Hello."), "text/event-stream"),
        (json.dumps(WHOLE).encode(), "application/json"),
        (b'{"error": {"message": "Overloaded.", "code": 503}}', "application/json"),
    ],
    ids=["html", "no finish reason", "truncated", "not streamed", "error"],
)
def test_a_provider_fault_is_void_and_not_a_fail(project: Project, body: bytes, content_type: str):
    """The gateway decides from what it received, however soon the agent hangs up."""
    with answering(body, content_type) as url:
        project.write(demeanor_toml=CONFIG.format(url=url, dialect="openai-chat"), evals__eval_note_py=EVAL)
        ran = project.demeanor("run", "--trials", "3", ACME_KEY="acme-0123456789")
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "void(provider)" in ran.stdout
    assert "fail" not in ran.stdout.lower(), ran.stdout


def test_a_key_that_a_provider_repeats_is_not_stored(project: Project):
    """It is masked before the agent sees it, with a note; no file of the run contains the key."""
    key = "acme-0123456789"
    with answering(chunk(f"Your key is {key}.") + b"data: [DONE]\n\n", "text/event-stream") as url:
        project.write(demeanor_toml=CONFIG.format(url=url, dialect="openai-chat"), evals__eval_note_py=EVAL)
        ran = project.demeanor("run", ACME_KEY=key)
    kept = [path.read_bytes() for path in (project.folder / "results").rglob("*") if path.is_file()]
    kept += [gzip.decompress(data) for data in kept if data.startswith(b"\x1f\x8b")]
    assert any(b"Your key is " + b"*" * len(key) + b"." in data for data in kept), ran.stdout
    assert any(b"the provider repeated its key" in data for data in kept)
    assert not [data for data in [*kept, ran.stdout.encode()] if key.encode() in data]
