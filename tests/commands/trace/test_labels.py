"""`demeanor trace --label` and `--notes`: labels of people about trials, on both databases."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import demeanor
from tests.helpers.postgres_server import postgres_server
from tests.helpers.project import Project

EVALS = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def never_good_enough(rig, result):
    assert rig.workspace["other.txt"].text
"""
CONFIG = 'subjects = ["native:scripted"]\ntrials = 2\nsandbox = "none"\n'
FAILED = "never_good_enough/native:scripted"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with one run of two evals."""
    project = Project(tmp_path_factory.mktemp("note") / "project")
    project.write(evals__eval_a_py=EVALS, demeanor_toml=CONFIG)
    if request.param == "sqlite":
        assert project.demeanor("run", "evals").returncode == 1
        yield project
        return
    with postgres_server() as address:
        project.env["DEMEANOR_STORE"] = f"{address}&schema=note_{os.getpid()}"
        assert project.demeanor("run", "evals").returncode == 1
        yield project


def listed(project: Project, *words: str) -> list[dict[str, object]]:
    done = project.demeanor("trace", "--notes", "--json", *words)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "demeanor-notes/1"
    return list(document["notes"])


def test_a_note_is_written_listed_and_read_by_the_api(stored: Project, monkeypatch: pytest.MonkeyPatch):
    """With the exact trial, its label, text, author and time; newest first, older ones are kept."""
    first = stored.demeanor(
        "trace", f"{FAILED}/2", "--label", "flaky", "--note", "again: \x1b[31mred", LOGNAME="Ada  L."
    )
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith(f"noted: flaky  {FAILED}/2 of ")
    assert "\x1b" not in first.stdout
    done = stored.demeanor(
        "trace", "never_good_enough", "--label", "eval-bug", "--note", "the eval wants another file", "--json"
    )
    assert json.loads(done.stdout)["notes"][0]["number"] == 1, "the first trial that did not pass, as in trace"
    found = listed(stored)
    assert [(one["number"], one["label"], one["author"]) for one in found][1] == (2, "flaky", "Ada L.")
    assert [one["label"] for one in found] == ["eval-bug", "flaky"]
    assert [one["label"] for one in listed(stored, "--label", "flaky")] == ["flaky"]
    assert [one["label"] for one in listed(stored, f"{FAILED}/1")] == ["eval-bug"]
    assert [one["label"] for one in listed(stored, "never_good")] == []
    assert len(listed(stored, "--run", "latest")) == 2
    text = stored.demeanor("trace", "--notes").stdout
    assert "the eval wants another file" in text
    assert "\x1b" not in text
    if "DEMEANOR_STORE" in stored.env:
        monkeypatch.setenv("DEMEANOR_STORE", stored.env["DEMEANOR_STORE"])
    with demeanor.open_store(stored.folder) as store:
        notes = list(store.notes(label="flaky"))
        trials = {(trial["run"], trial["eval"], trial["subject"], trial["trial"]) for trial in store.trials()}
        assert [(note["trial"], note["text"], note["author"]) for note in notes] == [
            (2, "again: \x1b[31mred", "Ada L.")
        ]
        assert {(note["run"], note["eval"], note["subject"], note["trial"]) for note in notes} <= trials
        assert len(list(store.notes(eval="never_good_enough", run="latest"))) == 2
        assert list(store.notes(subject="a:b")) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing/native:scripted/1", "--label", "real"], "unknown trial 'nothing/native:scripted/1'"),
        ([f"{FAILED}/1", "--note", "text"], "--note needs --label"),
        (["--label", "real"], "--label real needs a TRIAL"),
        ([f"{FAILED}/1", f"{FAILED}/2", "--label", "real"], "--label takes one TRIAL"),
        ([f"{FAILED}/1", "--label", "sad"], "invalid choice: 'sad'"),
        (
            [f"{FAILED}/1", "--label", "real", "--note", "x" * 4001],
            "the note has 4001 characters\n  → write at most 4000",
        ),
        (["--notes", f"{FAILED}/1", "--note", "text"], "--note does not go with --notes"),
        ([f"{FAILED}/1", "--label", "real", "--run", "nope"], "unknown run 'nope'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(stored: Project, words: list[str], message: str):
    """With exit code 2."""
    before = len(listed(stored))
    done = stored.demeanor("trace", *words)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert len(listed(stored)) == before


def test_a_run_that_is_not_in_the_history_is_said(stored: Project, tmp_path: Path):
    """A folder from elsewhere must be imported first."""
    project = Project(tmp_path / "other")
    project.write(demeanor_toml=CONFIG)
    run = next(path for path in (stored.folder / "results").iterdir() if (path / "run.json").exists())
    shutil.copytree(run, project.folder / "results" / run.name)
    done = project.demeanor("trace", "never_good_enough", "--label", "real")
    assert done.returncode == 2, done.stderr
    assert "is not in the history" in done.stderr
    assert "demeanor store import" in done.stderr
    assert project.demeanor("store", "import", f"results/{run.name}").returncode == 0
    assert project.demeanor("trace", "never_good_enough", "--label", "real").returncode == 0
