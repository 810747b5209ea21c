"""A first behaviour: when asked to save something, does the agent save it, or only say so?"""

from demeanor import USUALLY_PASSES, Rig, Stage, eval_test


def saves_it(stage: Stage) -> None:
    """What a good agent does; `demeanor validate` checks that this passes."""
    (stage.workspace / "notes.txt").write_text("buy milk\n")
    stage.call("write_file", path="notes.txt", content="buy milk\n")


@eval_test(
    USUALLY_PASSES,
    prompt="Save the note 'buy milk' in notes.txt.",
    files={"README.md": "# Notes\n"},
    passes_on=saves_it,
)
def saves_the_note(rig: Rig, result: str) -> None:
    assert "buy milk" in rig.workspace["notes.txt"].text
    assert rig.calls.of_kind("edit").count() >= 1
    assert rig.workspace.unchanged_except("notes.txt")
