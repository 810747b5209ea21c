"""Reading JSON lines."""

from __future__ import annotations

import pytest

from demeanor.agents.jsonl import read_events
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.trajectory import Said


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
def test_a_line_that_is_not_an_event_is_an_error_with_its_number(line: str):
    """The log is untrusted: any line is either an event or a ValueError."""
    with pytest.raises(ValueError, match="line 2 of the agent's log is not an event"):
        read_events((end('{"type": "said", "turn": 1, "text": "hi"}\n' + line),))


def test_a_truncated_log_is_an_error():
    """Events may be missing from it."""
    with pytest.raises(ValueError, match="so much that its log was truncated"):
        read_events((end("", left_out=10),))
