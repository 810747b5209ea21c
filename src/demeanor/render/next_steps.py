"""What a command suggests to do next: commands to paste, each with a few words."""

from __future__ import annotations

from collections.abc import Sequence


def next_steps(steps: Sequence[tuple[str, str]]) -> str:
    """The steps below a heading, with their words in one column."""
    width = max(len(command) for command, _ in steps)
    return "\n".join(["next:", *(f"  {command:<{width}}   {words}".rstrip() for command, words in steps)])
