"""What a Dockerfile comes to: steps to be taken, and what holds for every program run later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class Make:
    """A folder to be there."""

    line: int
    """The line it comes from."""

    path: str
    """Where."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """Files to be copied."""

    line: int
    """The line it comes from."""

    name: str
    """COPY or ADD."""

    sources: tuple[str, ...]
    """What, below the context; patterns."""

    target: str
    """Where to: a whole path."""

    into: bool
    """Whether the target is a folder, whatever is there."""

    owner: str
    """Whom it will belong to."""

    mode: int | None = None
    """Its permissions; None to keep them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A program to be run."""

    line: int
    """The line it comes from."""

    argv: tuple[str, ...]
    """The program with its arguments."""

    env: Mapping[str, str]
    """Its environment."""

    cwd: str
    """Where."""

    user: str
    """As whom."""


Step: TypeAlias = Make | Copy | Run


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSpec:
    """What a Dockerfile comes to."""

    base: str
    """The image it starts from."""

    steps: tuple[Step, ...] = ()
    """What is done to it."""

    env: Mapping[str, str] = field(default_factory=dict)
    """The environment of every program run later."""

    workdir: str = "/"
    """Where they are run."""

    user: str = "root"
    """As whom."""

    entrypoint: tuple[str, ...] = ()
    """What is started with it, and is given what shall go on running."""
