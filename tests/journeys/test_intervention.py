"""Try a prompt without an instruction, or with another one, before changing any file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.project import Project
from tests.helpers.toy_agent import ToyAgent

READ_FIRST = "Read a file before you change it"
RUN = ("run", "--policy", "all", "--trials", "1", "--json")


@pytest.fixture
def toy(project: Project) -> Project:
    """The toy agent, after a run of its evals."""
    ToyAgent(project)
    assert project.demeanor(*RUN).returncode == 0
    return project


def instruction(project: Project, text: str) -> dict[str, str]:
    """The instruction that contains a text, as `demeanor trace --prompt` lists it."""
    listed = project.demeanor("trace", "--prompt", "reads_before_editing", "--json")
    (found,) = (one for one in json.loads(listed.stdout)["instructions"] if text in one["text"])
    return found  # type: ignore[no-any-return]


def outcomes(done: object) -> dict[str, bool]:
    """Eval → whether its trial passed."""
    results = json.loads(done.stdout)["results"]  # type: ignore[attr-defined]
    return {one["scenarioId"]: one["trials"][0]["passed"] for one in results}


def test_an_instruction_is_listed_with_its_file(toy: Project) -> None:
    """In plain text and as JSON."""
    found = instruction(toy, READ_FIRST)
    assert (found["kind"], found["place"], found["file"]) == ("sentence", "system", "prompts/system.md")
    text = toy.demeanor("trace", "--prompt", "reads_before_editing").stdout
    assert f"{found['id']}  sentence   {READ_FIRST}" in text
    assert "demeanor run --edit-prompt remove:ID" in text


def test_without_its_instruction_an_eval_fails(toy: Project) -> None:
    """Only that one; the run says that its prompt was changed, and its subject has another fingerprint."""
    one = instruction(toy, READ_FIRST)["id"]
    done = toy.demeanor(*RUN, "--edit-prompt", f"remove:{one}")
    assert [name for name, passed in outcomes(done).items() if not passed] == ["reads_before_editing"]
    assert done.returncode == 1
    assert any(one in note for note in json.loads(done.stdout)["notes"])
    settings = {record["settings_hash"] for run in runs(toy) for record in ledger(run)}
    assert len(settings) == 2


def test_a_shorter_description_of_a_tool_is_tried(toy: Project) -> None:
    """Its first sentence does not ask for the tool any more, so the agent deletes with a command."""
    listed = json.loads(toy.demeanor("trace", "--prompt", "deletes_with_its_tool", "--json").stdout)["instructions"]
    (one,) = (one["id"] for one in listed if one["place"] == "delete_file")
    done = toy.demeanor(*RUN, "-k", "deletes", "--edit-prompt", f"shorten:{one}")
    assert outcomes(done) == {"deletes_with_its_tool": False}
    assert any(
        f"{one} was shortened" in note for run in runs(toy) for record in ledger(run) for note in record["notes"]
    )


def test_another_text_is_tried_before_it_is_written(toy: Project) -> None:
    """The text of a file, in place of the instruction."""
    one = instruction(toy, READ_FIRST)["id"]
    Path(toy.folder, "new.txt").write_text("Change files at once.\n")
    done = toy.demeanor(*RUN, "-k", "reads", "--edit-prompt", f"replace:{one}=new.txt")
    assert outcomes(done) == {"reads_before_editing": False}
    sent = toy.demeanor("trace", "--prompt", "reads_before_editing").stdout
    assert "Change files at once." in sent
    assert READ_FIRST not in sent


def test_an_instruction_that_was_not_there_voids_the_trial(toy: Project) -> None:
    """The agent had its usual prompt, so its success says nothing about the change."""
    done = toy.demeanor("run", "-k", "reads", "--trials", "1", "--edit-prompt", "remove:00000000")
    assert done.returncode == 3, done.stdout
    assert "void(intervention)" in done.stdout or "intervention" in done.stdout
    assert "in none of" in done.stdout
    assert "demeanor trace --prompt" in done.stdout


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ("remove:read first", "'read first' is not the id of an instruction"),
        ("remove", "'' is not the id of an instruction"),
        ("replace:0a0a0a0a", "no file is named"),
        ("replace:0a0a0a0a=missing.txt", "missing.txt can't be read"),
        ("replace:0a0a0a0a=empty.txt", "empty.txt is empty"),
        ("negate:guess", "'guess' is not the id of an instruction"),
        ("swap:0a0a0a0a", "'' is not the id of an instruction"),
        ("swap:0a0a0a0a,0a0a0a0a", "can't be swapped with itself"),
        ("delete:0a0a0a0a", "'delete' is not a kind of edit"),
        ("remove:0a0a0a0a --edit-prompt shorten:0a0a0a0a", "remove:0a0a0a0a and shorten:0a0a0a0a change the same"),
        ("remove:0a0a0a0a --record", "cassettes hold the answers to the agent's own prompt"),
    ],
)
def test_edits_that_make_no_sense_are_refused(project: Project, edit: str, message: str) -> None:
    """Before anything is run; a mistake in an edit shows the forms."""
    ToyAgent(project)
    project.write(empty_txt="")
    words = edit.split(" --")
    done = project.demeanor("run", "-k", "reads", "--edit-prompt", words[0], *" --".join(["", *words[1:]]).split())
    assert done.returncode == 2
    assert message in done.stderr
    assert not Path(project.folder, "results").exists()


def runs(project: Project) -> list[Path]:
    """The folders of all runs."""
    return [
        path.parent for path in Path(project.folder, "results").glob("*/ledger.jsonl") if path.parent.name[0] == "2"
    ]


def ledger(run: Path) -> list[dict[str, str]]:
    """The records of a run."""
    return [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()]
