"""Makes cassettes: from the capture of one trial, and for every trial of a run."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from demeanor.core.text.codec import decode, encode
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.fingerprints import prior_calls, user_identity
from demeanor.gateway.cassette.cassette import Cassette
from demeanor.gateway.cassette.placeholders import Placeholders

if TYPE_CHECKING:
    from collections.abc import Iterable

    from demeanor.core.values.capture import Capture
    from demeanor.core.values.scenario import Scenario
    from demeanor.core.values.trial import Trial
    from demeanor.core.values.whole_task import WholeTask
    from demeanor.gateway.cassette.folder import CassetteFolder


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorder:
    """Writes the cassette of each judged trial. A cassette that can't be written is reported and never ends the run."""

    folder: CassetteFolder
    """Where the cassettes are stored."""

    secrets: Sequence[str] = ()
    """Texts that must not appear in any cassette."""

    written: list[str] = field(default_factory=list)
    """The trials whose cassettes were written."""

    problems: list[str] = field(default_factory=list)
    """Which cassettes could not be written, and why."""

    def __call__(self, trial: Trial, capture: Capture) -> None:
        """Record one trial, replacing an earlier cassette. An agent without a model leaves no cassette."""
        if "base_url" not in capture.facts:
            return
        try:
            self.folder.write(make_cassette(trial, capture, self.secrets))
        except (OSError, ValueError) as error:
            self.problems.append(f"{trial.id} was not recorded: {error}")
        else:
            self.written.append(trial.id)


def make_cassette(trial: Trial, capture: Capture, secrets: Iterable[str] = ()) -> Cassette:
    """The cassette of a trial: its exchanges without machine paths, times, costs and secrets."""
    placeholders = Placeholders(capture.facts, secrets, scenario_text(trial.eval.scenario))
    return Cassette(
        eval=trial.eval.name,
        subject=str(trial.subject),
        number=trial.number,
        scenario=scenario_fingerprint(trial.eval.scenario, trial.eval.task),
        recorded=datetime.now(UTC).date().isoformat(),
        exchanges=tuple(recorded(exchange, placeholders) for exchange in _exchanges(capture)),
    )


def scenario_text(scenario: Scenario) -> bytes:
    """All text of a scenario. A string in it that looks like a key is test data, not a secret."""
    entries = scan(scenario.template).entries.values() if scenario.template and scenario.template.is_dir() else ()
    files = [*scenario.files.values(), *(entry.read() or b"" for entry in entries)]
    said = user_identity(scenario) if scenario.user else ""
    said += "".join(steer.say for steer in scenario.steer) + prior_calls(scenario)
    return b"\n".join([*(text.encode("utf-8", "replace") for text in (*scenario.prompts, said)), *files])


def scenario_fingerprint(scenario: Scenario, task: WholeTask | None = None) -> str:
    """Sixteen hex digits that change if anything that the agent is given changes, or any file of a whole task."""
    files = _hashes(scenario.files)
    entries = scan(scenario.template).visible() if scenario.template and scenario.template.is_dir() else {}
    template = {
        path: [entry.kind, entry.sha256, entry.executable, entry.target]
        for path, entry in entries.items()
        if entry.kind != "folder"  # git does not keep empty folders
    }
    content = {
        "prompts": scenario.prompts,
        "files": files,
        "template": template,
        "setup": _source(scenario.setup),
        "params": dict(scenario.params),
        "approval": encode(scenario.approval),
        "messages": encode(scenario.messages),
        **({"mcp": encode(scenario.mcp)} if scenario.mcp else {}),
        **({"start": scenario.start.digest} if scenario.start else {}),
        **({"user": user_identity(scenario)} if scenario.user else {}),
        **({"steer": encode(scenario.steer)} if scenario.steer else {}),
        **({"home_files": _hashes(scenario.home_files)} if scenario.home_files else {}),
        **({"task": task.content} if task else {}),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}


def _source(setup: object) -> str:
    try:
        return inspect.getsource(setup) if setup else ""  # type: ignore[arg-type]
    except (OSError, TypeError):
        return "?"


def _exchanges(capture: Capture) -> tuple[Exchange, ...]:
    """Those of the agent, then those of the user and the judges."""
    others = [exchange for turn in capture.user for exchange in turn.exchanges]
    others += [exchange for answer in capture.judge_answers for exchange in answer.exchanges]
    numbered = enumerate(others, len(capture.exchanges) + 1)
    return (*capture.exchanges, *(replace(exchange, number=number) for number, exchange in numbered))


def recorded(exchange: Exchange, placeholders: Placeholders) -> Exchange:
    """An exchange as it is stored in cassettes: without machine paths, times and costs."""
    bare = replace(exchange, started=0.0, first_byte=None, ended=0.0, cost_usd=None, replayed=False)
    data = encode(bare)
    request = placeholders.hide_request(data.pop("request"))
    return decode(Exchange, {**placeholders.hide(data), "request": request})
