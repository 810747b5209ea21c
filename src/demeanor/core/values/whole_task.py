"""A whole coding task, as far as the base knows it: which engine runs it, and what identifies it.

The source that reads the format of a task has a subclass with everything that its engine needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

VERIFIER_OUTPUT = "verifier/test-stdout.txt"
"""How the path of the verifier's output ends in `Capture.task_files`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeTask:
    """A whole coding task: instruction, environment and verifier, which an engine runs (runner/engines.py)."""

    engine: str
    """The name of the entry point `demeanor.engines` that runs it."""

    folder: Path
    """The task's folder, absolute."""

    name: str
    """Its name in the engine's results."""

    content: str
    """A hash that changes with the task, except for what only labels it."""

    digest: str = ""
    """What identifies its files outside of Demeanor; empty if nothing does."""

    version: str | None = None
    """Its version, if it gives one."""

    warnings: tuple[str, ...] = ()
    """Valid but probably unintended settings, each with a remedy."""

    @property
    def step_names(self) -> tuple[str, ...]:
        """The names of its steps; none for a task that is one piece."""
        return ()
