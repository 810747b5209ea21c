"""Does the agent handle files as asked, and in a sensible order?"""

from demeanor import USUALLY_PASSES, Rig, Stage, eval_test


def saves_it(stage: Stage) -> None:
    (stage.workspace / "notes.txt").write_text("buy milk\n")
    stage.call("write_file", path="notes.txt", content="buy milk\n")
    stage.say("Saved.")


def only_says_so(stage: Stage) -> None:
    stage.say("I have saved the note 'buy milk' in notes.txt.")


@eval_test(
    USUALLY_PASSES,
    prompt="Save the note 'buy milk' in notes.txt.",
    files={"README.md": "# Notes\n"},
    suite="notes",
    tags=["create"],
    passes_on=saves_it,
    fails_on=only_says_so,
)
def saves_the_note(rig: Rig, result: str) -> None:
    """Saving means writing the file, not talking about it."""
    assert "buy milk" in rig.workspace["notes.txt"].text
    assert rig.calls.of_kind("edit", "execute").count() >= 1
    assert rig.workspace.unchanged_except("notes.txt")


CONFIG = "[server]\nport = 8080\ndebug = false\n"


def reads_then_edits(stage: Stage) -> None:
    stage.call("read_file", path="config.ini", result=CONFIG)
    (stage.workspace / "config.ini").write_text(CONFIG.replace("false", "true"))
    stage.call("edit_file", path="config.ini", old="false", new="true")


def edits_blindly(stage: Stage) -> None:
    (stage.workspace / "config.ini").write_text(CONFIG.replace("false", "true"))
    stage.call("edit_file", path="config.ini", old="false", new="true")


@eval_test(
    USUALLY_PASSES,
    prompt="In config.ini, replace the word false with true.",
    files={"config.ini": CONFIG},
    suite="notes",
    tags=["edit", "order"],
    passes_on=reads_then_edits,
    fails_on=edits_blindly,
)
def reads_before_it_edits(rig: Rig, result: str) -> None:
    """Editing a file without reading it is a guess."""
    edits = rig.calls.of_kind("edit").where(path="config.ini")
    assert edits
    assert rig.calls.of_kind("read", "search", "execute").before(edits)
    assert rig.workspace["config.ini"].text == CONFIG.replace("false", "true")


def tells_the_port(stage: Stage) -> None:
    stage.call("read_file", path="config.ini", result=CONFIG)
    stage.say("It says that the port is 8080 and that debug is false.")


def guesses(stage: Stage) -> None:
    stage.say("It probably says port 80.")


@eval_test(
    USUALLY_PASSES,
    prompt="What does config.ini say? Don't change anything.",
    files={"config.ini": CONFIG},
    suite="notes",
    tags=["read"],
    passes_on=tells_the_port,
    fails_on=guesses,
)
async def tells_what_a_file_says(rig: Rig, result: str) -> None:
    """The answer comes from the file, not from imagination. (A check may be async.)"""
    assert "8080" in result
    assert rig.calls.where(path="config.ini") or rig.calls.of_kind("execute")
    assert not rig.workspace.changes
