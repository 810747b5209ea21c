"""How a long-running command runs its work, shows progress and handles Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from demeanor.core.values.progress import Progress
from demeanor.core.values.record import Record
from demeanor.core.values.trial import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class UI:
    """How a long-running command runs its work, shows progress and handles Ctrl-C."""

    run: Callable[[Coroutine[Any, Any, Any]], bool]
    """Runs a coroutine to its end. True if the user interrupted it, which cancels the coroutine."""

    progress: Callable[[Plan, Iterable[Record]], AbstractContextManager[Callable[[Progress], None]]]
    """Shows the progress of a plan. The records are those of an earlier part of the run, if it is resumed."""

    log: Callable[[str], None]
    """Prints one line about what happens next."""
