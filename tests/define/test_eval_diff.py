"""Which evals a change touches, according to git."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.define.discovery import discover
from demeanor.define.eval_diff import edits
from tests.define.test_past_policies import commit, git

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


def test_a_moved_eval_is_not_new(repository: Path) -> None:
    """Neither in a file nor a folder: it keeps its name, and so its history. It may be edited on the way."""
    (repository / "sub").mkdir()
    (repository / "eval_a.py").rename(repository / "sub" / "eval_b.py")
    (repository / "folder").rename(repository / "sub" / "folder")
    assert touched(repository) == {}
    (repository / "sub" / "eval_b.py").write_text(HEAD + ONE + TWO.replace("'y'", "'z'"))
    (repository / "sub" / "folder" / "scenario.toml").write_text(SCENARIO.replace('"x"', '"y"'))
    assert touched(repository) == {"second": "edited", "folder": "edited"}


def test_a_folder_is_edited_with_any_of_its_files(repository: Path) -> None:
    """Its workspace lies there too."""
    (repository / "folder" / "notes.txt").write_text("hi")
    assert touched(repository) == {"folder": "edited"}


def test_the_base_can_be_named_and_must_exist(repository: Path) -> None:
    """An option is no revision."""
    assert touched(repository, base="main") == {}
    for wrong in ("nowhere", "--all"):
        assert "there is no commit" in (edits(discover([repository]), repository, base=wrong).problem or "")


def test_a_repository_without_a_commit_is_told_in_plain_words(tmp_path: Path) -> None:
    """Not in git's."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "eval_a.py").write_text(HEAD + ONE)
    assert edits(discover([tmp_path]), tmp_path).problem == "the repository has no commit yet"


def gone(folder: Path, **more) -> dict[str, str]:
    return dict(edits(discover([folder]), folder, **more).removed)


def test_removed_evals_are_named_with_their_file(repository: Path) -> None:
    """A function, a file and a folder; an eval that moved to another file is not removed."""
    assert gone(repository) == {}
    (repository / "eval_a.py").write_text(HEAD + TWO)
    assert gone(repository) == {"one": "eval_a.py"}
    (repository / "eval_a.py").unlink()
    (repository / "eval_b.py").write_text(HEAD + ONE)
    (repository / "folder" / "scenario.toml").unlink()
    commit(repository)
    assert gone(repository) == {"second": "eval_a.py", "folder": "folder/scenario.toml"}


def test_removed_evals_are_looked_for_within_the_given_paths(repository: Path) -> None:
    """A gate of one folder does not answer for another."""
    (repository / "eval_a.py").unlink()
    (repository / "folder" / "scenario.toml").unlink()
    assert gone(repository, within=[repository / "folder"]) == {"folder": "folder/scenario.toml"}
    assert gone(repository, within=[f"{repository / 'eval_a.py'}::one"]) == dict.fromkeys(
        ("one", "second"), "eval_a.py"
    )


def test_files_whose_evals_the_source_does_not_name_are_listed(repository: Path) -> None:
    """Evals that were made in a loop have names that are known only when the file runs."""
    loop = "ALL = [eval_test(USUALLY_PASSES, prompt='x', name=f'n{n}')(print) for n in range(3)]\n"
    (repository / "eval_loop.py").write_text(HEAD + loop)
    commit(repository)
    git(repository, "branch", "-f", "main")
    (repository / "eval_loop.py").unlink()
    assert edits(discover([repository]), repository).unsure == ("eval_loop.py",)


CASES = """\
@eval_test(USUALLY_PASSES, prompt="Say {word}.", cases=[{"word": "a"}, {"word": "b"}])
def says(rig, result):
    assert result
"""
TABLE = CASES.replace('[{"word": "a"}, {"word": "b"}]', "'words.csv'")
MARKED = "@eval_test(USUALLY_PASSES, prompt='Say {word}.')\n@pytest.mark.parametrize('word', ['a', 'b'])\n"


def start_again(repository: Path, **files: str) -> None:
    """Add files to the base commit."""
    for name, text in files.items():
        (repository / name.replace("_dot_", ".")).write_text(text)
    commit(repository)
    git(repository, "branch", "-f", "main")


