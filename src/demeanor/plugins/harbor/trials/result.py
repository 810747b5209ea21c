"""Reads the folder of one Harbor trial: rewards, errors, and the agent's own logs.

The job's statistics are not used, because they count missing rewards as 0. The files may be written by an agent: links
are not followed, and of large files only the beginning and the end are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import fsum
from pathlib import Path
from typing import Any

from demeanor.core.text.bounded_output import bounded
from demeanor.core.text.json_values import as_dict
from demeanor.core.text.wording import printable, shortened
from demeanor.core.trees.nofollow import find_beneath, read_beneath
from demeanor.core.values.process import Output
from demeanor.core.values.trajectory import Event, Kind
from demeanor.core.values.whole_task import VERIFIER_OUTPUT
from demeanor.observe import atif_events
from demeanor.plugins.harbor.format.trial_result import HarborOutcome, read_outcome
from demeanor.plugins.harbor.trials.job import JOB

TRAJECTORY = "trajectory.json"

_MAX_RESULT = 16 * 2**20
_MAX_READ = 32 * 2**20
_MAX_OUTPUT = 4 * 2**20
_MAX_SCANNED = 4 * 2**20
_MAX_KEPT = 256 * 2**10
_MAX_FILES = 200
_MAX_DEPTH = 6
_MAX_LINE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialFolder:
    """The folder of a job's only trial."""

    folder: Path
    """Its path."""

    data: Mapping[str, Any]
    """Its `result.json`."""

    @property
    def outcome(self) -> HarborOutcome:
        """The rewards, and the errors."""
        return read_outcome(self.data)

    @property
    def timed_out(self) -> bool:
        """Whether the agent timed out."""
        error = self.outcome.agent_error
        return error is not None and error.kind.startswith("AgentTimeout")

    @property
    def steps(self) -> tuple[str, ...]:
        """The folders of its steps; a single empty name without steps."""
        steps = self.data.get("step_results")
        names = [step.get("step_name") for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
        return tuple(f"steps/{name}/" for name in names if isinstance(name, str) and "/" not in name) or ("",)

    @property
    def version(self) -> str | None:
        """The agent's version, as it reports it."""
        version = as_dict(self.data.get("agent_info")).get("version")
        return version if isinstance(version, str) and version and version != "unknown" else None

    @property
    def agent_seconds(self) -> float:
        """How long the agent worked, all steps together."""
        return fsum(max(end - start, 0.0) for start, end in self._agent_times())

    @property
    def agent_ended(self) -> float | None:
        """When the agent last ended, in seconds since 1970."""
        return max((end for _, end in self._agent_times()), default=None)

    def _agent_times(self) -> list[tuple[float, float]]:
        steps = self.data.get("step_results")
        tables = [self.data, *(step for step in (steps if isinstance(steps, list) else ()) if isinstance(step, dict))]
        times = [as_dict(table.get("agent_execution")) for table in tables]
        spans = [(_moment(time.get("started_at")), _moment(time.get("finished_at"))) for time in times]
        return [(start, end) for start, end in spans if start is not None and end is not None]

    def read(self, path: str) -> bytes | None:
        """The beginning of one of its files; None if it does not exist."""
        return read_beneath(self.folder, path, at_most=_MAX_READ)

    def outputs(self, name: str) -> tuple[Output, ...]:
        """The agent's output of each step, from the file of that name."""
        texts = [self.read(f"{step}agent/{name}") for step in self.steps] if name else []
        return tuple(bounded(content, _MAX_OUTPUT) for content in texts if content is not None)

    def verifier_last_line(self) -> str:
        """The last line that the verifier printed, in the last step in which it did; empty if it printed nothing."""
        for step in reversed(self.steps):
            text = printable((self.read(f"{step}{VERIFIER_OUTPUT}") or b"").decode("utf-8", "replace"))
            if lines := [line.strip() for line in text.splitlines() if line.strip()]:
                return shortened(lines[-1], _MAX_LINE)
        return ""

    def events(self, kinds: Mapping[str, Kind]) -> tuple[Event, ...]:
        """The events of the trajectory that Harbor made of the agent's log."""
        events: list[Event] = []
        for step in self.steps:
            content = self.read(f"{step}agent/{TRAJECTORY}")
            events += atif_events(_json(content), kinds) if content is not None else ()
        return tuple(events)

    def files(self) -> dict[str, Output]:
        """The files of the agent and of the verifier by path, each truncated."""
        files: dict[str, Output] = {}
        for part in ("agent", "verifier"):
            for depth in range(1, _MAX_DEPTH):
                files |= self._files(f"{part}{'/*' * depth}", limit=_MAX_FILES - len(files))
                files |= self._files(f"steps/*/{part}{'/*' * depth}", limit=_MAX_FILES - len(files))
        for name in ("exception.txt", "trial.log"):
            content = self.read(name)
            files |= {name: bounded(content, _MAX_KEPT)} if content else {}
        return files

    def _files(self, pattern: str, *, limit: int) -> dict[str, Output]:
        files = {}
        for path in find_beneath(self.folder, pattern, at_most=limit):
            content = read_beneath(self.folder, path, at_most=_MAX_SCANNED) if path.isprintable() else None
            if content:
                files[path] = bounded(content, _MAX_KEPT)
        return files


@dataclass(frozen=True, kw_only=True, slots=True)
class NoTrial:
    """There is no result to read."""

    why: str
    """The reason."""


def read_trial(jobs: Path) -> TrialFolder | NoTrial:
    """Read the only trial of the job in a folder of jobs."""
    paths = find_beneath(jobs, f"{JOB}/*/result.json", at_most=10)
    results = [(path, content) for path in paths if (content := read_beneath(jobs, path, at_most=_MAX_RESULT + 1))]
    if len(results) != 1:
        return NoTrial(why=f"it left {'no result' if not results else 'several results'}")
    path, content = results[0]
    data = _json(content) if len(content) <= _MAX_RESULT else None
    if not isinstance(data, dict):
        return NoTrial(why="its result can't be read")
    return TrialFolder(folder=jobs / path.removesuffix("/result.json"), data=data)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _moment(value: Any) -> float | None:
    try:
        when = datetime.fromisoformat(value)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
