"""Recording a run: the cassette of each trial as soon as it is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from demeanor.gateway.cassette.make import make_cassette

if TYPE_CHECKING:
    from demeanor.core.capture import Capture
    from demeanor.core.trial import Trial
    from demeanor.gateway.cassette.folder import CassetteFolder


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorder:
    """Keeps cassettes. A run that costs money never ends because one of them can't be kept: that is told instead."""

    folder: CassetteFolder
    """Where they go."""

    secrets: Sequence[str] = ()
    """What must not stand in any of them."""

    problems: list[str] = field(default_factory=list)
    """Which could not be kept, and why."""

    def __call__(self, trial: Trial, capture: Capture) -> None:
        """Record one trial, in place of an earlier recording of it. An agent that needs no model leaves no cassette."""
        if "base_url" not in capture.facts:
            return
        try:
            self.folder.write(make_cassette(trial, capture, self.secrets))
        except (OSError, ValueError) as error:
            self.problems.append(f"{trial.id} was not recorded: {error}")
