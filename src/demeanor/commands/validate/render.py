"""The result of `demeanor validate` as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from demeanor.commands.validate.report import ValidationReport, fault_count
from demeanor.core.text.codec import encode
from demeanor.core.text.wording import count, printable
from demeanor.results import manual_promotion

_TOO_EARLY = "is new, and a new eval starts as USUALLY_PASSES; `demeanor promote` promotes it once it is stable"
_STATES = {
    "refreshed": "was recorded anew, since it was stale",
    "stale": "is stale",
    "unreadable": "can't be read",
    "unknown": "could not be checked",
}
_BY_HAND = "ALWAYS_PASSES without a recorded promotion; `demeanor promote` shows whether it qualifies"


def validation_json(report: ValidationReport) -> str:
    """Return the result as JSON."""
    cassettes = [
        {"file": str(cassette.file), "fault": cassette.fault, "detail": cassette.detail}
        for cassette in report.cassettes
    ]
    value = {
        "ok": not report.faulty and not report.lacking,
        "faulty": list(report.faulty),
        "unreadable": list(report.lacking),
        "base": report.base,
        "problem": report.problem,
        "promoted_by_hand": sorted(report.promoted_by_hand),
        "tasks_not_run": report.tasks_not_run,
        "warnings": {name: list(warnings) for name, warnings in report.warnings.items()},
        "too_early": sorted(report.too_early),
        "evals": encode(report.tests),
        "cassettes": cassettes,
        "prefixes": [
            {"eval": prefix.eval, "file": prefix.file, "state": prefix.state, "detail": prefix.detail}
            for prefix in report.prefixes
        ],
    }
    return json.dumps(value, indent=2)


def validation_text(report: ValidationReport) -> str:
    """Return the result as text: each eval with its complaints, the warnings, and a summary."""
    return "\n".join((*_tests(report), *_warnings(report), *_prefixes(report), *_summary(report)))


def _tests(report: ValidationReport) -> Iterator[str]:
    width = max((len(test.eval) for test in report.tests), default=0)
    only_read = set(report.tasks) if report.tasks_not_run else set()
    for test in report.tests:
        faulty = test.eval in report.too_early or fault_count(test, strict=report.strict)
        mark = "read" if test.eval in only_read else "ok"
        if faulty:
            mark = "FAULT"
        rehearsed = count(test.rehearsed, "rehearsal") if mark != "read" else "not run"
        yield f"{mark:<5}  {test.eval:<{width}}  {rehearsed}"
        for complaint in test.complaints:
            first, *rest = complaint.detail.splitlines() or [""]
            yield f"       {complaint.fault}: {first}"
            yield from (f"         {line}" for line in rest)
        if test.eval in report.too_early:
            yield f"       ALWAYS_PASSES: {_TOO_EARLY}"


def _warnings(report: ValidationReport) -> Iterator[str]:
    yield from (f"FAULT: {problem}" for problem in report.lacking)
    for name in sorted(report.promoted_by_hand):
        why = report.reasons_by_hand.get(name)
        text = manual_promotion(name, why) if why else _BY_HAND
        yield f"{'FAULT' if name in report.faulty_by_hand else 'warning'}: {name}: {text}"
    for name, warnings in report.warnings.items():
        yield from (f"warning: {name}: {warning}" for warning in warnings)
    for cassette in report.cassettes:
        yield f"warning: {cassette.file}: {cassette.fault}: {cassette.detail}"


def _prefixes(report: ValidationReport) -> Iterator[str]:
    for row in report.prefixes:
        if row.state == "fresh":
            continue
        mark = "note" if row.state == "refreshed" else "warning"
        if row.faulty:
            mark = "FAULT"
        first, *rest = (printable(line) for line in row.detail.splitlines() or [""])
        yield f"{mark}: {row.eval}: prefix {row.file}: {_STATES[row.state]}: {first.removeprefix(f'{row.file}: ')}"
        yield from (f"  {line.strip()}" for line in rest)
        if row.state == "stale":
            yield "  → record it anew: demeanor validate --refresh"


def _summary(report: ValidationReport) -> Iterator[str]:
    rehearsed = count(sum(test.rehearsed for test in report.tests), "rehearsal")
    lacking = f", {count(len(report.lacking), 'definition')} not read" if report.lacking else ""
    yield f"\n{count(len(report.tests), 'eval')}, {rehearsed}, {len(report.faulty)} faulty{lacking}"
    if report.problem:
        yield f"note: not checked whether evals became ALWAYS_PASSES by hand: {report.problem}"
