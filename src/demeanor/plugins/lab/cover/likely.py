"""Which evals are likely to notice that an instruction is missing? Those that speak of the same things.

This only orders the search: a wrong guess costs trials, but changes no answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from demeanor.core.values.eval import Eval
from demeanor.vcs import words_of

_SHORTEST = 4
"""Shorter words say little."""


def shared_words(evals: Mapping[str, str], instructions: Mapping[str, str]) -> dict[tuple[str, str], float]:
    """Eval and instruction → how many words they share; words that many instructions have count less."""
    words = {one: {word for word in words_of(text) if len(word) >= _SHORTEST} for one, text in instructions.items()}
    known = Counter(word for own in words.values() for word in own)
    weight = {word: math.log((1 + len(words)) / number) for word, number in known.items()}
    found = {}
    for name, text in evals.items():
        spoken = set(words_of(text))
        for one, own in words.items():
            found[name, one] = math.fsum(sorted(weight[word] for word in own & spoken))
    return found


def text_of(one: Eval) -> str:
    """What an eval speaks of: its name, its description and its prompts."""
    return "\n".join((one.name.replace("_", " "), one.description, *map(str, one.scenario.prompts)))
