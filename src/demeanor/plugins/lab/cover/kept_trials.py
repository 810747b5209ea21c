"""Trials of earlier `cover` runs that can be used again.

They count if the eval, the version of the agent, its settings and its prompt before the removal are the same as now.
The settings of a trial include the instructions that were removed, so each trial is found by the hash of its settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Void
from demeanor.statistics import Tries
from demeanor.store.runs import RunFolder, list_runs


def earlier_records(folder: Path) -> tuple[tuple[Record, ...], ...]:
    """The judged trials of each earlier run in the folder."""
    groups = []
    for path in list_runs(folder):
        records = RunFolder(path).records()
        groups.append(tuple(record for record in records if record.final and not isinstance(record.verdict, Void)))
    return tuple(groups)


def kept_trials(earlier: Sequence[Sequence[Record]], base: Record) -> dict[str, Tries]:
    """Hash of the settings → the trials that count. `base` is a trial of now, with the prompt as it is."""
    trials: dict[str, Tries] = {}
    for records in earlier:
        same = [record for record in records if (record.eval, record.subject) == (base.eval, base.subject)]
        prompts = {record.prompt_hash for record in same if record.settings_hash == base.settings_hash}
        if prompts != {base.prompt_hash}:
            continue  # the prompt has changed since, or was never tried as it is
        for record in same:
            if (record.eval_hash, record.agent_version) == (base.eval_hash, base.agent_version):
                passed = record.verdict.outcome == "pass"
                trials[record.settings_hash] = trials.get(record.settings_hash, Tries()) + Tries(passed, not passed)
    return trials
