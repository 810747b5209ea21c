"""Histories for tests: cells of nights, by hand or drawn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy

SUBJECTS = ("a:m", "b:m", "c:m")


def night(number: int, passed: int = 3, failed: int = 0, **more: Any) -> RunCell:
    """A nightly cell of `e` with `a:m`."""
    given = {
        "run": f"n{number:03}",
        "started": f"2026-01-01T00:00:00Z+{number:03}",
        "kind": "nightly",
        "eval": "e",
        "subject": "a:m",
        "policy": Policy.USUALLY_PASSES,
        "eval_hash": "h1",
        "fingerprint": "f1",
    }
    return RunCell(**{**given, "passed": passed, "failed": failed, **more})


def nights(scores: Sequence[int], first: int = 0, **more: Any) -> list[RunCell]:
    """One night per score, of three trials each."""
    return [night(first + index, score, 3 - score, **more) for index, score in enumerate(scores)]


def drawn(rng: random.Random, *, length: int, subjects: Sequence[str] = SUBJECTS) -> Iterator[RunCell]:
    """A random history: mostly perfect, with fails, voids, gaps, skips, edits, other policies and kinds of runs."""
    eval_hash, policy = "h1", Policy.USUALLY_PASSES
    trouble = rng.choice([0.0, 0.01, 0.05])
    for number in range(length):
        if rng.random() < trouble:
            eval_hash = rng.choice(["h1", "h2", ""])
        if rng.random() < trouble / 3:
            policy = rng.choice(list(Policy))
        kind = "nightly" if rng.random() > trouble else rng.choice(["local", "ci"])
        for subject in subjects:
            if rng.random() < trouble / 2:
                continue
            passed, failed, voided, skipped = 3, 0, 0, False
            if rng.random() < trouble / 2:
                passed, failed, voided, skipped = rng.choice(
                    [(2, 1, 0, False), (0, 3, 0, False), (0, 0, 3, False), (2, 0, 1, False), (0, 0, 0, True)]
                )
            yield night(
                number,
                passed,
                failed,
                voided=voided,
                skipped=skipped,
                subject=subject,
                eval_hash=eval_hash,
                policy=policy,
                kind=kind,
                fingerprint=rng.choice(["f1", "f1", "f1", "f2"]),
            )
