"""What all attempts at tasks of a run share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demeanor.core.values.agent import Agent
from demeanor.core.values.ports import Gateway, Sandbox, Template
from demeanor.core.values.subject import Subject
from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
from demeanor.plugins.harbor.rules import HarborRules


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskContext:
    """Harbor, its sandbox, and its settings."""

    program: tuple[str, ...]
    """The command that starts Harbor."""

    version: str
    """Its version; empty if unknown."""

    rules: HarborRules
    """Its settings in the configuration."""

    environment: EnvironmentChoice
    """The environment that tasks run in."""

    agent: Callable[[Subject], Agent]
    """The agent of a subject, to read its log."""

    sandbox: Sandbox
    """The sandbox in which Harbor itself runs; it is not isolated, since Harbor creates the isolation."""

    empty: Template
    """An empty workspace to run it in."""

    gateway: Gateway
    """The gateway to the models."""

    seed: int
    """The run's seed."""

    packages: Path
    """A folder that contains only our package, for Harbor to import from."""

    installed: Callable[[Subject], Mapping[str, str]] = lambda subject: {}
    """Options of the bubblewrap environment that make a subject's installed agent visible in it."""

    environ: Mapping[str, str] = field(default_factory=dict)
    """This machine's environment variables; few of them are passed on."""
