from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from demeanor.commands.analyze.report import AnalysisSource, analysis
from demeanor.commands.analyze.to_json import analysis_json, analysis_schema
from demeanor.commands.bisect.to_json import bisect_json, bisect_schema
from demeanor.commands.compare.to_json import compare_json, compare_schema
from demeanor.commands.fix.to_json import fix_json, fix_schema
from demeanor.commands.gate.to_json import gate_json, gate_schema
from demeanor.commands.history.report import eval_course
from demeanor.commands.history.to_json import course_json, course_schema
from demeanor.commands.rejudge.to_json import rejudge_json, rejudge_schema
from demeanor.commands.report.change_points import course_of
from demeanor.commands.report.to_json import night_json, night_schema
from demeanor.commands.triage.report import Triage
from demeanor.commands.triage.to_json import triage_json, triage_schema
from tests.commands.bisect.test_terminal import a_bisection
from tests.commands.decisions_lab import a_comparison, a_gate
from tests.commands.fix.test_render import a_fix
from tests.commands.nights_lab import a_week, changed, nights
from tests.commands.rejudge.test_report import again, judged
from tests.commands.triage.test_render import groups
from tests.store.past import records

DOCS = Path(__file__).parents[3] / "docs"
CELLS = changed(nights({"saves": "ppp " * 9 + "fff fff"}), "11-12", eval_hash="e2")
COURSE = eval_course("saves", CELLS, kind="nightly", course_of=course_of)
ANALYSIS = analysis([AnalysisSource(name="a", records=tuple(records("ppfv")))], ks=(1, 3))
DOCUMENTS = {
    "nights": (night_json(a_week()), night_schema()),
    "history": (course_json(COURSE), course_schema()),
    "analysis": (analysis_json(ANALYSIS), analysis_schema()),
    "gate": (gate_json(a_gate()[0]), gate_schema()),
    "compare": (compare_json(a_comparison()), compare_schema()),
    "bisect": (bisect_json(a_bisection()), bisect_schema()),
    "fix": (fix_json(a_fix()), fix_schema()),
    "rejudge": (rejudge_json(judged([*again("pfv", "pp-")])), rejudge_schema()),
    "triage": (triage_json(Triage(run="r", trials=4, failed=2, voided=1, groups=groups())), triage_schema()),
}


@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_documents_keep_to_their_schemas(name: str, golden: Callable[[Path, str], None]) -> None:
    """Which are right schemas themselves, and the ones in the docs."""
    text, schema = DOCUMENTS[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))
    assert text.isascii()
    golden(DOCS / f"{name}.schema.json", json.dumps(schema, indent=2) + "\n")


def test_what_is_missing_is_null() -> None:
    """A program must not take it for a zero."""
    found: dict[str, Any] = json.loads(night_json(a_week()))
    rows = {row["eval"]: row for row in found["subjects"][0]["rows"]}
    assert [cell["rate"] for cell in rows["opens_a_pull_request"]["cells"]] == [None] * 8
    assert rows["keeps_quiet"]["change"] is None
    assert rows["was_removed"]["decision"] is None
    tests = rows["runs_the_tests_after_a_change_of_the_public_interface"]["cells"]
    assert [cell["state"] for cell in tests[2:4]] == ["no data", "absent"]
