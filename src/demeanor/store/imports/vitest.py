"""Imports JSON reports of Vitest, as the nightly workflow of Gemini CLI uploads them: one per model and attempt.

    <night>/eval-logs-<model>-<attempt>/…/report.json        all reports in a folder are one run
    <night>/eval-logs-<model>-<attempt>/…/api-reliability.jsonl

Some details differ from the reports. A skipped test is skipped, not failed. A test that was given up after errors 500
or 503, according to the reliability log, is void; the report has it as passed. Each attempt is one trial of its model,
not a separate test. A test file that could not be loaded has no tests in the report, and one whose `beforeAll` failed
has only skipped ones; see importer.py. A test that is expected to fail (`it.fails`) and passes is reported as failed:
it is a pass of a USUALLY_FAILS eval, which is news.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from demeanor.core.values.evidence import Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.store.history.run_writer import PlannedCell, WrittenRecord
from demeanor.store.imports.common import (
    Imported,
    ImportOptions,
    UnloadedFile,
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

ORIGIN = "vitest"
_ARTEFACT = re.compile(r"eval-logs-(.+)-(\d+)")
_OLD_ARTEFACT = re.compile(r"eval-logs-(\d+)")
_OLD_MODEL = "gemini-2.5-pro"
_SKIPPED = ("skipped", "pending", "todo", "disabled")
_EXPECTED_TO_FAIL = re.compile(r"(?:\w*Error: )?Expect test to fail(?:\n|$)")
"""The message of Vitest (1.6, 3.2 and 4.1) for a test with `it.fails` that passed. Since 3, a stack follows, which does
not contain the test's own file; that of an error with the same text, thrown by the test, does."""

_NO_SET_UP = "Vitest reports the file as failed, but none of its tests, so a hook such as beforeAll failed"
_PASSED_UNEXPECTEDLY = "expected to fail (it.fails), but passed"


def matches(data: Any) -> bool:
    """Whether a JSON document is a report of Vitest."""
    return isinstance(data, dict) and "testResults" in data and "numTotalTests" in data


def read(paths: Sequence[Path], source: Path, options: ImportOptions) -> Imported:
    """Read one run from all its reports."""
    contents = [read_bytes(path) for path in sorted(paths)]
    records: list[WrittenRecord] = []
    skipped: list[PlannedCell] = []
    starts = []
    nightly = False
    news: dict[tuple[str, str], None] = {}
    unloaded: list[UnloadedFile] = []
    tests_of: dict[str, dict[str, None]] = {}
    reports: dict[str, int] = {}
    for path, content in zip(sorted(paths), contents, strict=True):
        data = read_json(path, content)
        subject, trial = _subject(path, options)
        nightly = nightly or trial is not None
        reports[subject] = reports.get(subject, 0) + 1
        starts.append(iso_time(data.get("startTime")))
        given_up = _given_up(path.with_name("api-reliability.jsonl"))
        own = trial if trial is not None else reports[subject]
        left_out: dict[str, list[str]] = {}
        for file, reason in _unloaded(data, path):
            unloaded.append(UnloadedFile(subject=subject, number=own, path=file, reason=reason))
        for name, verdict, spent, ended, file in _tests(data, path, given_up):
            if verdict is None:
                skipped.append(PlannedCell(eval=name, subject=subject, skipped="skipped by vitest"))
                left_out.setdefault(file, []).append(name)
                continue
            tests_of.setdefault(file, {})[name] = None
            if isinstance(verdict, Pass) and verdict.findings[0].reason == _PASSED_UNEXPECTEDLY:
                news[name, subject] = None
            record = Record(
                eval=name, subject=subject, number=own, attempt=1, verdict=verdict, spent=spent, ended=ended or ""
            )
            records.append(WrittenRecord(record=record))
        unloaded += [
            UnloadedFile(subject=subject, number=own, path=file, reason=_NO_SET_UP, skipped=tuple(left_out[file]))
            for file in _without_set_up(data)
            if file in left_out
        ]
    started = min((when for when in starts if when), default="1970-01-01T00:00:00.000+00:00")
    kind = options.kind or ("nightly" if nightly else "ci")
    run = imported_run(ORIGIN, started=started, uid=import_uid(ORIGIN, *sorted(contents)), kind=kind)
    return Imported(
        run=run,
        origin=ORIGIN,
        source=source,
        cells=tuple(
            replace(cell, policy=Policy.USUALLY_FAILS) if (cell.eval, cell.subject) in news else cell
            for cell in cells_of(records, skipped)
        ),
        records=tuple(records),
        notes=tuple(f"news: {name} ({subject}) is expected to fail, but passed" for name, subject in news),
        unloaded=tuple(replace(file, tests=tuple(tests_of.get(file.path, ()))) for file in unloaded),
    )


