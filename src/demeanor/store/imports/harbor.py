"""Harbor's job folders: `<job>/<trial>/result.json`, and the ATIF trajectory of the agent beside it.

The job's own statistics count a trial without a reward as 0, so they are not read: core/harbor_result.py tells what
counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from demeanor.core.evidence import Spent
from demeanor.core.record import Record, RunInfo
from demeanor.core.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.harbor_format.result import read_outcome, read_spent
from demeanor.store.history.writing import WrittenRecord
from demeanor.store.imports.atif import chain_of, turns_of
from demeanor.store.imports.imported import (
    Imported,
    ImportOptions,
    expect,
    moment,
    planned,
    read_bytes,
    read_json,
    run_name,
    seconds_between,
    text,
    uid,
)  # fmt: skip

ORIGIN = "harbor"


def fits(data: Any) -> bool:
    """Whether a JSON document is a trial's result."""
    return isinstance(data, dict) and "trial_name" in data and "task_name" in data


def read(results: list[Path], source: Path, options: ImportOptions) -> Imported:
    """The run that a job's folder holds; `results` are its trials' files."""
    found = []
    for path in sorted(results):
        data = expect(read_json(path), dict, path, "")
        found.append((moment(data.get("started_at")) or "", text(data.get("trial_name")), path, data))
    found.sort(key=lambda one: one[:3])
    counted: dict[tuple[str, str], int] = {}
    kept = []
    for _, _, path, data in found:
        record = _record(data, path, options)
        cell = (record.eval, record.subject)
        counted[cell] = counted.get(cell, 0) + 1  # attempts carry no number of their own
        kept.append(WrittenRecord(record=replace(record, number=counted[cell])))
    started = min((when for when, *_ in found if when), default="1970-01-01T00:00:00.000+00:00")
    run = RunInfo(id=run_name(ORIGIN, started), started=started, uid=_uid(source, results), kind=options.kind or "ci")
    return Imported(run=run, origin=ORIGIN, source=source, cells=planned(kept), kept=tuple(kept))


def _uid(source: Path, results: list[Path]) -> str:
    """By the job's own id, so that a job that was resumed is the same one; by content where it has none."""
    job = source / "result.json"
    if job.is_file() and job not in results:
        data = read_json(job)
        if isinstance(data, dict) and isinstance(data.get("id"), str):
            return uid(ORIGIN, data["id"])
    return uid(ORIGIN, *sorted(read_bytes(path) for path in results))


def _record(data: Mapping[str, Any], path: Path, options: ImportOptions) -> Record:
    info = _table(data, "agent_info", path)
    doing = _table(data, "agent_execution", path)
    agent, version = text(info.get("name")) or "agent", info.get("version")
    model = _model(info)
    trajectory = path.parent / "agent" / "trajectory.json"
    steps = read_json(trajectory) if trajectory.is_file() else {}
    subject = options.subject or (f"{agent}:{model}" if model else agent)
    settings = _table(_table(data, "config", path), "agent", path).get("kwargs")
    return Record(
        eval=expect(data.get("task_name"), str, path, "task_name"),
        subject=subject,
        number=1,
        attempt=1,
        verdict=_verdict(data),
        spent=replace(
            read_spent(data) or Spent(),
            seconds=seconds_between(doing.get("started_at"), doing.get("finished_at")),
            turns=turns_of(steps),
        ),
        chain=chain_of(steps),
        folder=path.parent.name,
        ended=moment(data.get("finished_at")) or "",
        eval_hash=text(data.get("task_checksum"))[:12],
        agent_version=version if isinstance(version, str) else None,
        fingerprint=sha256(repr([agent, version, model, text(settings)]).encode("utf-8", "replace")).hexdigest()[:12],
    )


def _model(info: Mapping[str, Any]) -> str:
    found = info.get("model_info")
    if not isinstance(found, dict):
        return text(found)
    name, provider = text(found.get("name")), text(found.get("provider"))
    return f"{provider}/{name}" if provider and name and not name.startswith(f"{provider}/") else name


def _verdict(data: Mapping[str, Any]) -> Verdict:
    outcome = read_outcome(data)
    if outcome.failure is not None or outcome.rewards is None:
        cause, detail = outcome.failure or (VoidCause.VERIFIER, "the verifier gave no reward")
        return Void(cause=cause, detail=detail)
    rewards = outcome.rewards
    asked = {"reward": rewards["reward"]} if "reward" in rewards else rewards
    told = f"; {outcome.agent_error}" if outcome.agent_error else ""
    findings = tuple(
        Finding(
            check=key,
            answer="yes" if value >= 1.0 else "no",
            reason="" if value >= 1.0 else f"{key} is {value:g}{told}",
        )
        for key, value in asked.items()
    )
    return Pass(findings=findings) if all(one.answer == "yes" for one in findings) else Fail(findings=findings)


def _table(data: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    found = data.get(key)
    table: Mapping[str, Any] = {} if found is None else expect(found, dict, path, key)
    return table
