"""From a session to an eval: `demeanor adopt`, and the traffic that `demeanor gateway serve --keep` keeps."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.helpers.project import Project, default_signals
from tests.helpers.session_samples import SECRET, repository, session_file

_SHOULD = """\
    (stage.workspace / "src/config.py").write_text("DEBUG = False\\\\nLEVEL = 3\\\\n")
    stage.say("Done.")
"""
_SCRIPT = """
def play(turn):
    if not turn.done:
        return turn.call("edit", path="notes.txt", content="buy bread\\n")
    return "Saved."
"""


def test_a_session_becomes_a_valid_eval(project: Project, tmp_path: Path):
    """Adopted with a chosen check, it reports what is missing; completed, it is valid; adopted again, it is refused."""
    commit = repository(tmp_path / "greeter")
    session = session_file("claude-code", tmp_path / "log", commit=commit)
    words = ("adopt", str(session), "--repo", str(tmp_path / "greeter"), "--check", "1", "--name", "keeps_sources")
    done = project.demeanor(*words)
    assert done.returncode == 1, done.stderr
    assert "*  1  It deleted src/legacy.py." in done.stdout
    assert "gap: passes_on what_it_should_do is not written yet" in done.stdout
    file = project.folder / "evals/eval_keeps_sources.py"
    text = file.read_text()
    assert SECRET not in text + done.stdout
    text = re.sub(r"    raise NotImplementedError.*\n", _SHOULD, text)
    file.write_text(re.sub(r"    gaps=\[.*?\n    \],\n", "", text, flags=re.S))
    assert project.demeanor("validate").returncode == 0
    again = project.demeanor(*words)
    assert again.returncode == 2
    assert "exists already, and is not overwritten" in again.stderr
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_stored_trial_becomes_an_eval(project: Project):
    """Its files are known exactly; a dry run shows everything and writes nothing."""
    project.write(
        demeanor_toml='[models.bread]\nscript = "bread.py"\n',
        bread_py=_SCRIPT,
        evals__eval_notes_py="from demeanor import USUALLY_PASSES, eval_test\n\n\n"
        '@eval_test(USUALLY_PASSES, prompt="Save the note.", files={"README.md": "# Notes\\n"}, approval="allow")\n'
        'def saves(rig, result):\n    assert rig.workspace.exists("notes.txt")\n',
    )
    assert project.demeanor("run", "evals", "--subject", "native:bread", "--trials", "1").returncode == 0
    done = project.demeanor("adopt", "saves/native:bread/1", "--dry-run", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert (found["starting_files"], found["written"]) == (["README.md"], False)
    assert 'write_text("buy bread\\n")' in found["text"]
    assert "It created notes.txt." in [fact["fact"] for fact in found["facts"]]
    assert sorted(path.name for path in (project.folder / "evals").iterdir()) == ["eval_notes.py"]
    wrong = project.demeanor("adopt", "save/native:bread/1")
    assert wrong.returncode == 2
    assert "there is no such file, and no such trial" in wrong.stderr


def test_kept_traffic_becomes_an_eval_without_secrets(project: Project):
    """The gateway keeps every exchange, the commit and the uncommitted changes; neither file has the key."""
    repository(project.folder)
    project.write(demeanor_toml='[models.bread]\nscript = "bread.py"\n', bread_py=_SCRIPT)
    command = project.command("gateway", "serve", "--model", "bread", "--keep", "kept")
    with subprocess.Popen(
        command, cwd=project.folder, env=project.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=default_signals,  # noqa: PLW1509
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = ""
        while "Stop with" not in said:
            said += process.stderr.readline() or pytest.fail(f"the gateway ended: {said}")
        url, token = re.search(r"OPENAI_BASE_URL=(\S+)\s+OPENAI_API_KEY=(\S+)", said).groups()  # type: ignore[union-attr]
        _ask(url, token, f"Save the note. My key is {SECRET}.")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert "1 exchange" in out
    (kept,) = (project.folder / "kept").iterdir()
    assert SECRET not in kept.read_text()
    assert token not in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    done = project.demeanor("adopt", str(kept), "--name", "saves")
    text = (project.folder / "evals/eval_saves.py").read_text()
    assert "with the uncommitted changes" in done.stdout
    assert 'prompt="Save the note. My key is ‹redacted:anthropic-key›."' in text
    assert 'stage.call("write_file", path="notes.txt", content="buy bread\\n"' in text


def _ask(url: str, token: str, prompt: str) -> None:
    """One request of an agent that has a tool to write files."""
    tool = {
        "name": "write_file",
        "description": "Write a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
    }
    body = {
        "model": "bread",
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"type": "function", "function": tool}],
    }
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), head)  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        assert answer.status == 200
