"""Answers that an agent could find in its environment are found first."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from demeanor.plugins.harbor.format.answer_leaks import search_answers
from demeanor.plugins.harbor.format.task_folder import read_task_folder
from tests.helpers.harbor_task_files import task

WRONG = "def area(r):\n    return 3 * r * r\n"
RIGHT = "import math\n\n\ndef area(radius):\n    return math.pi * radius ** 2\n"


def git(folder: Path, *words: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    named = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *named, *words], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, text: str) -> str:
    (folder / "area.py").write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task with a repository in its environment, of one commit that is wrong, and a solution that is right."""
    folder = task(tmp_path / "area", **{"solution/solve.sh": "cp /solution/area.py .\n", "solution/area.py": RIGHT})
    home = folder / "environment" / "app"
    home.mkdir()
    git(home, "init", "--quiet")
    commit(home, WRONG)
    return folder


def found(folder: Path) -> str:
    one = read_task_folder(folder).task
    assert one is not None
    return "\n".join(search_answers(one).leaked)


def test_a_clean_history_holds_no_answer(folder):
    """One commit, and nothing beside it."""
    assert found(folder) == ""


@pytest.mark.parametrize("how", ["branch", "tag", "reflog", "dangling", "stash"])
def test_a_commit_that_head_does_not_lead_to_is_found(folder, how):
    """Wherever it hides; the objects are what counts."""
    home = folder / "environment" / "app"
    start = git(home, "rev-parse", "HEAD")
    if how == "stash":
        (home / "area.py").write_text(RIGHT)
        git(home, "stash")
    else:
        solved = commit(home, RIGHT)
        git(home, "reset", "--quiet", "--hard", start)
        if how in {"branch", "tag"}:
            git(home, how, "solved", solved)
        if how == "dangling":
            git(home, "reflog", "expire", "--expire=now", "--all")
    said = found(folder)
    assert "not reachable from HEAD" in said
    assert "git gc --prune=now" in said
    assert "contains what solution/area.py writes" in said


def test_an_answer_in_the_past_of_head_is_found(folder):
    """It was right once, and was made wrong for the task: the history tells how to mend it."""
    home = folder / "environment" / "app"
    commit(home, RIGHT)
    commit(home, WRONG)
    assert "contains what solution/area.py writes" in found(folder)


def test_a_bundle_is_unpacked(folder):
    """It is a repository in one file."""
    home = folder / "environment" / "app"
    start = git(home, "rev-parse", "HEAD")
    commit(home, RIGHT)
    git(home, "branch", "solved")
    git(home, "reset", "--quiet", "--hard", start)
    git(home, "bundle", "create", "--quiet", "../repo.bundle", "--all")
    subprocess.run(["rm", "-rf", home], check=True)
    assert "environment/repo.bundle: it has 1 commit not reachable from HEAD" in found(folder)


def test_a_solution_left_in_the_environment_is_found(folder):
    """A copy by mistake."""
    (folder / "environment" / "app" / "old.py").write_text(RIGHT)
    assert "environment/app/old.py is solution/area.py" in found(folder)


@pytest.mark.parametrize("relative", [False, True])
def test_the_solutions_folder_or_script_in_the_environment_is_found(folder, relative, monkeypatch):
    """Although its files have the names that they have in the solution, and with a relative path."""
    for name in ("solution/area.py", "solve.sh"):
        (folder / "environment" / name).parent.mkdir(exist_ok=True)
        (folder / "environment" / name).write_text((folder / "solution" / name.removeprefix("solution/")).read_text())
    monkeypatch.chdir(folder.parent)
    given = Path(folder.name) if relative else folder
    assert [line.split(" is ")[0] for line in found(given).splitlines()] == [
        "environment/solution/area.py",
        "environment/solve.sh",
    ]


def test_a_file_that_the_solution_does_not_change_is_no_answer(folder):
    """A solution that contains the whole project; if another version of the file is there, it is an answer again."""
    data = "".join(f"this is the row number {number}\n" for number in range(9))
    (folder / "solution/rows.txt").write_text(data)
    (folder / "environment/app/rows.txt").write_text(data)
    assert found(folder) == ""
    (folder / "environment/app/broken").mkdir()
    (folder / "environment/app/broken/rows.txt").write_text("nothing\n")
    assert "environment/app/rows.txt is solution/rows.txt" in found(folder)


def test_a_repository_without_a_working_tree_starts_with_head(folder):
    """What HEAD has is what the agent sees, so it is no answer; what an older commit has is one."""
    home = folder / "environment" / "app"
    data = "".join(f"this is the row number {number}\n" for number in range(9))
    (folder / "solution/rows.txt").write_text(data)
    (home / "rows.txt").write_text(data)
    commit(home, WRONG)
    git(home, "clone", "--quiet", "--bare", ".", "../repo.git")
    subprocess.run(["rm", "-rf", home], check=True)
    assert found(folder) == ""
    (folder / "solution/rows.txt").write_text(WRONG + "def circumference(r):\n    return 6 * r\n")
    assert found(folder) == ""


def test_an_answer_at_head_that_the_working_tree_does_not_have_is_found(folder):
    """`git checkout .` would solve the task."""
    home = folder / "environment" / "app"
    commit(home, RIGHT)
    (home / "area.py").write_text(WRONG)
    assert "contains what solution/area.py writes" in found(folder)


def test_a_broken_repository_is_reported_as_unreadable(folder):
    """Its contents are unknown, which is not an answer."""
    for path in (folder / "environment/app/.git/objects").rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            path.write_bytes(b"x")
    one = read_task_folder(folder).task
    assert one is not None
    search = search_answers(one)
    assert search.leaked == ()
    assert "its history can't be read" in search.unreadable[0]
