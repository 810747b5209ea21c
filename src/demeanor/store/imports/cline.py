"""Imports report.json of Cline's smoke tests. A trial with a duration of 0 never ran: the provider refused the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from demeanor.core.text.wording import excerpt
from demeanor.core.values.errors import BadInput
from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.store.history.run_writer import WrittenRecord
from demeanor.store.imports.common import (
    OUTPUT_LINES,
    Imported,
    ImportOptions,
    as_number,
    as_text,
    cells_of,
    expect,
    import_uid,
    imported_run,
    iso_time,
    read_bytes,
    read_json,
)  # fmt: skip

ORIGIN = "cline"


def matches(data: Any) -> bool:
    """Whether a JSON document is a report of Cline."""
    return isinstance(data, dict) and "trialsPerTest" in data and "results" in data and "schema" not in data


def read(path: Path, options: ImportOptions) -> Imported:
    """Read the run of a report."""
    content = read_bytes(path)
    data = read_json(path, content)
    started = iso_time(data.get("timestamp"))
    if started is None:
        raise BadInput("expected a time in ISO 8601", where=path, key="timestamp")
    records = []
    for i, result in enumerate(expect(data["results"], list, path, "results")):
        at = f"results[{i}]"
        name = expect(expect(result, dict, path, at).get("scenarioId"), str, path, f"{at}.scenarioId")
        model = as_text(result.get("modelId") or result.get("model"))
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
                spent=Spent(seconds=(as_number(trial.get("durationMs")) or 0.0) / 1000),
                stdout=excerpt(as_text(trial.get("stdout")), lines=OUTPUT_LINES),
                stderr=excerpt(as_text(trial.get("stderr")), lines=OUTPUT_LINES),
                ended=started,
            )
            records.append(WrittenRecord(record=record))
    run = imported_run(ORIGIN, started=started, uid=import_uid(ORIGIN, content), kind=options.kind or "ci")
    return Imported(run=run, origin=ORIGIN, source=path, cells=cells_of(records), records=tuple(records))


def _verdict(trial: dict[str, Any], name: str) -> Verdict:
    if trial["passed"]:
        return Pass(findings=(Finding(check=name, answer="yes"),))
    reason = as_text(trial.get("error")) or "failed"
    if as_number(trial.get("durationMs")) == 0:
        return Void(cause=VoidCause.AUTH, detail=reason)
    return Fail(findings=(Finding(check=name, answer="no", reason=reason),))
