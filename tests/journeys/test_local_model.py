"""A real language model on this machine, from the command line."""

from __future__ import annotations

import json
import os
import re

from tests.helpers.light_model import light_model, the_cache
from tests.helpers.project import Project
from tests.journeys.test_replay import latest, other_folders, trajectories

EVAL = """
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Write the word hello into hello.txt.", timeout=900)
def writes_hello(rig, result):
    assert rig.workspace["hello.txt"].text.strip() == "hello"
"""
CONFIG = "[agents.native]\nadapter = 'native'\nmax_turns = 2\n"


def test_a_real_model_gives_a_verdict(project: Project):
    """It passes or fails; its tokens are counted and cost nothing; no temporary file is left."""
    light_model()
    project.write(evals__eval_hello_py=EVAL, demeanor_toml=CONFIG)
    cache = str(the_cache().folder.parent)
    ran = project.demeanor(
        "run", "--policy", "all", "--subject", "native:smollm2-135m", "--trials", "1", "--json", DEMEANOR_CACHE=cache
    )
    assert ran.returncode in {0, 1}, ran.stdout + ran.stderr
    ledger = project.folder / "results" / "latest" / "ledger.jsonl"
    (record,) = map(json.loads, ledger.read_text().splitlines())
    assert record["verdict"]["outcome"] in {"pass", "fail"}
    assert record["spent"]["input_tokens"] > 100
    assert record["spent"]["output_tokens"] > 0
    assert record["spent"]["cost_usd"] == 0.0
    assert any("local model smollm2-135m" in note for note in record["notes"])
    assert project.temporary() == []


def test_a_run_with_a_real_model_is_replayed_without_it(project: Project):
    """Three trials are recorded with the model, and replayed in another HOME without the weights.

    They have one turn each, because the output of shell commands that a small model may run (`w`, `date`) varies.
    """
    light_model()
    project.write(evals__eval_hello_py=EVAL, demeanor_toml=CONFIG.replace("max_turns = 2", "max_turns = 1"))
    words = ("run", "--policy", "all", "--subject", "native:smollm2-135m", "--trials", "3", "--jobs", "3")
    recorded = project.demeanor(*words, "--record", DEMEANOR_CACHE=str(the_cache().folder.parent))
    assert recorded.returncode in {0, 1}, recorded.stdout + recorded.stderr
    before = trajectories(latest(project))
    assert len(before) == 3
    replayed = project.demeanor(
        *words, "--replay", DEMEANOR_CACHE=str(project.folder / "none"), **other_folders(project)
    )
    assert replayed.returncode == recorded.returncode, replayed.stdout + replayed.stderr
    assert trajectories(latest(project)) == before
    assert "no model was asked, nothing was spent" in (latest(project) / "ledger.jsonl").read_text()


def test_a_model_that_is_not_downloaded_is_an_error(project: Project):
    """The error has the command to download it; nothing is downloaded or run."""
    project.write(evals__eval_hello_py=EVAL)
    ran = project.demeanor("run", "--policy", "all", "--subject", "native:smollm2-135m")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "→ demeanor models fetch smollm2-135m" in ran.stderr
    assert not (project.folder / "results").exists()


def test_without_a_subject_and_a_downloaded_model_scripted_is_used(project: Project):
    """A note says that it is not a model."""
    project.write(evals__eval_hello_py=EVAL)
    ran = project.demeanor("run", "--policy", "all", "--dry-run")
    assert "native:scripted is run, which is not a model" in ran.stderr
    assert "→ demeanor models fetch qwen2.5-coder-1.5b" in ran.stderr
    assert "native:scripted" in ran.stdout


def test_without_a_subject_a_downloaded_model_is_used(project: Project):
    """The size of the file is enough for a plan; nothing is loaded."""
    project.write(evals__eval_hello_py=EVAL)
    folder = project.folder.parent / "home" / ".cache" / "demeanor" / "models"
    folder.mkdir(parents=True)
    with (folder / "qwen2.5-coder-1.5b.gguf").open("wb") as file:
        os.truncate(file.fileno(), 1_117_320_768)
    ran = project.demeanor("run", "--policy", "all", "--dry-run")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "native:qwen2.5-coder-1.5b" in ran.stdout
    assert "native:scripted" in project.demeanor("run", "--policy", "all", "--dry-run", "--model", "scripted").stdout


def test_models_are_listed_and_removed(project: Project):
    """Licence, size, state and path; a misspelt name is an error."""
    listed = project.demeanor("models")
    assert re.search(r"smollm2-135m +Apache-2.0 +98 MB +805 MB +not fetched +/.*/smollm2-135m.gguf", listed.stdout)
    rows = json.loads(project.demeanor("models", "list", "--json").stdout)
    assert {row["name"]: row["licence"] for row in rows} == {
        "qwen2.5-coder-1.5b": "Apache-2.0",
        "smollm2-135m": "Apache-2.0",
    }
    assert project.demeanor("models", "remove", "smollm2-135m").stdout == "smollm2-135m is not installed\n"
    assert project.demeanor("models", "fetch", "smollm").returncode == 2
    assert "demeanor models remove NAME" in project.demeanor("models", "remove").stderr


def test_a_failed_fetch_is_reported(project: Project):
    """With the folder, the reason and the remedy."""
    (project.folder / "in the way").write_text("")
    ran = project.demeanor("models", "fetch", "smollm2-135m", DEMEANOR_CACHE=str(project.folder / "in the way"))
    assert ran.returncode == 2
    assert "can't write to" in ran.stderr
    assert "→ run `demeanor models fetch smollm2-135m` again" in ran.stderr
