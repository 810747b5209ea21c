"""Which evals speak of the same things as an instruction."""

from __future__ import annotations

from demeanor.plugins.lab.cover.workflow import shared_words


def test_an_eval_is_related_to_the_instructions_whose_rare_words_it_uses() -> None:
    """A word that all instructions have says nothing about one of them."""
    told = {"a": "Always delete files with the tool.", "b": "Always read files first.", "c": "Always answer questions."}
    found = shared_words({"deletes": "Delete old.log, a file.", "answers": "Always say what the port is."}, told)
    assert found["deletes", "a"] > found["deletes", "b"] == found["deletes", "c"] == 0
    assert found["answers", "a"] == found["answers", "b"] == found["answers", "c"]
