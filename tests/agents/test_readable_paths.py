"""What an agent is shown of the host: its program and what it was installed with, and not what lies around it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from demeanor.agents.python_paths import python_folders
from demeanor.agents.readable_paths import installation


def program(place: Path, text: str = "#!/bin/sh\n") -> Path:
    """An executable file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


def test_program_in_a_bin_folder_brings_its_whole_installation(tmp_path: Path) -> None:
    """By way of a link too: the link itself is shown, and where it leads."""
    real = program(tmp_path / "tool-1.0/bin/agent")
    link = tmp_path / "links/agent"
    link.parent.mkdir()
    link.symlink_to(real)
    assert {str(link), str(tmp_path / "tool-1.0")} <= set(installation(str(link)))
    assert str(tmp_path / "links") not in installation(str(link))


def test_program_that_lies_among_other_things_comes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script of the project, one in ~/.local/bin: neither the project nor the home is shown."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for place in ("project/agent.sh", ".local/bin/agent", "bin/agent"):
        found = program(tmp_path / place)
        assert [path for path in installation(str(found)) if path.startswith(str(tmp_path))] == [str(found)]


def test_interpreter_of_the_first_line_comes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named by path, or by `env` and PATH."""
    node = program(tmp_path / "node-v20/bin/node")
    monkeypatch.setenv("PATH", str(node.parent))
    script = program(tmp_path / "node_modules/agent/cli.js", "#!/usr/bin/env node\n")
    assert {str(tmp_path / "node_modules"), str(tmp_path / "node-v20")} <= set(installation(str(script)))


def test_nothing_is_shown_for_a_program_that_is_not_there() -> None:
    """That it is missing is told elsewhere."""
    assert installation("no-such-agent") == ()


def test_pythons_folders_are_those_of_this_one() -> None:
    """The environment, and the installation that it was made from."""
    assert {sys.prefix, sys.base_prefix, sys.executable} <= set(python_folders())
