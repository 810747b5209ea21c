"""How soon a streak comes: the chance that so many rounds in a row hold, within so many rounds."""

from __future__ import annotations


def chance_of_streak(chance: float, *, length: int, rounds: int, earliest: int = 0) -> float:
    """The chance that some streak of `length` rounds, each of which holds with `chance`, is complete within `rounds`.

    With `earliest`, nobody looks before that round: a streak counts if it stands then or later.
    """
    if not 0 <= chance <= 1 or length < 1 or rounds < 0:
        raise ValueError(f"chance={chance}, length={length}, rounds={rounds}: a chance, and a streak of at least one")
    # at[k]: no streak was complete when somebody looked, and the last k rounds held (length means at least so many).
    at, done = [1.0] + [0.0] * length, 0.0
    for number in range(1, rounds + 1):
        fresh = [0.0] * (length + 1)
        fresh[0] = sum(at) * (1 - chance)
        for run, here in enumerate(at):
            fresh[min(run + 1, length)] += here * chance
        at = fresh
        if number >= earliest:
            done += at[length]
            at[length] = 0.0
    return done
