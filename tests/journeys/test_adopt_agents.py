"""Real agents from npm: their own session file, and the kept traffic of the same session, tell the same story."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.helpers.installed_agents import installed
from tests.helpers.project import Project, default_signals
from tests.helpers.session_samples import repository

pytestmark = pytest.mark.agents

_SCRIPT = """
def play(turn):
    if turn.done == 0:
        return turn.call("execute", command="rm -r src/legacy.py")
    return "Done."
"""
_PROMPT = "Tidy up."


def goose(project: Project, url: str, token: str) -> list[str]:
    """Start goose, and return where it keeps its sessions."""
    path = urlsplit(url)
    env = {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "tidy",
        "OPENAI_API_KEY": token,
        "OPENAI_HOST": f"{path.scheme}://{path.netloc}",
        "OPENAI_BASE_PATH": f"{path.path.strip('/')}/v1/chat/completions",
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_OFF": "1",
        "GOOSE_DISABLE_SESSION_NAMING": "true",
    }
    words = ["run", "-q", "--name", "s", "--no-profile", "--with-builtin", "developer", "-t", _PROMPT]
    run_agent(project, "goose", words, env)
    return [".local/share/goose/sessions/sessions.db"]


def claude_code(project: Project, url: str, token: str) -> list[str]:
    """Start Claude Code, and return where it keeps its sessions."""
    env = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": token,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    run_agent(project, "claude-code", ["-p", "--model", "tidy", "--dangerously-skip-permissions", _PROMPT], env)
    return [".claude/projects/*/*.jsonl"]


def run_agent(project: Project, name: str, words: list[str], env: dict[str, str]) -> None:
    done = subprocess.run(
        [installed(name), *words], cwd=project.folder, env={**project.env, **env, "TERM": "dumb"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def gateway(project: Project) -> Iterator[tuple[str, str]]:
    """A gateway that keeps its traffic: its URL and token."""
    with subprocess.Popen(
        project.command("gateway", "serve", "--model", "tidy", "--keep", "../kept"), cwd=project.folder,
        env=project.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=default_signals,  # noqa: PLW1509 - one call, before any other thread
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = ""
        while "Stop with" not in said:
            said += process.stderr.readline() or pytest.fail(f"the gateway ended: {said}")
        found = re.search(r"ANTHROPIC_BASE_URL=(\S+)\s+ANTHROPIC_API_KEY=(\S+)", said)
        assert found
        yield found[1], found[2]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@pytest.mark.parametrize("start", [goose, claude_code])
def test_the_session_file_and_the_traffic_become_the_same_eval(start, project: Project):
    """The same prompt, starting files and facts."""
    repository(project.folder)
    project.write(demeanor_toml='[models.tidy]\nscript = "tidy.py"\n', tidy_py=_SCRIPT)
    with gateway(project) as (url, token):
        (place,) = start(project, url, token)
    (session,) = Path(project.env["HOME"]).glob(place)
    (kept,) = (project.folder.parent / "kept").iterdir()
    assert not (project.folder / "src/legacy.py").exists()
    found = [json.loads(project.demeanor("adopt", str(path), "--dry-run", "--json").stdout) for path in (session, kept)]
    for one in found:
        assert (one["prompts"], one["starting_files"]) == ([_PROMPT], ["src/legacy.py"])
        assert one["facts"][0]["fact"] == "It deleted src/legacy.py."
    assert found[0]["facts"] == found[1]["facts"]
