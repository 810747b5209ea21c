from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tools.schemas import report_schemas
from tools.schemas.reports import document_schema

from demeanor.cli.docs_location import schemas
from demeanor.commands.compare.plan import comparison_plan
from demeanor.commands.fix.report import FIX_DOCUMENT
from demeanor.commands.rejudge.report import REJUDGE_DOCUMENT
from demeanor.commands.trace.notes_report import NOTES_DOCUMENT, NotesReport
from demeanor.core.values.notes import TrialNote
from demeanor.plugins.lab.bisect.report import BISECT_DOCUMENT
from demeanor.plugins.lab.fork.report import FORK_DOCUMENT
from demeanor.render.documents import ReportDocument, compact_object, item_pieces, json_data
from demeanor.reports.calibration.report import CALIBRATION_DOCUMENT, CalibrationReport, ErrorRateEstimate, LabelSplit
from demeanor.reports.comparison.report import COMPARE_DOCUMENT, PLAN_DOCUMENT
from demeanor.reports.eval_history.report import HISTORY_DOCUMENT, eval_history
from demeanor.reports.failures.report import TRIAGE_DOCUMENT, Triage
from demeanor.reports.gate.report import GATE_DOCUMENT
from demeanor.reports.metrics.report import ANALYSIS_DOCUMENT, AnalysisSource, analysis
from demeanor.reports.night.report import NIGHTS_DOCUMENT
from demeanor.reports.prompt_coverage.report import COVER_DOCUMENT
from demeanor.results.calibrations import CorrectedRate
from tests.commands.fix.test_render import a_fix
from tests.commands.rejudge.test_report import again, judged
from tests.helpers.decision_reports import a_comparison, a_gate
from tests.helpers.night_reports import a_week, changed, nights
from tests.helpers.runs import records
from tests.plugins.lab.bisect.test_render import a_bisection
from tests.plugins.lab.fork.test_render import a_fork
from tests.reports.failures.test_render import groups
from tests.reports.prompt_coverage.test_render import a_cover

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CELLS = changed(nights({"saves": "ppp " * 9 + "fff fff"}), "11-12", eval_hash="e2")
NOTE = TrialNote(
    made="2026-11-16T01:00:00.000+00:00", run="r", eval="saves", subject="a:m", number=1, label="flaky", text="again"
)
DOCUMENTS: dict[str, tuple[ReportDocument[Any], Any]] = {
    "nights": (NIGHTS_DOCUMENT, a_week()),
    "eval-history": (HISTORY_DOCUMENT, eval_history("saves", CELLS, kind="nightly")),
    "metrics": (ANALYSIS_DOCUMENT, analysis([AnalysisSource(name="a", records=tuple(records("ppfv")))], ks=(1, 3))),
    "gate": (GATE_DOCUMENT, a_gate()[0]),
    "compare": (COMPARE_DOCUMENT, a_comparison()),
    "comparison-plan": (PLAN_DOCUMENT, comparison_plan(0.95, 0.5)),
    "bisect": (BISECT_DOCUMENT, a_bisection()),
    "cover": (COVER_DOCUMENT, a_cover()),
    "fix": (FIX_DOCUMENT, a_fix()),
    "fork": (FORK_DOCUMENT, a_fork()),
    "rejudge": (REJUDGE_DOCUMENT, judged([*again("pfv", "pp-")])),
    "calibration": (
        CALIBRATION_DOCUMENT,
        CalibrationReport(
            eval="asks_first",
            judge="0123456789ab",
            model="critic",
            held_out=LabelSplit(passed_good=9, failed_good=1, passed_bad=2, failed_bad=8),
            tuning=LabelSplit(passed_good=0, failed_good=0, passed_bad=0, failed_bad=0),
            sensitivity=ErrorRateEstimate(value=0.9, low=0.6, high=0.98, trials=10),
            specificity=None,
            kappa=None,
            base_rate=0.5,
            consistency=None,
            answer="calibrated",
            reason="enough labels",
            rates=(CorrectedRate(subject="a:m", passed=3, judged=4, rate=0.8, low=0.2, high=1.0),),
        ),
    ),
    "notes": (NOTES_DOCUMENT, NotesReport(notes=(NOTE,))),
    "failures": (TRIAGE_DOCUMENT, Triage(run="r", trials=4, failed=2, voided=1, groups=groups())),
}


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Painted:
    """A painted thing."""

    colour: Colour
    cost: float | None = None
    sizes: tuple[int, ...] = ()


