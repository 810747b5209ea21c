from __future__ import annotations

from demeanor.commands.history.render import history_terminal
from demeanor.commands.history.report import EvalHistory, eval_history
from demeanor.render.terminal import Screen
from tests.commands.nights_lab import changed, nights


def course(words: str, **more: str) -> EvalHistory:
    cells = nights({"saves": words}, first=1)
    return eval_history("saves", changed(cells, "11-11", **more) if more else cells, kind="nightly")


def test_a_fall_is_found_and_its_false_alarms_are_stated() -> None:
    """When it fell, from what to what, what else changed then, and how often there is such an alarm for nothing."""
    text = history_terminal(course("ppp " * 10 + "fff " * 4, agent_version="2.0", fingerprint="f2"), Screen(width=100))
    told = " ".join(text.split())
    assert "▼ fell 2026-11-11 01:00 UTC" in told
    assert "100 % (30 of 30) → 0 % (0 of 12)" in told
    assert "then: agent 1.4.0 → 2.0" in told
    assert "one false drop and one false rise in about 400 nights" in told
    assert "██████████◆▁▁▁▁" in text


def test_a_steady_eval_has_no_change_point() -> None:
    """And says how often it would see one that is none."""
    text = history_terminal(course("ppp " * 12))
    assert "no change of the rate" in text
    assert "one false drop and one false rise in about 400 nights" in text.replace("\n  ", " ")


def test_stretches_of_different_things_have_rates_of_their_own() -> None:
    """They are never one."""
    (subject,) = course("fff " * 10 + "ppp " * 3, fingerprint="f2").subjects
    assert [(one.passed, one.judged, one.mark) for one in subject.stretches] == [(0, 30, None), (9, 9, "subject")]


def test_many_nights_are_broken_into_lines() -> None:
    """Each with the day of its first."""
    lines = history_terminal(course("ppp " * 28), Screen(width=40)).splitlines()
    assert max(map(len, lines)) <= 40
    assert [line.split()[0] for line in lines if "█" in line] == ["2026-11-01", "2026-11-27"]
