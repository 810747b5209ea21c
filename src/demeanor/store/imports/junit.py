"""Imports JUnit XML. A `failure` is a fail, an `error` is void; the same name again is another trial.

Reports of Demeanor contain the numbers of passed, failed and void trials of an eval, which are imported as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from demeanor.core.values.errors import BadInput
from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.store.history.run_writer import PlannedCell, WrittenRecord
from demeanor.store.imports.common import (
    Imported,
    ImportOptions,
    cells_of,
    import_uid,
    imported_run,
    iso_time,
    read_bytes,
)

ORIGIN = "junit"
_OWN_TRIALS = re.compile(r"(\d{1,4}) passed, (\d{1,4}) failed, (\d{1,4}) void, (\d{1,4}) missing")


def matches(content: bytes) -> bool:
    """Whether a file looks like JUnit XML."""
    return re.search(rb"<testsuites?[\s>/]", content[:4096]) is not None


def read(path: Path, options: ImportOptions) -> Imported:
    """Read the run of a report."""
    content = read_bytes(path)
    root = parse(content, path)
    if root.tag not in {"testsuites", "testsuite"}:
        raise BadInput(f"expected <testsuites>, found <{root.tag}>", where=path, remedy="this is not a JUnit report")
    own = root.tag == "testsuites" and root.get("name") == "demeanor"
    starts = [when for suite in root.iter("testsuite") if (when := iso_time(suite.get("timestamp")))]
    started = min(starts, default="1970-01-01T00:00:00.000+00:00")
    records: list[WrittenRecord] = []
    skipped: list[PlannedCell] = []
    counted: dict[tuple[str, str], int] = {}
    for case in root.iter("testcase"):
        name, subject = _eval_and_subject(case, options, own=own)
        if case.find("skipped") is not None:
            skipped.append(PlannedCell(eval=name, subject=subject, skipped=_reason(case.find("skipped")) or "skipped"))
            continue
        verdicts = list(_verdicts(case, name))
        for verdict in verdicts:
            counted[name, subject] = counted.get((name, subject), 0) + 1
            record = Record(
                eval=name, subject=subject, number=counted[name, subject], attempt=1, verdict=verdict, ended=started,
                spent=Spent(seconds=_seconds(case) / len(verdicts)),
            )  # fmt: skip
            records.append(WrittenRecord(record=record))
    run = imported_run(ORIGIN, started=started, uid=import_uid(ORIGIN, content), kind=options.kind or "ci")
    return Imported(run=run, origin=ORIGIN, source=path, cells=cells_of(records, skipped), records=tuple(records))


def parse(content: bytes, path: Path) -> Element:
    """Parse XML; a document type or an entity is refused, because those are a security risk and never needed."""
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data

    def refuse(*_: object) -> None:
        raise BadInput(
            "declares a document type",
            where=path,
            key="<!DOCTYPE",
            remedy="remove the declaration; JUnit reports have none",
        )

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)
        return builder.close()
    except (expat.ExpatError, ValueError, LookupError, AssertionError) as error:
        raise BadInput(
            f"is not valid XML: {error}", where=path, remedy="if it is incomplete, download it again"
        ) from None


def _eval_and_subject(case: Element, options: ImportOptions, *, own: bool) -> tuple[str, str]:
    name, group = case.get("name") or "", case.get("classname") or ""
    if own:
        return name, group
    return f"{group}::{name}" if group else name, options.subject or ORIGIN


def _verdicts(case: Element, name: str) -> Iterator[Verdict]:
    failure, error = case.find("failure"), case.find("error")
    reason = _reason(failure if failure is not None else error)
    passed, failed, void = _own_counts(case) or (
        int(failure is None and error is None),
        int(failure is not None),
        int(failure is None and error is not None),
    )
    yield from [Pass(findings=(Finding(check=name, answer="yes"),))] * passed
    yield from [Fail(findings=(Finding(check=name, answer="no", reason=reason),))] * failed
    yield from [Void(cause=VoidCause.HARNESS, detail=reason or "error")] * void


def _own_counts(case: Element) -> tuple[int, int, int] | None:
    """Passed, failed and void in a report of Demeanor; None in other reports."""
    for property_ in case.iter("property"):
        if property_.get("name") == "trials" and (match := _OWN_TRIALS.fullmatch(property_.get("value") or "")):
            passed, failed, void, _ = map(int, match.groups())
            return passed, failed, void
    return None


def _reason(element: Element | None) -> str:
    if element is None:
        return ""
    message, body = element.get("message") or "", (element.text or "").strip()
    return "\n".join(part for part in (message, body) if part)


def _seconds(case: Element) -> float:
    try:
        return float(case.get("time") or 0)
    except ValueError:
        return 0.0