def test_cases_that_are_still_there_are_not_removed(repository: Path) -> None:
    """Also if the file changed; a case that is gone is removed, and one that was added is new."""
    start_again(repository, eval_c_dot_py=HEAD + CASES)
    (repository / "eval_c.py").write_text(HEAD + CASES.replace("assert result", "assert len(result) > 1"))
    assert (gone(repository), touched(repository)) == ({}, {"says[a]": "edited", "says[b]": "edited"})
    (repository / "eval_c.py").write_text(HEAD + CASES.replace('{"word": "b"}', '{"word": "c"}'))
    assert gone(repository) == {"says[b]": "eval_c.py"}
    assert touched(repository) == {"says[a]": "edited", "says[c]": "new"}
    (repository / "eval_c.py").unlink()
    assert gone(repository) == {"says[a]": "eval_c.py", "says[b]": "eval_c.py"}


def test_cases_of_a_scenario_folder_are_named_too(repository: Path) -> None:
    """One table per case."""
    cases = SCENARIO + '[[case]]\nword = "a"\n[[case]]\nword = "b"\n'
    (repository / "folder" / "scenario.toml").write_text(cases)
    start_again(repository)
    (repository / "folder" / "scenario.toml").write_text(cases.replace('"b"', '"c"'))
    assert gone(repository) == {"folder[b]": "folder/scenario.toml"}


@pytest.mark.parametrize("source", [TABLE, f"import pytest\n{MARKED}def says(rig, result, word):\n    assert result\n"])
def test_cases_that_the_source_does_not_tell_make_the_comparison_unsure(repository: Path, source: str) -> None:
    """Those of a CSV file or of a mark. If all of them are gone, their common name is."""
    start_again(repository, eval_c_dot_py=HEAD + source, words_dot_csv="word\na\nb\n")
    assert edits(discover([repository]), repository).unsure == ()
    (repository / "eval_c.py").write_text(HEAD + source.replace("assert result", "assert len(result) > 1"))
    found = edits(discover([repository]), repository)
    assert (found.removed, found.unsure) == ({}, ("eval_c.py",))
    (repository / "eval_c.py").unlink()
    assert gone(repository) == {"says": "eval_c.py"}


def test_a_changed_file_of_cases_makes_the_comparison_unsure(repository: Path) -> None:
    """Its rows are evals; other tables of the repository are not."""
    start_again(repository, eval_c_dot_py=HEAD + TABLE, words_dot_csv="word\na\nb\n")
    (repository / "words.csv").write_text("word\na\n")
    (repository / "folder" / "scenario.toml").unlink()
    assert edits(discover([repository]), repository).unsure == ("words.csv",)


@pytest.mark.parametrize(
    ("option", "problem", "fetch"),
    [
        ("--depth=1", "this clone is shallow", ["--unshallow"]),
        ("--single-branch", "the default branch is unknown; fetch it, such as with `git fetch origin main:main`", []),
    ],
)
def test_a_clone_of_one_branch_does_not_know_its_base(
    repository: Path, tmp_path_factory, option: str, problem: str, fetch: list[str]
) -> None:
    """It must not be compared with itself, which would hide removed evals."""
    (repository / "eval_a.py").write_text(HEAD + ONE)
    commit(repository)
    git(repository, "switch", "main")
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", option, "--branch=change", f"file://{repository}", ".")
    found = edits(discover([clone]), clone)
    assert found.base is None
    assert problem in (found.problem or "")
    git(clone, "fetch", *fetch, "origin", "main:main")
    assert set(edits(discover([clone]), clone).removed) == {"second"}


def test_a_default_branch_of_another_name_is_used_or_asked_for(repository: Path) -> None:
    """The only branch is the default one. Of several, none is guessed, and HEAD is not compared with itself."""
    git(repository, "branch", "--delete", "--force", "main")
    git(repository, "branch", "--move", "trunk")
    assert touched(repository) == {}
    git(repository, "switch", "--create", "topic")
    (repository / "eval_a.py").write_text(HEAD + ONE)
    commit(repository)
    found = edits(discover([repository]), repository)
    assert found.base is None
    assert "the default branch is unknown" in (found.problem or "")
    assert set(edits(discover([repository]), repository, base="trunk").removed) == {"second"}


def test_a_branch_without_a_common_commit_has_no_base(repository: Path) -> None:
    git(repository, "switch", "--orphan", "alone")
    (repository / "eval_a.py").write_text(HEAD + ONE)
    commit(repository)
    found = edits(discover([repository]), repository)
    assert (found.base, found.problem) == (None, "HEAD and main have no common commit; name one with --base")
