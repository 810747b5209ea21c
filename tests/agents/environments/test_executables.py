"""The paths that a program needs, and its version."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from demeanor.agents.environments.executables import executable_paths, printed_version, python_paths


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_in_a_bin_folder_needs_its_whole_installation(tmp_path: Path) -> None:
    """Through a symbolic link too: the link and its target are readable."""
    real = program(tmp_path / "tool-1.0/bin/agent")
    link = tmp_path / "links/agent"
    link.parent.mkdir()
    link.symlink_to(real)
    assert {str(link), str(tmp_path / "tool-1.0")} <= set(executable_paths(str(link)))
    assert str(tmp_path / "links") not in executable_paths(str(link))


def test_a_program_in_a_shared_folder_needs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script of the project or one in ~/.local/bin does not make the project or the home folder readable."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("project/agent.sh", ".local/bin/agent", "bin/agent"):
        found = program(tmp_path / path)
        assert [path for path in executable_paths(str(found)) if path.startswith(str(tmp_path))] == [str(found)]


def test_a_script_needs_the_interpreter_of_its_shebang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named by path, or by `env` and PATH."""
    node = program(tmp_path / "node-v20/bin/node")
    monkeypatch.setenv("PATH", str(node.parent))
    script = program(tmp_path / "node_modules/agent/cli.js", "#!/usr/bin/env node\n")
    assert {str(tmp_path / "node_modules"), str(tmp_path / "node-v20")} <= set(executable_paths(str(script)))


def test_a_missing_program_needs_nothing() -> None:
    """That it is missing is reported by `Agent.missing`."""
    assert executable_paths("no-such-agent") == ()


def test_python_needs_its_environment_and_its_installation() -> None:
    """The virtual environment, and the installation that it was made from."""
    assert {sys.prefix, sys.base_prefix, sys.executable} <= set(python_paths())


def test_a_version_command_runs_once(tmp_path: Path):
    """Some agents take two seconds to print their version, and every trial needs it."""
    script = program(
        tmp_path / "agent", f"#!/bin/sh\necho asked >> {tmp_path}/count\necho\necho ' 1.2.3 '\necho more\n"
    )
    assert [printed_version((str(script),)) for _ in range(3)] == ["1.2.3"] * 3
    assert (tmp_path / "count").read_text() == "asked\n"


@pytest.mark.parametrize(
    ("command", "version"), [(("/not/there",), None), (("true",), None), (("printf", r"\377\n\n"), "\ufffd")]
)
def test_a_command_that_prints_no_version_is_not_an_error(command: tuple[str, ...], version: str | None):
    """The version is unknown then."""
    assert printed_version(command) == version
