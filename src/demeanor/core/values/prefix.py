"""A prefix: the recorded beginning of a trial, from which other trials start.

The recorded answers before the cut are given to the real agent, which executes its tools in a fresh workspace. From the
cut on a model is asked. The agent must send the recorded requests, the one at the cut included: otherwise the trial
starts from another situation than the recorded one, and is void.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from demeanor.core.values.exchange import Exchange, Response
from demeanor.core.values.intervention import Intervention


@dataclass(frozen=True, kw_only=True, slots=True)
class Prefix:
    """The beginning of a trial; one that an eval names has only `name` and `file` until the run is planned."""

    name: str = ""
    """The name under which it was saved; empty for a fork of a stored trial."""

    file: str = ""
    """Its file; empty for a fork of a stored trial."""

    agent: str = ""
    """The agent that was recorded; another one would send other requests."""

    model: str = ""
    """The model that was recorded. The agent is started with its name, whichever model answers from the cut on."""

    step: int = 0
    """The step that a model is asked for: 1, 2, 3 … counts the answers of the main conversation."""

    cut: int = 0
    """The number of the exchange of that step; the answers of all exchanges before it are replayed."""

    exchanges: tuple[Exchange, ...] = ()
    """All recorded exchanges, with placeholders instead of paths. Those from the cut on tell whether a request that
    arrives early belongs to the recording."""

    intervention: Intervention = field(default_factory=Intervention)
    """The instructions that were changed when it was recorded."""

    instead: Response | None = None
    """The answer at the cut, if it is given instead of asking a model."""

    scenario: str = ""
    """The fingerprint of the scenario that it was recorded with."""

    digest: str = ""
    """The hash of everything above that decides how trials start."""

    ends: bool = False
    """Whether the agent is refused at the cut, where a model would be asked: to check a prefix without a model."""

    lenient: bool = False
    """Whether requests that differ get the recorded answers in their order: to record a prefix anew."""


REACHED = "the agent has reached the end of the prefix"
"""The message with which an agent is refused at the cut of a prefix that `ends` there."""

_FOLDER = "prefixes"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


def prefix(name: str) -> Prefix:
    """The prefix that `demeanor fork TRIAL --at K --save NAME` saved beside the eval: `start=prefix("NAME")`."""
    return Prefix(name=name)


def prefix_name_problem(name: str) -> str | None:
    """Why a name can't be that of a prefix, or None if it can."""
    if name == "config":
        return "config.json is the file of another format of evals"
    return (
        None
        if _NAME.fullmatch(name)
        else "a name has letters, digits, dots, - and _, and starts with a letter or digit"
    )


def prefix_file(source: Path, name: str) -> Path:
    """The uncompressed file of a prefix, beside the eval at `source`: a Python file, or a scenario folder."""
    return (source if source.is_dir() else source.parent) / _FOLDER / f"{name}.json"
