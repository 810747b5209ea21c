"""What attempts at tasks are made with; the same for all of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demeanor.config.harbor import HarborRules
from demeanor.core.agent import Agent
from demeanor.core.ports import Gateway, Sandbox, Template
from demeanor.core.subject import Subject
from demeanor.harbor.environments import TaskPlace


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskContext:
    """Harbor, where it runs, and what it is given."""

    program: tuple[str, ...]
    """The words that start Harbor."""

    version: str
    """Its version, as far as known."""

    rules: HarborRules
    """What the configuration says of it."""

    place: TaskPlace
    """The environment that tasks run in."""

    agent: Callable[[Subject], Agent]
    """The agent of a subject, to read its log."""

    sandbox: Sandbox
    """Where Harbor itself runs: without walls, since it makes them."""

    empty: Template
    """An empty folder to run it in."""

    gateway: Gateway
    """What stands between agents and models."""

    seed: int
    """The run's seed."""

    packages: Path
    """A folder that holds our own package and nothing else, for Harbor to import from."""

    installed: Callable[[Subject], Mapping[str, str]] = lambda subject: {}
    """What our own environment must know to show the installation of a subject's agent."""

    environ: Mapping[str, str] = field(default_factory=dict)
    """This machine's variables; few of them are passed on."""