def _subject(path: Path, options: ImportOptions) -> tuple[str, int | None]:
    """The subject of a report and the number of the trial, from the name of its folder."""
    for part in reversed(path.absolute().parts[:-1]):
        if match := _ARTEFACT.fullmatch(part):
            return options.subject or f"gemini-cli:{match[1]}", int(match[2])
        if match := _OLD_ARTEFACT.fullmatch(part):
            return options.subject or f"gemini-cli:{_OLD_MODEL}", int(match[1])
    return options.subject or ORIGIN, None


def _unloaded(data: Any, path: Path) -> Iterator[tuple[str, str]]:
    """The files that could not be loaded, and why: they failed and have no tests."""
    for i, file in enumerate(expect(data["testResults"], list, path, "testResults")):
        expect(file, dict, path, f"testResults[{i}]")
        if file.get("status") == "failed" and not file.get("assertionResults"):
            yield as_text(file.get("name")) or f"testResults[{i}]", as_text(file.get("message")) or "no message"


def _without_set_up(data: Any) -> Iterator[str]:
    """The files that failed although none of their tests did: a hook, such as `beforeAll`, failed."""
    for file in data["testResults"]:
        statuses = {test.get("status") for test in file.get("assertionResults") or ()}
        if file.get("status") == "failed" and statuses and "failed" not in statuses:
            yield as_text(file.get("name"))


def _tests(
    data: Any, path: Path, given_up: dict[str, str]
) -> Iterator[tuple[str, Verdict | None, Spent, str | None, str]]:
    """The name and verdict of each test, and its file; the verdict is None if it was skipped."""
    seen: Counter[str] = Counter()
    for i, file in enumerate(expect(data["testResults"], list, path, "testResults")):
        at = f"testResults[{i}]"
        tests = expect(expect(file, dict, path, at).get("assertionResults"), list, path, f"{at}.assertionResults")
        for j, test in enumerate(tests):
            here = f"{at}.assertionResults[{j}]"
            title = expect(expect(test, dict, path, here).get("title"), str, path, f"{here}.title")
            ancestors = [as_text(ancestor) for ancestor in test.get("ancestorTitles") or ()] if seen[title] else []
            name = " > ".join([*ancestors, title])
            seen[title] += 1
            if seen[name] > (name == title):
                name = f"{name} ({seen[title]})"
            seen[name] += name != title
            status = expect(test.get("status"), str, path, f"{here}.status")
            spent = Spent(seconds=(as_number(test.get("duration")) or 0.0) / 1000)
            place = as_text(file.get("name"))
            yield name, _verdict(title, status, test, given_up, place), spent, iso_time(file.get("endTime")), place


def _verdict(name: str, status: str, test: dict[str, Any], given_up: dict[str, str], file: str) -> Verdict | None:
    if status in _SKIPPED:
        return None
    if name in given_up:
        return Void(cause=VoidCause.PROVIDER, detail=given_up[name])
    if status == "passed":
        return Pass(findings=(Finding(check=name, answer="yes"),))
    messages = test.get("failureMessages")
    reason = "\n".join(as_text(message) for message in messages) if isinstance(messages, list) else status
    if _EXPECTED_TO_FAIL.match(reason) and not (file and file in reason):
        return Pass(findings=(Finding(check=name, answer="yes", reason=_PASSED_UNEXPECTEDLY),))
    return Fail(findings=(Finding(check=name, answer="no", reason=reason),))


def _given_up(path: Path) -> dict[str, str]:
    """Tests that were given up because the provider failed: name → error."""
    errors = {}
    if path.is_file():
        for line in read_bytes(path).splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue  # an incomplete line of a job that was killed
            if isinstance(event, dict) and event.get("status") == "SKIP":
                errors[as_text(event.get("testName"))] = (
                    f"{as_text(event.get('errorCode'))}: {as_text(event.get('error'))}"
                )
    return errors
