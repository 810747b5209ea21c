"""A program to run in a persistent sandbox, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecRequest:
    """A program to run."""

    argvs: tuple[tuple[str, ...], ...]
    """The program with its arguments. Of several, the first whose program exists is run."""

    env: Mapping[str, str]
    """Its whole environment except HOME."""

    cwd: str = "/"
    """Its working directory."""

    user: str = "root"
    """The user to run it as: a name or a number, or `user:group`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecResult:
    """How a program ended."""

    code: int
    """The exit code; 128 + N when signal N ended it."""

    stdout: str
    """Its standard output."""

    stderr: str
    """Its standard error."""

    timed_out: bool = False
    """Whether it was killed because it took too long."""
