"""Flakiness: 0 if all trials agree, 1 if half of them pass."""

from __future__ import annotations

from math import fsum, log2


def flakiness(judged: int, passed: int) -> float | None:
    """The binary entropy of the pass rate, in bits; None if no trial was judged."""
    if not 0 <= passed <= judged:
        raise ValueError(f"passed={passed} of judged={judged}: passed must be between 0 and judged")
    if judged == 0:
        return None
    shares = (passed / judged, (judged - passed) / judged)
    return abs(fsum(share * log2(share) for share in shares if share))
