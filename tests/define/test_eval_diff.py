"""Which evals a change touches, according to git."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.define.discover import discover
from demeanor.define.eval_diff import edits
from tests.define.test_policy_history import commit, git

HEAD = "from demeanor import USUALLY_PASSES, eval_test\nLIMIT = 3\n"
ONE = "@eval_test(USUALLY_PASSES, prompt='x')\ndef one(rig, result):\n    assert result\n"
TWO = "@eval_test(USUALLY_PASSES, prompt='y', name='second')\ndef two(rig, result):\n    assert result\n"
SCENARIO = 'policy = "USUALLY_PASSES"\nprompt = "x"\n[[checks]]\ncheck = "file_exists"\npath = "a"\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--initial-branch=main")
    (tmp_path / "eval_a.py").write_text(HEAD + ONE + TWO)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "scenario.toml").write_text(SCENARIO)
    commit(tmp_path)
    git(tmp_path, "switch", "-c", "change")
    return tmp_path


def touched(folder: Path, **more) -> dict[str, str]:
    found = edits(discover([folder]), folder, **more)
    assert found.problem is None
    return dict(found.evals)


def test_nothing_is_touched_by_comments_and_formatting(repository: Path) -> None:
    """What an eval asks is the same."""
    (repository / "eval_a.py").write_text(HEAD + "# a comment\n\n" + ONE.replace("'x'", '"x"') + TWO)
    assert touched(repository) == {}


@pytest.mark.parametrize("committed", [True, False])
def test_only_the_function_that_differs_is_edited(repository: Path, committed: bool) -> None:
    """Known by its lines, whatever name it was given; also what is not committed yet."""
    (repository / "eval_a.py").write_text(HEAD + ONE + TWO.replace("assert result", "assert not result"))
    if committed:
        commit(repository)
    assert touched(repository) == {"second": "edited"}


def test_what_the_evals_of_a_file_share_edits_all_of_them(repository: Path) -> None:
    """A helper or a constant may be what they check with."""
    (repository / "eval_a.py").write_text(HEAD.replace("3", "4") + ONE + TWO)
    assert touched(repository) == {"one": "edited", "second": "edited"}


def test_a_new_function_a_new_file_and_a_new_folder_are_new(repository: Path) -> None:
    """Also where git does not know the file."""
    (repository / "eval_a.py").write_text(HEAD + ONE + TWO + ONE.replace("one", "three"))
    (repository / "eval_b.py").write_text(HEAD + ONE.replace("one", "four"))
    (repository / "other").mkdir()
    (repository / "other" / "scenario.toml").write_text(SCENARIO)
    assert touched(repository) == {"three": "new", "four": "new", "other": "new"}


def test_a_folder_is_edited_with_any_of_its_files(repository: Path) -> None:
    """Its workspace lies there too."""
    (repository / "folder" / "notes.txt").write_text("hi")
    assert touched(repository) == {"folder": "edited"}


def test_the_base_can_be_named_and_must_exist(repository: Path) -> None:
    """An option is no revision."""
    assert touched(repository, base="main") == {}
    for wrong in ("nowhere", "--all"):
        assert "there is no commit" in (edits(discover([repository]), repository, base=wrong).problem or "")
