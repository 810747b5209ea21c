from __future__ import annotations

from dataclasses import replace
from xml.etree.ElementTree import XML, Element

import pytest

from demeanor.reports.night.junit import night_junit
from demeanor.reports.night.report import FailingCell, FailureMode
from tests.helpers.night_reports import SUBJECT, a_week, nights, report_of
from tests.helpers.run_reports import HOSTILE


def cases(text: str) -> dict[str, Element]:
    return {case.get("name", ""): case for case in XML(text).iter("testcase")}


def test_a_case_fails_only_if_the_decision_is_reject() -> None:
    """A void is an error, as is an eval that no run of the night tried; skipped is skipped."""
    root = XML(night_junit(a_week()))
    first = root.find("testsuite")
    assert first is not None
    assert {name: first.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "9", "failures": "2", "errors": "2", "skipped": "1",
    }  # fmt: skip
    found = cases(night_junit(report_of(nights({"a": "ppp ppf", "b": "ppp fff", "c": "ppp -", "d": "ppp vvv"}))))
    assert list(found) == ["a", "b", "d", "c"]
    assert [case.find("failure") is not None for case in found.values()] == [False, True, False, False]
    assert [name for name in found if found[name].find("error") is not None] == ["d", "c"]


def test_reasons_and_nights_are_included() -> None:
    """The reason as text, the nights as properties."""
    case = cases(night_junit(a_week()))["asks_before_deleting"]
    assert "deleted before it asked" in str(case.findtext("failure"))
    properties = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert properties["pass rate"] == "33 % [6–79]"
    assert properties["night 2026-11-09T01-00-03"] == "100 % [44–100]"


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_hostile_text_stays_text(kind: str) -> None:
    """The XML stays valid."""
    bad = HOSTILE[kind]
    trouble = FailingCell(eval="a", subject=SUBJECT, ways=(FailureMode(reason=bad, trials=(1,), chain=bad),))
    XML(night_junit(replace(report_of(nights({"a": "ppp fff", bad[:300]: "fff fff"})), failures=(trouble,))))
