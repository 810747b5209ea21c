"""Imports job folders of Harbor: `<job>/<trial>/result.json`, with the agent's ATIF trajectory beside it.

The statistics of the job are not read, because they count a trial without a reward as 0; see format/trial_result.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from demeanor.core.text.wording import excerpt
from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.observe import atif_steps
from demeanor.plugins.harbor.format.trial_result import read_outcome, read_spent
from demeanor.store.history import WrittenRecord
from demeanor.store.imports import (
    OUTPUT_LINES,
    Imported,
    ImportOptions,
    as_text,
    cells_of,
    expect,
    import_uid,
    imported_run,
    iso_time,
    read_bytes,
    read_json,
    seconds_between,
)

FORMAT = "a Harbor job folder"
ORIGIN = "harbor"
_MAX_LOG_BYTES = 2**16


def matches(path: Path) -> bool:
    """Whether a folder is that of a job, or a file the result of one trial."""
    return bool(_results(path))


def _results(path: Path) -> list[Path]:
    """The results of the trials in a job folder, or the file itself if it is one."""
    paths = sorted(path.glob("*/result.json")) if path.is_dir() else [path]
    return [file for file in paths if _is_result(read_json(file))]


def _is_result(data: Any) -> bool:
    return isinstance(data, dict) and "trial_name" in data and "task_name" in data


def read(path: Path, options: ImportOptions) -> Imported:
    """Read the run in a job folder, or of one trial."""
    source, results = path, _results(path)
    trials = []
    for result in results:
        data = expect(read_json(result), dict, result, "")
        trials.append((iso_time(data.get("started_at")) or "", as_text(data.get("trial_name")), result, data))
    trials.sort(key=lambda trial: trial[:3])
    counted: dict[tuple[str, str], int] = {}
    records = []
    for _, _, result, data in trials:
        record = _record(data, result, options)
        cell = (record.eval, record.subject)
        counted[cell] = counted.get(cell, 0) + 1  # trials of a job are not numbered
        records.append(WrittenRecord(record=replace(record, number=counted[cell])))
    started = min((when for when, *_ in trials if when), default="1970-01-01T00:00:00.000+00:00")
    run = imported_run(ORIGIN, started=started, uid=_uid(source, results), kind=options.kind or "ci")
    return Imported(run=run, origin=ORIGIN, source=source, cells=cells_of(records, layer=3), records=tuple(records))


def _uid(source: Path, results: list[Path]) -> str:
    """The hash of the job's id, so that a resumed job is the same run; without an id, of its content."""
    job = source / "result.json"
    if job.is_file() and job not in results:
        data = read_json(job)
        if isinstance(data, dict) and isinstance(data.get("id"), str):
            return import_uid(ORIGIN, data["id"])
    return import_uid(ORIGIN, *sorted(read_bytes(path) for path in results))


def _record(data: Mapping[str, Any], path: Path, options: ImportOptions) -> Record:
    info = _table(data, "agent_info", path)
    execution = _table(data, "agent_execution", path)
    agent, version = as_text(info.get("name")) or "agent", info.get("version")
    model = _model(info)
    trajectory_file = path.parent / "agent" / "trajectory.json"
    trajectory = read_json(trajectory_file) if trajectory_file.is_file() else {}
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
            seconds=seconds_between(execution.get("started_at"), execution.get("finished_at")),
            turns=_turns(trajectory),
        ),
        chain=_call_chain(trajectory),
        stdout=excerpt(_agent_log(path.parent / "agent"), lines=OUTPUT_LINES),
        folder=path.parent.name,
        ended=iso_time(data.get("finished_at")) or "",
        eval_hash=as_text(data.get("task_checksum"))[:12],
        agent_version=version if isinstance(version, str) else None,
        fingerprint=sha256(repr([agent, version, model, as_text(settings)]).encode("utf-8", "replace")).hexdigest()[
            :12
        ],
    )


def _agent_log(folder: Path) -> str:
    """The end of what the agent printed: Harbor's adapters write it to text files of any name."""
    parts = []
    for path in sorted(folder.glob("*.txt")) if folder.is_dir() else ():
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - _MAX_LOG_BYTES))
                parts.append(file.read(_MAX_LOG_BYTES).decode("utf-8", "replace"))
    return "\n".join(parts)


def _turns(trajectory: Any) -> int:
    """The number of model answers in an ATIF trajectory."""
    return sum(1 for step in atif_steps(trajectory) if step.get("source") == "agent")


def _call_chain(trajectory: Any) -> str:
    """The names of the called tools in an ATIF trajectory."""
    steps = atif_steps(trajectory)
    calls = [call for step in steps for call in step.get("tool_calls") or () if isinstance(call, dict)]
    return " → ".join(str(call.get("function_name", "?")) for call in calls)


def _model(info: Mapping[str, Any]) -> str:
    model = info.get("model_info")
    if not isinstance(model, dict):
        return as_text(model)
    name, provider = as_text(model.get("name")), as_text(model.get("provider"))
    return f"{provider}/{name}" if provider and name and not name.startswith(f"{provider}/") else name


def _verdict(data: Mapping[str, Any]) -> Verdict:
    outcome = read_outcome(data)
    if outcome.failure is not None or outcome.rewards is None:
        cause, reason = outcome.failure or (VoidCause.VERIFIER, "the verifier gave no reward")
        return Void(cause=cause, detail=reason)
    rewards = outcome.rewards
    checks = {"reward": rewards["reward"]} if "reward" in rewards else rewards
    detail = f"; {outcome.agent_error}" if outcome.agent_error else ""
    findings = tuple(
        Finding(
            check=key,
            answer="yes" if value >= 1.0 else "no",
            reason="" if value >= 1.0 else f"{key} is {value:g}{detail}",
        )
        for key, value in checks.items()
    )
    return Pass(findings=findings) if all(finding.answer == "yes" for finding in findings) else Fail(findings=findings)


def _table(data: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    value = data.get(key)
    table: Mapping[str, Any] = {} if value is None else expect(value, dict, path, key)
    return table
