"""What the store keeps of a run: who ran what, and one record per attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from demeanor.core.evidence import Spent
from demeanor.core.policy import Policy
from demeanor.core.verdict import Verdict

RunKind: TypeAlias = Literal["local", "ci", "nightly"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunInfo:
    """Who ran what, when and with which versions."""

    id: str
    """The run's name, which is also its folder's: a timestamp."""

    started: str
    """ISO 8601, UTC."""

    uid: str = ""
    """Sixteen hex digits that no other run has, on whichever machine it began."""

    kind: RunKind = "local"
    """Why it was run."""

    seed: int = 0
    """Makes everything drawn by Demeanor repeatable."""

    demeanor: str = ""
    """The version of Demeanor."""

    commit: str | None = None
    """The commit of the repository it ran in; None outside of one."""

    branch: str | None = None
    """The branch, if any."""

    dirty: bool | None = None
    """Whether there were uncommitted changes; None outside of a repository."""

    trials: int = 3
    """Trials per cell, unless an eval says otherwise."""

    arguments: Mapping[str, object] = field(default_factory=dict)
    """What the run was asked to do, enough to do the rest of it later."""

    rejudges: str = ""
    """The run whose captures were judged again here, by its uid; empty for a run of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One attempt at one trial, judged."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    number: int
    """The trial's number within its cell."""

    attempt: int
    """1, 2, 3 …; the last one of a trial counts."""

    verdict: Verdict
    """How it was judged."""

    spent: Spent = field(default_factory=Spent)
    """What it used."""

    chain: str = ""
    """The tool-call chain, for people."""

    stdout: str = ""
    """The end of what the agent printed, a few lines; the whole of it lies in the folder."""

    stderr: str = ""
    """The end of what the agent printed as errors, a few lines; the whole of it lies in the folder."""

    notes: tuple[str, ...] = ()
    """What a person should know of it."""

    folder: str = ""
    """Where its leavings lie, relative to the run's folder."""

    steps: int = 0
    """How many events its trajectory has."""

    capture: tuple[int, int] | None = None
    """Where its capture lies in the run's file of captures: offset and length in bytes."""

    capture_hash: str = ""
    """SHA-256 of its capture, by which it can be found wherever it was published."""

    ended: str = ""
    """ISO 8601, UTC."""

    final: bool = True
    """False where another attempt follows."""

    policy: Policy = Policy.USUALLY_PASSES
    """The eval's policy at the time."""

    eval_hash: str = ""
    """Twelve hex digits that differ as soon as the eval's scenario or checks do."""

    agent_version: str | None = None
    """What the agent said of itself; None where it can't tell."""

    prompt_hash: str | None = None
    """Twelve hex digits of the system prompt and tools as first sent; None where nothing was sent."""

    fingerprint: str = ""
    """Twelve hex digits of the subject as it really was: agent and version, model, settings, prompt and tools."""

    @property
    def trial(self) -> str:
        """The trial's id."""
        return f"{self.eval}/{self.subject}/{self.number}"

    @property
    def cell(self) -> str:
        """The cell's id."""
        return f"{self.eval}/{self.subject}"
