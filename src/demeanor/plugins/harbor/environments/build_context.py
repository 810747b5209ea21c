"""Finds the files that the steps of a Dockerfile copy."""

from __future__ import annotations

from pathlib import Path

from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.dockerfile.image import Copy


def copied_files(step: Copy, context: Path) -> list[Path]:
    """The files and folders that a step copies; raises BadInput if there are none for a pattern."""
    return [source for pattern in step.sources for source in _matches(pattern, context, step)]


def _matches(pattern: str, context: Path, step: Copy) -> list[Path]:
    """The files that a pattern matches; raises BadInput when there are none, or when one is outside of the context."""
    plain = context / pattern.lstrip("/")
    if plain.exists():
        found = [plain]
    else:
        found = sorted(context.glob(pattern.lstrip("/"))) if any(sign in pattern for sign in "*?[") else []
    problem = "" if found else f"there is no {pattern!r} in {context}"
    if any(not source.resolve().is_relative_to(context.resolve()) for source in found):
        problem = f"{pattern!r} leads out of {context}"
    if problem:
        raise BadInput(problem, where=f"Dockerfile:{step.line}", key=step.name)
    return found
