"""The paths that an installed agent needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.agents.package import program_paths


@pytest.mark.parametrize("line", ["#!{python}", "#!{python} -E", "#! {python}"])
def test_a_script_needs_its_installation_and_that_of_its_interpreter(tmp_path: Path, line: str):
    """A virtual environment has a link to a Python in another folder."""
    real = tmp_path / "pythons/3.11/bin/python3.11"
    link = tmp_path / "agents/mini/2.0/bin/python"
    script = link.with_name("mini")
    for path in (real, link):
        path.parent.mkdir(parents=True)
    real.touch(mode=0o755)
    link.symlink_to(real)
    script.write_text(line.format(python=link) + "\nprint()\n")
    script.chmod(0o755)
    found = program_paths((str(script),), tmp_path / "agents")
    assert {str(tmp_path / "agents/mini/2.0"), str(tmp_path / "pythons/3.11")} <= set(found)


@pytest.mark.parametrize("content", [b"", b"#!", b"#! \n", b"#!/not/there\n", b"\x7fELF\x00\xff", b"#!relative\n"])
def test_any_other_program_needs_its_own_folder(tmp_path: Path, content: bytes):
    """Whatever its first line is."""
    program = tmp_path / "agents/goose/1.0/goose"
    program.parent.mkdir(parents=True)
    program.write_bytes(content)
    assert str(tmp_path / "agents/goose/1.0") in program_paths((str(program),), tmp_path / "agents")
