"""A program to be run in a lodge, and how that went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecRequest:
    """A program to be run in a lodge."""

    argvs: tuple[tuple[str, ...], ...]
    """The program with its arguments; the first of several that is there is run."""

    env: Mapping[str, str]
    """Its whole environment, but for HOME."""

    cwd: str = "/"
    """Where it is run."""

    user: str = "root"
    """Whom it is run as: a name or a number, also `user:group`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecResult:
    """How an errand went."""

    code: int
    """The exit code; 128 and the signal where one ended it."""

    stdout: str
    """What it printed."""

    stderr: str
    """What it printed to standard error."""

    timed_out: bool = False
    """Whether it was ended because it took too long."""
