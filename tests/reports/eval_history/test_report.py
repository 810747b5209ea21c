from __future__ import annotations

from demeanor.render.terminal import Screen
from demeanor.reports.eval_history.render import history_terminal
from demeanor.reports.eval_history.report import EvalHistory, eval_history
from tests.helpers.night_reports import changed, nights


def course(words: str, **more: str) -> EvalHistory:
    cells = nights({"saves": words}, first=1, model_hash="m1")
    return eval_history("saves", changed(cells, "11-11", **more) if more else cells, kind="nightly")


def test_a_drop_is_shown_with_the_rate_of_false_alarms() -> None:
    """When, from what to what, and what else changed then."""
    text = history_terminal(course("ppp " * 10 + "fff " * 4, agent_version="2.0", fingerprint="f2"), Screen(width=100))
    shown = " ".join(text.split())
    assert "▼ fell 2026-11-11 01:00 UTC" in shown
    assert "100 % (30 of 30) → 0 % (0 of 12)" in shown
    assert "then: agent 1.4.0 → 2.0" in shown
    assert "at most one false alarm of this eval in 400 nights" in shown
    assert "██████████◆▁▁▁▁" in text


def test_a_steady_eval_has_no_change_point() -> None:
    """The report shows the rate of false alarms."""
    text = history_terminal(course("ppp " * 12))
    assert "no change of the rate" in text
    assert "at most one false alarm of this eval in 400 nights" in text.replace("\n  ", " ")


def test_each_segment_has_its_own_rate() -> None:
    """Segments are never combined."""
    (subject,) = course("fff " * 10 + "ppp " * 3, model_hash="m2").subjects
    assert [(one.passed, one.judged, one.mark) for one in subject.stretches] == [(0, 30, None), (9, 9, "model")]
    assert (subject.present.passed, subject.present.judged) == (9, 9)


def test_the_present_rate_is_that_since_the_last_change() -> None:
    """A change of the agent begins no segment, but what it brought about is not averaged away."""
    found = course("fff " * 10 + "ppp " * 5, fingerprint="f2")
    (subject,) = found.subjects
    assert [(one.passed, one.judged, one.mixed) for one in subject.stretches] == [(15, 45, True)]
    assert (subject.present.passed, subject.present.judged) == (15, 15)
    assert "now, from 2026-11-11" in history_terminal(found)


def test_many_nights_are_wrapped() -> None:
    """Each line starts with the date of its first night."""
    lines = history_terminal(course("ppp " * 28), Screen(width=40)).splitlines()
    assert max(map(len, lines)) <= 40
    assert [line.split()[0] for line in lines if "█" in line] == ["2026-11-01", "2026-11-27"]
