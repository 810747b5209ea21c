"""A program is asked for its version once."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.agents.version import told_version


def test_it_is_asked_once_however_many_trials_there_are(tmp_path: Path):
    """Some agents take two seconds to tell."""
    script = tmp_path / "agent"
    script.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/count\necho\necho ' 1.2.3 '\necho more\n")
    script.chmod(0o755)
    assert [told_version((str(script),)) for _ in range(3)] == ["1.2.3"] * 3
    assert (tmp_path / "count").read_text() == "asked\n"


@pytest.mark.parametrize(
    ("words", "told"), [(("/not/there",), None), (("true",), None), (("printf", r"\377\n\n"), "\ufffd")]
)
def test_what_it_does_not_tell_is_unknown(words: tuple[str, ...], told: str | None):
    """Whatever it does instead, nothing is raised."""
    assert told_version(words) == told
