from __future__ import annotations

from typing import Literal
from xml.etree.ElementTree import Element, fromstring

from demeanor.core.values.evidence import Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision, Tally
from demeanor.render.junit import JUnitCase, write_junit


def case(answer: Literal["accept", "reject", "undecided", "skipped"], *, output: str = "") -> JUnitCase:
    decision = Decision(answer=answer, rule="two_thirds", reason=f"it is {answer}")
    tally = Tally(eval=f"e-{answer}", subject="a:m", policy=Policy.USUALLY_PASSES, spent=Spent(seconds=1.5))
    return JUnitCase(tally=tally, decision=decision, status="", layer="", failures="why", output=output)


def written(*cases: JUnitCase) -> Element:
    text = write_junit([("a:m", cases)], started="2026-11-16T01:00:00Z", seconds=7)
    return fromstring(text)  # noqa: S314 - our own output


def test_only_a_rejected_eval_is_a_failure() -> None:
    """An undecided one is an error, a skipped one skipped, and totals are in the root and in the suite."""
    root = written(case("accept"), case("reject"), case("undecided"), case("skipped"))
    for element in (root, root[0]):
        assert [element.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]
    assert [[child.tag for child in one][1:] for one in root[0]] == [[], ["failure"], ["error"], ["skipped"]]
    failure = root[0][1].find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.get("type"), failure.text) == ("it is reject", "two_thirds", "why")


def test_an_accepted_eval_can_have_output() -> None:
    """Its failed trials stay visible."""
    assert written(case("accept", output="one trial failed"))[0][0].findtext("system-out") == "one trial failed"


def test_control_characters_are_removed() -> None:
    """XML does not allow them."""
    root = written(case("accept", output="\x1b[31mred\x00"))
    assert root[0][0].findtext("system-out") == "red\\x00"
