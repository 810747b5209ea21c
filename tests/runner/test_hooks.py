"""Hooks that hang."""

from __future__ import annotations

import threading

from demeanor.runner.hooks import Hooks, _Listener


def test_a_hook_that_hangs_is_left_behind_with_a_note() -> None:
    """Another hook gets all its events meanwhile."""
    release, heard = threading.Event(), []
    slow = _Listener(name="slow", functions={"run_ended": lambda event: release.wait(600)})
    good = _Listener(name="good", functions={"run_ended": heard.append})
    hooks = Hooks([good, slow])
    try:
        hooks.tell("run_ended", {"n": 1})
        hooks.tell("run_began", {"n": 2})
        good.news.put(None)
        assert good.thread
        good.thread.join()
        slow_note = slow.close(0.01)
    finally:
        release.set()
    assert heard == [{"n": 1}]
    assert slow_note is not None
    assert slow_note.startswith("hook 'slow' failed 1 time, first in ")
    assert "not finished after 0.01 s" in slow_note


def test_a_hook_that_fails_at_every_trial_keeps_one_message() -> None:
    """A long run has many trials."""

    def fail(event: object) -> None:
        raise ValueError(event)

    bad = _Listener(name="bad", functions={"trial_ended": fail})
    for number in range(50):
        bad.tell("trial_ended", {"n": number})
    note = bad.close(60)
    assert note is not None
    assert note.startswith("hook 'bad' failed 50 times, first in trial_ended: ValueError: {'n': 0}")
    assert (bad.failures, bad.first) == (50, "in trial_ended: ValueError: {'n': 0}")
