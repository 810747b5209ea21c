"""The report.json of Cline's smoke tests. A trial that took no time at all never ran: its provider refused the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from demeanor.core.errors import BadInput
from demeanor.core.evidence import Spent
from demeanor.core.record import Record, RunInfo
from demeanor.core.text import excerpt
from demeanor.core.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.store.history.writing import WrittenRecord
from demeanor.store.imports.imported import (
    Imported,
    ImportOptions,
    expect,
    moment,
    number,
    planned,
    read_bytes,
    read_json,
    run_name,
    text,
    uid,
)  # fmt: skip

ORIGIN = "cline"


def fits(data: Any) -> bool:
    """Whether a JSON document is such a report."""
    return isinstance(data, dict) and "trialsPerTest" in data and "results" in data and "schema" not in data


def read(path: Path, options: ImportOptions) -> Imported:
    """The run that a report is about."""
    content = read_bytes(path)
    data = read_json(path, content)
    started = moment(data.get("timestamp"))
    if started is None:
        raise BadInput("expected a time in ISO 8601", where=path, key="timestamp")
    kept = []
    for i, result in enumerate(expect(data["results"], list, path, "results")):
        at = f"results[{i}]"
        name = expect(expect(result, dict, path, at).get("scenarioId"), str, path, f"{at}.scenarioId")
        model = text(result.get("modelId") or result.get("model"))
        for j, trial in enumerate(expect(result.get("trials"), list, path, f"{at}.trials")):
            here = f"{at}.trials[{j}]"
            expect(trial, dict, path, here)
            expect(trial.get("passed"), bool, path, f"{here}.passed")
            record = Record(
                eval=name,
                subject=options.subject or f"cline:{model}",
                number=j + 1,
                attempt=1,
                verdict=_verdict(trial, name),
                spent=Spent(seconds=(number(trial.get("durationMs")) or 0.0) / 1000),
                stdout=excerpt(text(trial.get("stdout")), lines=10),
                stderr=excerpt(text(trial.get("stderr")), lines=10),
                ended=started,
            )
            kept.append(WrittenRecord(record=record))
    run = RunInfo(id=run_name(ORIGIN, started), started=started, uid=uid(ORIGIN, content), kind=options.kind or "ci")
    return Imported(run=run, origin=ORIGIN, source=path, cells=planned(kept), kept=tuple(kept))


def _verdict(trial: dict[str, Any], name: str) -> Verdict:
    if trial["passed"]:
        return Pass(findings=(Finding(check=name, answer="yes"),))
    reason = text(trial.get("error")) or "failed"
    if number(trial.get("durationMs")) == 0:
        return Void(cause=VoidCause.AUTH, detail=reason)
    return Fail(findings=(Finding(check=name, answer="no", reason=reason),))
