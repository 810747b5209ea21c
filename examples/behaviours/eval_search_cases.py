"""One behaviour, several searches: a table of cases."""

import re

from demeanor import USUALLY_PASSES, Rig, Stage, eval_test

CASES = [
    {"id": "word", "word": "TODO", "asked": "all lines with TODO"},
    {"id": "definition", "word": "def main", "asked": "the definition of main"},
]


def searches(stage: Stage, word: str) -> None:
    stage.call("grep", pattern=word, path=".", result=f"app.py: {word}")
    stage.say(f"app.py contains {word}.")


def lists_files(stage: Stage, word: str) -> None:
    stage.call("list_directory", path=".", result="app.py")
    stage.say(f"Probably app.py contains {word}.")


@eval_test(
    USUALLY_PASSES,
    prompt="Find {asked} in this project.",
    files={"app.py": "def main():\n    pass  # TODO\n"},
    cases=CASES,
    passes_on=searches,
    fails_on=lists_files,
    tags=["search"],
)
def searches_by_content(rig: Rig, result: str, word):
    """A text is looked for with a search for that text."""
    assert rig.calls.of_kind("search").where(pattern=lambda text: word.split()[-1].lower() in text.lower())
    assert re.search(r"app\.py", result)
