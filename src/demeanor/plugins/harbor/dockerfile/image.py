"""The image that a Dockerfile describes: the steps to build it, and the settings of programs run in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class MakeFolder:
    """Create a folder."""

    line: int
    """The line it comes from."""

    path: str
    """Its path."""

    user: str = "root"
    """Whose it is, with the folders above it that did not exist."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """Copy files."""

    line: int
    """The line it comes from."""

    name: str
    """COPY or ADD."""

    sources: tuple[str, ...]
    """Patterns of paths in the build context."""

    target: str
    """The absolute target path."""

    into: bool
    """Whether the target is a folder even if it does not exist."""

    owner: str
    """The owner of the files."""

    mode: int | None = None
    """The permissions of the files; None to keep them."""

    documents: Mapping[str, str] = field(default_factory=dict)
    """Files that are written in the Dockerfile itself, as here-documents: their content, by name."""

    @property
    def unpacks(self) -> bool:
        """Whether archives are unpacked."""
        return self.name == "ADD"


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Run a program."""

    line: int
    """The line it comes from."""

    argv: tuple[str, ...]
    """The program with its arguments."""

    env: Mapping[str, str]
    """Its environment."""

    cwd: str
    """Its working directory."""

    user: str
    """Its user."""


Step: TypeAlias = MakeFolder | Copy | Run


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSpec:
    """The image that a Dockerfile describes."""

    base: str
    """The base image."""

    base_line: int = 0
    """The line that names it; 0 without a Dockerfile."""

    steps: tuple[Step, ...] = ()
    """The steps to build it."""

    env: Mapping[str, str] = field(default_factory=dict)
    """The environment of programs run in it."""

    workdir: str = "/"
    """Their working directory."""

    user: str = "root"
    """Their user."""

    user_line: int = 0
    """The line that sets the user; 0 if it is that of the base image."""

    entrypoint: tuple[str, ...] = ()
    """The program that is started with the container; the command to run is appended to it."""
