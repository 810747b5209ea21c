"""From a trial's capture to its cassette."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from demeanor.core.redaction.encodings import telling
from demeanor.core.values.exchange import Response
from demeanor.core.values.messages import ToolCall
from demeanor.core.values.scenario import Approval, PriorMessage, Scenario
from demeanor.gateway.cassette.cassette import write_cassette
from demeanor.gateway.cassette.folder import CassetteFolder
from demeanor.gateway.cassette.recording import Recorder, make_cassette, scenario_fingerprint
from demeanor.plugins.harbor.format.task_folder import read_task_folder
from tests.gateway.cassette.helpers import a_capture, a_request, answered
from tests.gateway.helpers import a_trial
from tests.helpers.harbor_tasks import greet


def test_nothing_of_the_environment_is_recorded():
    """No path, address, token, secret, time or cost."""
    token = "demeanor-" + "ab" * 20
    prompt = f"in /tmp/demeanor-1/3/workspace, at http://127.0.0.1:4711/t/0 with {token} and hunter2-hunter2"
    call = ToolCall(id="c1", name="write", arguments={"path": "/tmp/demeanor-1/3/workspace/a"}, raw="{}")
    exchange = replace(
        answered(a_request(prompt)), response=Response(parts=(call,)), started=1.5, ended=2.5, cost_usd=0.1
    )
    secrets = telling({"MY_API_KEY": "hunter2-hunter2", "EDITOR": "emacs-editor"}).values()
    cassette = make_cassette(a_trial(), a_capture(exchange), secrets)
    text = write_cassette(cassette)
    assert not [
        word for word in ("/tmp/demeanor-1", "127.0.0.1", token, "hunter2", "started", "cost_usd") if word in text
    ]
    assert "{{demeanor:workspace}}/a" in text


def test_the_fingerprint_depends_on_everything_an_agent_is_given(tmp_path: Path):
    """Prompts, files, template, parameters, approval and earlier messages count; the time limit does not."""
    (tmp_path / "a.txt").write_text("a")
    first = Scenario(prompts=("Hi.",), template=tmp_path)
    before = scenario_fingerprint(first)
    others = [
        replace(first, prompts=("Ho.",)),
        replace(first, files={"b": b""}),
        replace(first, params={"x": 1}),
        replace(first, approval=Approval(default="deny")),
        replace(first, messages=(PriorMessage(role="user", text="x"),)),
        replace(first, setup=lambda folder: None),
        replace(first, template=None),
    ]
    assert before not in [scenario_fingerprint(other) for other in others]
    assert before == scenario_fingerprint(replace(first, timeout=5.0))
    (tmp_path / "a.txt").write_text("b")
    assert before != scenario_fingerprint(first)


def test_the_fingerprint_of_a_whole_task_depends_on_its_files(tmp_path: Path):
    """Also on those that are not part of the scenario; `[metadata]` only labels it."""
    folder = greet(tmp_path / "greet")

    def fingerprint() -> str:
        one = read_task_folder(folder)
        return scenario_fingerprint(one.scenario, one.task)

    before = fingerprint()
    toml = folder / "task.toml"
    toml.write_text(f"{toml.read_text()}\n[metadata.demeanor]\nowner = 'ann'\n")
    assert fingerprint() == before
    (folder / "environment/notes.txt").write_text("new\n")
    assert fingerprint() != before


def test_a_cassette_that_cant_be_written_does_not_end_the_run(tmp_path: Path):
    """It is reported as a problem."""
    (tmp_path / "saves_the_note").write_text("in the way")
    recorder = Recorder(folder=CassetteFolder(tmp_path))
    recorder(a_trial(), a_capture(answered(a_request())))
    assert len(recorder.problems) == 1
    assert "was not recorded" in recorder.problems[0]
    assert recorder.written == []
