"""What a long piece of work needs of the door that it was asked for at."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from demeanor.core.progress import Progress
from demeanor.core.trial import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class UI:
    """How work that takes its time is steered and shown."""

    perform: Callable[[Coroutine[Any, Any, None]], None]
    """Carries something out to its end; raises KeyboardInterrupt where a person stopped it."""

    watching: Callable[[Plan], AbstractContextManager[Callable[[Progress], None]]]
    """Shows how a plan is carried out."""

    tell: Callable[[str], None]
    """Says what is going to be done."""
