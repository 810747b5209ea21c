"""A list of evals as text and as JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from demeanor.commands.validate.list_text import listing_json, listing_text
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario

ROOT = Path("/project")
NOTES = Eval(
    name="saves_the_note",
    policy=Policy.USUALLY_PASSES,
    scenario=Scenario(prompts=("Save the note\nin notes.txt.",)),
    checks=(),
    source=Source(path=ROOT / "evals/eval_notes.py", line=12),
    tags=("files",),
    owner="ann",
)
FOLDER = replace(
    NOTES, name="greets", policy=Policy.ALWAYS_PASSES, source=Source(path=Path("/elsewhere/greets")), tags=(), owner=""
)


def test_evals_are_grouped_by_policy_with_their_source():
    """The description, or else the prompt on one line; the source is relative to the project if it is in it."""
    assert listing_text([NOTES, FOLDER], root=ROOT, width=80).splitlines() == [
        "ALWAYS_PASSES (1)",
        "  greets          Save the note in notes.txt.",
        "                  /elsewhere/greets",
        "",
        "USUALLY_PASSES (1)",
        "  saves_the_note  Save the note in notes.txt.",
        "                  evals/eval_notes.py:12  (tags files; owner ann)",
        "",
        "2 evals",
    ]


def test_json_has_every_eval_in_the_given_order():
    """An eval that is not a Harbor task has `task: null`."""
    found = listing_json([NOTES, FOLDER], root=ROOT)
    assert [(one["name"], one["source"], one["task"]) for one in found] == [
        ("saves_the_note", "evals/eval_notes.py:12", None),
        ("greets", "/elsewhere/greets", None),
    ]


def test_a_narrow_window_shows_the_description_below_the_name():
    """No line is wider than the window, whatever the names and labels are."""
    one = replace(NOTES, name="saves_the_note_" * 5, description="It saves. " * 20, tags=("files", "notes") * 6)
    lines = listing_text([one, FOLDER], root=ROOT, width=60).splitlines()
    assert max(map(len, lines)) <= 60, lines
    assert lines[1:4] == ["  greets", "    Save the note in notes.txt.", "    /elsewhere/greets"]
