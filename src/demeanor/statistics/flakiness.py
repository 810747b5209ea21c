"""How unpredictable a behaviour is, between 0 (always the same) and 1 (a coin)."""

from __future__ import annotations

from math import log2


def flakiness(judged: int, passed: int) -> float | None:
    """The binary entropy of the pass rate, in bits; None where nothing was judged."""
    if not 0 <= passed <= judged:
        raise ValueError(f"passed={passed} of judged={judged}: there can't be more passes than trials")
    if judged == 0:
        return None
    shares = (passed / judged, (judged - passed) / judged)
    return abs(sum(share * log2(share) for share in shares if share))
