"""The paths that an installed agent needs, and the interpreter that installs or starts it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from demeanor.agents.environments.executables import printed_version
from demeanor.agents.packages.package import Package, find_python, program_paths, with_own_node


@pytest.mark.parametrize("line", ["#!{python}", "#!{python} -E", "#! {python}"])
def test_a_script_needs_its_installation_and_that_of_its_interpreter(tmp_path: Path, line: str):
    """A virtual environment has a link to a Python in another folder."""
    real = tmp_path / "pythons/3.11/bin/python3.11"
    link = tmp_path / "agents/mini/2.0/bin/python"
    script = link.with_name("mini")
    library = tmp_path / "pythons/3.11/lib/python3.11/os.py"
    for path in (real, link, library):
        path.parent.mkdir(parents=True)
    real.touch(mode=0o755)
    library.touch()
    link.symlink_to(real)
    script.write_text(line.format(python=link) + "\nprint()\n")
    script.chmod(0o755)
    found = program_paths((str(script),), (tmp_path / "agents",))
    assert {str(tmp_path / "agents/mini/2.0"), str(tmp_path / "pythons/3.11")} <= set(found)


@pytest.mark.parametrize("content", [b"", b"#!", b"#! \n", b"#!/not/there\n", b"\x7fELF\x00\xff", b"#!relative\n"])
def test_any_other_program_needs_its_own_folder(tmp_path: Path, content: bytes):
    """Whatever its first line is."""
    program = tmp_path / "agents/goose/1.0/goose"
    program.parent.mkdir(parents=True)
    program.write_bytes(content)
    assert str(tmp_path / "agents/goose/1.0") in program_paths((str(program),), (tmp_path / "agents",))


def _package(needs: str) -> Package:
    return Package(manager="pip", name="agent", version="1", program="bin/agent", needs=needs)


def _python(path: Path, version: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n" if version else "#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return str(path)


def test_a_python_is_found_on_path_or_in_the_folder_of_pyenv_or_uv(tmp_path: Path):
    """The newest one that is allowed. A shim of pyenv that is on PATH may be inactive."""
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    needs = _package("python >= 3.97, < 3.99")
    assert find_python(needs, environ) is None
    _python(tmp_path / "bin/python3.98", "")
    by_uv = _python(tmp_path / ".local/share/uv/python/cpython-3.97.1-linux/bin/python3.97", "Python 3.97.1")
    assert find_python(needs, environ) == by_uv
    by_pyenv = _python(tmp_path / ".pyenv/versions/3.98.2/bin/python3.98", "Python 3.98.2")
    assert find_python(needs, environ) == by_pyenv
    _python(tmp_path / "bin/python3.99", "Python 3.99.0")
    assert find_python(needs, environ) == by_pyenv
    on_path = _python(tmp_path / "bin/python3.98", "Python 3.98.0")
    printed_version.cache_clear()
    assert find_python(needs, environ) == on_path


def test_the_python_that_runs_demeanor_is_used_if_it_is_allowed(tmp_path: Path):
    """Both bounds count."""
    environ = {"PATH": "", "HOME": str(tmp_path)}
    major, minor = sys.version_info[:2]
    assert find_python(_package(""), environ) == sys.executable
    assert find_python(_package(f"python >= {major}.{minor}"), environ) == sys.executable
    assert find_python(_package(f"python >= {major}.{minor}, < {major}.{minor + 1}"), environ) == sys.executable
    assert find_python(_package(f"python >= 3.8, < {major}.{minor}"), environ) is None


def test_a_program_is_started_with_the_node_that_was_installed_beside_it(tmp_path: Path):
    """A program that has its own arguments is started as it is."""
    program, node = str(tmp_path / "agent"), tmp_path / "node"
    assert with_own_node((program,)) == (program,)
    node.touch()
    assert with_own_node((program,)) == (str(node), program)
    assert with_own_node(("node", program)) == ("node", program)
    assert with_own_node(()) == ()
