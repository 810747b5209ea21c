"""What the store keeps of a run: its metadata and one record per attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from demeanor.core.text.wording import one_line
from demeanor.core.values.evidence import Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from demeanor.core.values.capture import Capture
    from demeanor.core.values.evidence import Evidence
    from demeanor.core.values.trial import Plan

RunKind: TypeAlias = Literal["local", "ci", "nightly"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunInfo:
    """The metadata of a run: what ran, when and with which versions."""

    id: str
    """The run's name and the name of its folder: the time of its start and a random suffix."""

    started: str
    """ISO 8601, UTC."""

    uid: str = ""
    """Sixteen hex digits, unique across machines."""

    kind: RunKind = "local"
    """Where it ran: on a developer's machine, in CI or as a nightly run."""

    seed: int = 0
    """The seed of everything that Demeanor draws at random."""

    demeanor: str = ""
    """The version of Demeanor."""

    commit: str | None = None
    """The commit of the repository it ran in; None outside a repository."""

    branch: str | None = None
    """The branch, if any."""

    dirty: bool | None = None
    """Whether there were uncommitted changes; None outside a repository."""

    trials: int = 3
    """Trials per cell, unless an eval says otherwise."""

    arguments: Mapping[str, object] = field(default_factory=dict)
    """The arguments of the run, enough to resume it."""

    prices: str = ""
    """The price list and its version, if models had their prices from there: `genai-prices 0.2.1`."""

    rejudges: str = ""
    """The uid of the run whose captures were judged again here; empty for an ordinary run."""

    @property
    def is_shard(self) -> bool:
        """Whether it is a part of a run, which decides nothing alone."""
        return bool(self.arguments.get("shard"))

    @property
    def lost(self) -> tuple[str, ...]:
        """What is missing of its shards, in a sentence each. While trials are missing, it is not accepted."""
        return self._lines("lost")

    @property
    def unread(self) -> tuple[str, ...]:
        """The definitions of evals that could not be read on its machine, a line each. With any, it is not accepted."""
        return self._lines("unread")

    def _lines(self, name: str) -> tuple[str, ...]:
        lines = self.arguments.get(name)
        return tuple(one_line(str(line), width=400) for line in lines) if isinstance(lines, list | tuple) else ()


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
    """1, 2, 3 …; only the last attempt of a trial counts."""

    verdict: Verdict
    """The verdict."""

    spent: Spent = field(default_factory=Spent)
    """Tokens, cost and time used."""

    chain: str = ""
    """The tool-call chain, as text for reports."""

    stdout: str = ""
    """The last lines of the agent's stdout; the folder has all of it."""

    stderr: str = ""
    """The last lines of the agent's stderr; the folder has all of it."""

    notes: tuple[str, ...] = ()
    """Remarks for the reader of a report."""

    folder: str = ""
    """The folder with its log, trajectory and diff, relative to the run's folder."""

    steps: int = 0
    """The number of events in its trajectory."""

    capture: tuple[int, int] | None = None
    """The position of its capture in the run's capture file: offset and length in bytes."""

    capture_hash: str = ""
    """SHA-256 of its capture, which is also its key where captures are published."""

    ended: str = ""
    """ISO 8601, UTC."""

    final: bool = True
    """False if another attempt follows."""

    policy: Policy = Policy.USUALLY_PASSES
    """The eval's policy at the time."""

    eval_hash: str = ""
    """Twelve hex digits that change with the eval's scenario or checks."""

    agent_version: str | None = None
    """The version that the agent reported; None if it can't."""

    prompt_hash: str | None = None
    """Twelve hex digits of the system prompt, tools and sampling settings as first sent; None if nothing was sent."""

    fingerprint: str = ""
    """Twelve hex digits of the subject as it really ran: agent, version, settings, what answers as model, prompt."""

    model_hash: str = ""
    """What answers as model, as twelve hex digits for each model that the agent may ask; empty if it asks none."""

    settings_hash: str = ""
    """Twelve hex digits of the subject as it was configured: agent, settings, and what answers as model."""

    @property
    def trial(self) -> str:
        """The trial's id."""
        return f"{self.eval}/{self.subject}/{self.number}"

    @property
    def cell(self) -> str:
        """The cell's id."""
        return f"{self.eval}/{self.subject}"


def last_attempts(records: Iterable[Record]) -> tuple[Record, ...]:
    """The attempt of each trial that counts, ordered by trial number."""
    last: dict[int, Record] = {}
    for record in records:
        if record.number not in last or _order(record) >= _order(last[record.number]):
            last[record.number] = record
    return tuple(last[number] for number in sorted(last))


def _order(record: Record) -> tuple[bool, str, int]:
    """Final attempts come last, then by time."""
    return record.final, record.ended, record.attempt


class Store(Protocol):
    """The append-only store of one run."""

    @property
    def folder(self) -> Path:
        """The run's folder."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be written, for the reader of a report."""
        ...

    def begin(self, run: RunInfo, plan: Plan) -> None:
        """Store the run's metadata and plan, before anything runs."""
        ...

    def records(self) -> tuple[Record, ...]:
        """The stored records, in order."""
        ...

    def close(self) -> None:
        """Flush everything to disk; the run can be resumed later."""
        ...

    def append(self, record: Record, capture: Capture, evidence: Evidence) -> Record:
        """Store one judged attempt durably: a later crash can't lose it. Returns the record with its folder set."""
        ...
