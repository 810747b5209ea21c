"""Reading an agent's own log."""

from __future__ import annotations

import pytest

from demeanor.agents.events import read_events
from demeanor.core.process import Output, ProcessEnd
from demeanor.core.trajectory import Said


def end(text: str, left_out: int = 0) -> ProcessEnd:
    """A process that printed `text`."""
    return ProcessEnd(stdout=Output(text=text, total_bytes=len(text) + left_out, left_out=left_out))


def test_one_event_per_line_over_all_processes():
    """Blank lines do not matter."""
    line = '{"type": "said", "turn": 1, "text": "hi"}'
    assert read_events((end(f"{line}\n\n"), end(line))) == (Said(turn=1, text="hi"),) * 2


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        '{"type": "shouted", "turn": 1}',
        '{"type": "said", "turn": "one", "text": "hi"}',
        '{"type": "said", "turn": 1}',
        "[" * 100_000,
        "[]",
    ],
)
def test_a_line_that_is_no_event_is_named(line: str):
    """The log is hostile: it can be wrong, but it can't crash the reader."""
    with pytest.raises(ValueError, match="line 2 of the agent's log is no event"):
        read_events((end('{"type": "said", "turn": 1, "text": "hi"}\n' + line),))


def test_a_log_that_was_cut_is_no_witness():
    """Half a log must not be taken for a whole one."""
    with pytest.raises(ValueError, match="so much that its log is cut"):
        read_events((end("", left_out=10),))
