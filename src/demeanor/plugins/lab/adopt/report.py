"""The result of `demeanor adopt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.plugins.lab.adopt.rules import Fact
from demeanor.plugins.lab.adopt.situation import Situation

if TYPE_CHECKING:
    from demeanor.commands.validate.report import ValidationReport


@dataclass(frozen=True, kw_only=True, slots=True)
class Adopted:
    """An eval that was made from a session."""

    name: str
    """The eval's name."""

    source: str
    """What it was made from, in a phrase."""

    situation: Situation
    """The situation."""

    facts: tuple[Fact, ...]
    """What the agent did, each with a check."""

    chosen: tuple[int, ...]
    """The numbers of the facts whose checks are active."""

    files: dict[Path, str | bytes]
    """The files of the eval, the eval file first."""

    gaps: tuple[str, ...]
    """What is not known, as the file lists it."""

    secrets: int
    """How many secrets were replaced."""

    @property
    def path(self) -> Path:
        """The eval file."""
        return next(iter(self.files))

    @property
    def text(self) -> str:
        """Its text."""
        return str(self.files[self.path])


@dataclass(frozen=True, kw_only=True, slots=True)
class AdoptReport:
    """The eval, and whether it is valid."""

    adopted: Adopted
    """The eval."""

    validation: ValidationReport | None
    """The result of validating it; None if nothing was written."""
