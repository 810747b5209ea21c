"""What is readable of the folders that a Python environment imports from."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.agents.environments.python_environment import source_paths

EVAL = "from demeanor import eval_test\n"


@pytest.mark.parametrize(
    ("files", "readable"),
    [
        (["a/__init__.py", "b.py", "c.so", "a.egg-info/PKG-INFO"], ["."]),
        (["space/a/__init__.py"], ["."]),
        (["a/__init__.py", "a/data.json", "notes.txt", ".env", "data/x.json"], ["a"]),
        (["pyproject.toml", "a/__init__.py", "setup.py", "docs/conf.py"], ["a", "setup.py"]),
        (["a/__init__.py", "a/test_a.py"], ["."]),
        (["a/__init__.py", "a/test_a.py:eval", "b.py"], ["b.py"]),
        (["a/__init__.py", "a/x/y.py", "a/evals/helper.py"], ["a/__init__.py", "a/x"]),
        (["a/__init__.py", "a/x/eval_b.py", "a/x/answer.txt"], ["a/__init__.py"]),
        (["a/__init__.py", "a/x/scenario.toml"], ["a/__init__.py"]),
        (["eval_a.py", "b.py"], ["b.py"]),
        (["id_rsa", "config"], []),
    ],
)
def test_what_can_be_imported_is_readable_without_evals(tmp_path: Path, files: list[str], readable: list[str]) -> None:
    """The whole folder if it holds nothing else. A folder with evals is hidden with everything in it."""
    source = tmp_path / "src"
    for name in files:
        path, _, is_eval = name.partition(":")
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(EVAL if is_eval else "")
    assert sorted(source_paths(source)) == sorted(str(source / path) for path in readable)


def test_the_root_and_home_are_never_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a link to them, or what contains HOME."""
    monkeypatch.setenv("HOME", str(tmp_path / "home/me"))
    (tmp_path / "home/me").mkdir(parents=True)
    (tmp_path / "home/me/module.py").touch()
    (tmp_path / "link").symlink_to(tmp_path / "home/me")
    for folder in ("/", "/etc", "/home", str(tmp_path), f"{tmp_path}/home", f"{tmp_path}/home/me", f"{tmp_path}/link"):
        assert source_paths(Path(folder)) == ()
