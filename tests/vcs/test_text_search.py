"""A text is found in the files that it was made of, whatever was done to it on the way."""

from __future__ import annotations

import json
import textwrap

import pytest
from hypothesis import given, strategies as st

from demeanor.vcs.text_search import find_texts

PROMPT = """\
You are Toy, an agent that works in the user's folder.

Read a file before you change it, and keep everything in it that the user did not speak of.
Say "done" when you are done; à bientôt.
"""
OTHER = "# Notes\n\nNothing of it stands here, though some words of the file may be the user's own.\n"


def only(path: str, content: str) -> tuple[str, int, int, float]:
    """The one place that is found."""
    (place,) = find_texts({"prompt": PROMPT}, [("other.md", OTHER), (path, content)])["prompt"]
    return place.path, place.line, place.end_line, place.share


SHAPES = {
    "as it is": PROMPT,
    "wrapped": textwrap.fill(PROMPT, 30),
    "in JSON": json.dumps({"system": PROMPT}),
    "in JSON, unescaped": json.dumps({"system": PROMPT}, ensure_ascii=False),
    "strings of a program": "\n".join(f'    "{line}\\n"' for line in PROMPT.replace('"', '\\"').splitlines()),
    "a comment": "\n".join(f" * {line}" for line in PROMPT.splitlines()),
    "in capitals": PROMPT.upper(),
}


@pytest.mark.parametrize("content", SHAPES.values(), ids=SHAPES)
def test_a_text_is_found_in_whatever_shape(content: str):
    """All of its words are there."""
    path, line, end_line, share = only("prompt.txt", f"header\n\n{content}\n")
    assert (path, line, end_line, share) == ("prompt.txt", 3, 2 + len(content.rstrip("\n").splitlines()), 1.0)


def test_a_place_that_is_filled_in_breaks_no_more_than_itself():
    """The words around it are found."""
    path, _, _, share = only("prompt.tmpl", PROMPT.replace("Toy", "${name}").replace("file", "{{ thing }}", 1))
    assert path == "prompt.tmpl"
    assert 0.8 < share < 1


def test_a_prompt_of_several_files_has_several_sources():
    """What only repeats a part of it is none."""
    first, second = PROMPT.split("\n\n")
    files = [("a.md", first), ("b.md", second), ("test_b.py", f"x = '''{second[:70]}'''")]
    places = find_texts({"prompt": PROMPT}, files)["prompt"]
    assert [(place.path, place.source) for place in places] == [("b.md", True), ("test_b.py", False), ("a.md", True)]


def test_short_texts_are_found_whole_or_not_at_all():
    """A description of a tool may be of three words; two say nothing."""
    files = [("tools.json", '{"read": "Read a file", "go": "Go on"}'), ("x.md", "Read a book")]
    found = find_texts({"read": "Read a file.", "go": "Go on!", "none": ""}, files)
    assert [(place.path, place.line) for place in found["read"]] == [("tools.json", 1)]
    assert found["go"] == found["none"] == ()


def test_the_line_is_that_of_the_largest_part():
    """Another part far away in the same file does not stretch it."""
    content = "Read a file before you change it.\n" + "filler\n" * 50 + PROMPT
    path, line, end_line, _ = only("long.md", content)
    assert (path, line, end_line) == ("long.md", 52, 55)


@given(
    st.lists(st.text("abcdefgh", min_size=1, max_size=5), min_size=8, max_size=60),
    st.lists(st.sampled_from([" ", "\n", "\n\n  * ", "\\n", '" +\n"']), min_size=60, max_size=60),
)
def test_every_word_is_found_whatever_stands_between(words: list[str], between: list[str]):
    """However it is wrapped and quoted."""
    content = "".join(word + gap for word, gap in zip(words, between, strict=False))
    (place,) = find_texts({"x": " ".join(words)}, [("f", content)])["x"]
    assert place.share == 1.0
    assert 1 <= place.line <= place.end_line <= content.count("\n") + 1


def test_a_text_that_is_found_whole_is_where_it_is_and_not_where_similar_words_are():
    """Descriptions in one file often share words."""
    tools = 'path: "A file, relative to the user\'s folder."\n\nshell: "Run a command in the user\'s folder."\n'
    (place,) = find_texts({"shell": "Run a command in the user's folder."}, [("tools.yaml", tools)])["shell"]
    assert (place.line, place.end_line) == (3, 3)
