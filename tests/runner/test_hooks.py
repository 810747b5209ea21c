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