PAINTED = ReportDocument("painted", Painted, version=2)


@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_each_report_matches_its_schema(name: str) -> None:
    """The schema is valid, and docs/ has the same one (`make docs` writes it)."""
    document, value = DOCUMENTS[name]
    text, schema = document.write(value), document_schema(document)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))
    assert text.isascii()
    assert (DOCS / f"{name}.schema.json").read_text("utf-8") == json.dumps(schema, indent=2) + "\n"


def test_every_report_with_a_name_has_a_schema() -> None:
    """A document names its schema, so `demeanor help schema` must have it."""
    names = {name for name, _ in report_schemas()}
    assert len(names) > 10
    assert names - set(schemas()) == set()
    for name in ("promote", "demote"):
        data = json.loads((ROOT / f"tests/golden/files/decisions/{name}.json").read_text("utf-8"))
        jsonschema.Draft202012Validator(json.loads(schemas()["promotion"].read_text("utf-8"))).validate(data)


def test_a_document_names_its_schema_and_version() -> None:
    """A reader can tell whether it knows the format."""
    assert json.loads(PAINTED.write(Painted(Colour.RED)))["schema"] == "demeanor-painted/2"
    assert document_schema(PAINTED)["title"] == "demeanor-painted/2"


@pytest.mark.parametrize("wrong", [{"colour": "green"}, {"cost": "much"}, {"sizes": [1.5]}, {"extra": 1}])
def test_a_schema_refuses_wrong_values(wrong: dict[str, Any]) -> None:
    """A schema that accepts everything is useless."""
    found = json.loads(PAINTED.write(Painted(Colour.RED, sizes=(1, 2))))
    jsonschema.Draft202012Validator(document_schema(PAINTED)).validate(found)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(document_schema(PAINTED)).validate({**found, **wrong})


def test_a_compact_document_is_one_line_with_the_same_data() -> None:
    """Large reports are written this way."""
    value = Painted(Colour.RED, sizes=(1, 2))
    text = PAINTED.write(value, compact=True)
    assert text.count("\n") == 1
    assert json.loads(text) == json.loads(PAINTED.write(value))


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_does_not_have_become_null(number: float) -> None:
    """An agent's log may contain an infinite cost."""
    assert json_data(Painted(Colour.RED, cost=number)) == {"colour": "red", "cost": None, "sizes": []}


def test_one_item_per_line_is_the_same_data() -> None:
    """And each item of a list is on its own line."""
    data = {"a": [{"b": 1}, {"c": "ü"}], "d": {}, "e": []}
    text = "".join(item_pieces(data))
    assert json.loads(text) == data
    assert '    {"b":1},\n' in text


@pytest.mark.parametrize("records", [[], [None], [{"n": 1}, None, "ü"]], ids=["none", "one", "several"])
def test_an_object_in_pieces_is_the_same_text(records: list[Any]) -> None:
    """A list may be given item by item; the text does not tell."""
    cell = {"status": "PASS", "records": records, "more": [1, 2]}
    pieces = compact_object({**cell, "records": iter(records)})
    in_pieces = item_pieces({"cells": [pieces, {}, compact_object({})]})
    assert "".join(in_pieces) == "".join(item_pieces({"cells": [cell, {}, {}]}))


def test_missing_values_are_null() -> None:
    """A program must not read them as zero."""
    found: dict[str, Any] = json.loads(NIGHTS_DOCUMENT.write(a_week()))
    rows = {row["eval"]: row for row in found["subjects"][0]["rows"]}
    assert [cell["rate"] for cell in rows["opens_a_pull_request"]["cells"]] == [None] * 8
    assert rows["keeps_quiet"]["change"] is None
    assert (rows["was_removed"]["tally"], rows["was_removed"]["decision"]["answer"]) == (None, "undecided")
    tests = rows["runs_the_tests_after_a_change_of_the_public_interface"]["cells"]
    assert [cell["state"] for cell in tests[2:4]] == ["no data", "absent"]
