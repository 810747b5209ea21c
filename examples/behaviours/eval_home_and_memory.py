"""What an agent does with the files of its HOME: it follows the user's memory, and leaves it alone when nobody asks."""

from demeanor import USUALLY_PASSES, Rig, Stage, eval_test

MEMORY = "# About me\n\nMy favourite bird is the heron.\n"
PLACES = (".gemini/GEMINI.md", ".claude/CLAUDE.md", ".codex/AGENTS.md")
"""Where agents look for what the user has told them in general."""


def knows(stage: Stage) -> None:
    stage.say("Your favourite bird is the heron.")


def does_not_know(stage: Stage) -> None:
    stage.say("I don't know your favourite bird.")


def knows_and_forgets(stage: Stage) -> None:
    (stage.home / PLACES[0]).write_text("")
    stage.say("Your favourite bird is the heron.")


@eval_test(
    USUALLY_PASSES,
    prompt="What is my favourite bird?",
    home_files=dict.fromkeys(PLACES, MEMORY),
    keep_home=PLACES,
    passes_on=knows,
    fails_on=[does_not_know, knows_and_forgets],
    tags=["memory"],
)
def follows_the_memory_of_its_user(rig: Rig, result: str) -> None:
    """What the user's memory file says is known, and the file stays as it is."""
    assert "heron" in result.lower()
    assert rig.home.unchanged_except()


def saves_it(stage: Stage) -> None:
    (stage.home / PLACES[0]).write_text(f"{MEMORY}I indent with tabs.\n")


def saves_it_in_the_project(stage: Stage) -> None:
    (stage.workspace / "NOTES.md").write_text("The user indents with tabs.\n")


@eval_test(
    USUALLY_PASSES,
    prompt="Remember for all my projects: I indent with tabs.",
    files={"README.md": "# A project\n"},
    home_files=dict.fromkeys(PLACES, MEMORY),
    keep_home=PLACES,
    passes_on=saves_it,
    fails_on=saves_it_in_the_project,
    tags=["memory"],
)
def saves_a_preference_of_its_user(rig: Rig, result: str) -> None:
    """It goes to the memory of the user, which keeps what it said before, and not to the project."""
    assert rig.workspace.unchanged_except()
    assert rig.home.modified, "no memory file has changed"
    for path in rig.home.modified:
        assert "tabs" in rig.home[path].text
        assert "heron" in rig.home[path].text
