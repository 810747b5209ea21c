"""Which instructions of the toy agent's prompt do its evals hold? Its model does what the prompt says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.project import Project
from tests.helpers.toy_agent import ToyAgent

MORE = """
Files such as port.txt must be read as a whole.

Ask before you write a new file.

Be kind to the user.
"""
FEW_TRIALS = ("--baseline-trials", "5", "--drop", "80%", "--sure", "90%", "--false-alarm", "5%")


@pytest.fixture
def toy(project: Project) -> ToyAgent:
    """The toy agent, whose prompt also has a redundant instruction, a harmful one, and one without effect."""
    toy = ToyAgent(project)
    with toy.prompt.open("a") as file:
        file.write(MORE)
    toy.build()
    toy.commit("More instructions")
    return toy


def cover(toy: ToyAgent, *words: str, code: int = 0) -> dict[str, Any]:
    """The report of `demeanor cover`, with fewer trials than by default: the model always does what the prompt says."""
    done = toy.project.demeanor(
        "cover", *FEW_TRIALS, "--sandbox", "none", "--no-build", "--seed", "1", "--json", *words
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def answers(report: dict[str, Any], answer: str) -> dict[str, list[str]]:
    """The beginnings of the instructions with an answer → the evals that notice them."""
    return {
        one["text"][:17]: [by["eval"] for by in one["noticed_by"]]
        for one in report["instructions"]
        if one["answer"] == answer
    }


def test_each_instruction_has_its_answer_and_a_search_goes_on(toy: ToyAgent) -> None:
    """Also after it was stopped by its limit; nothing of it is in the history."""
    part = cover(toy, "--max-trials", "35", code=3)
    assert part["trials"] == 35
    assert not part["complete"]
    assert any("--max-trials" in note for note in part["notes"])
    report = cover(toy)
    assert report["reused"] >= 30
    assert report["trials"] < 70
    assert answers(report, "held") == {
        "If the user only ": ["answers_without_touching"],
        "Delete a file. Al": ["deletes_with_its_tool"],
    }
    assert answers(report, "redundant") == {
        "Read a file befor": ["reads_before_editing"],
        "Files such as por": ["reads_before_editing"],
    }
    assert answers(report, "harmful") == {"Ask before you wr": ["saves_the_note"]}
    assert answers(report, "not tried") == {}
    assert report["coverage"]["held"] == 2
    assert len(answers(report, "not held")) >= 9
    assert [path.name for path in Path(toy.folder, "results").iterdir()] == ["cover"]
    written = Path(report["folder"])
    assert json.loads((written / "cover.json").read_text())["coverage"] == report["coverage"]
    assert "If the user only asks" in (written / "cover.md").read_text()


def test_only_what_a_change_touches_is_tried(toy: ToyAgent) -> None:
    """Against a required coverage: the new sentence has no eval."""
    with toy.prompt.open("a") as file:
        file.write("\nNever speak of the weather.\n")
    toy.build()
    report = cover(toy, "-k", "answers", "--since", "HEAD", "--min-coverage", "50%", code=1)
    assert answers(report, "not held") == {"Never speak of th": []}
    assert report["coverage"]["instructions"] == 1


def test_a_shorter_description_may_matter_too(toy: ToyAgent) -> None:
    """Only descriptions and instructions that can be shortened are tried."""
    report = cover(toy, "-k", "deletes", "--operator", "shorten")
    assert answers(report, "not tried") == {}
    assert "Delete a file. Al" not in answers(report, "not held")
    assert "Be kind to the us" not in {one["text"][:17] for one in report["instructions"]}


def test_options_that_make_no_sense_are_refused(toy: ToyAgent) -> None:
    """Before anything is run. Each eval runs once to show its prompt, so a smaller limit could not be kept."""
    for words, message in (
        (("--max-trials", "3", "--no-build"), "--max-trials 3: 4 trials are needed, one per eval"),
        (("--instruction", "read first"), "'read first' is not the id of an instruction"),
        (("--since", "nowhere"), "'nowhere' is not a revision"),
        (("--drop", "2"), "expected a rate between 0 and 1"),
        (("--subject", "toy:brain", "--subject", "native:scripted"), "expected one subject, found 2"),
    ):
        done = toy.project.demeanor("cover", *words)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not Path(toy.folder, "results").exists()
