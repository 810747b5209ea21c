"""What Demeanor itself writes never makes a tree dirty, also where git ignores nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.core.values.errors import StoreError
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.verdict import Pass
from demeanor.runner.own_files import tree_of
from demeanor.store.runs.run_folder import RUN_FILE, write_call_log
from tests.vcs.test_commit_range import Repository

ELSEWHERE = ("cassettes/a/s/trial-1.json", "__pycache__/a.pyc")
RECORD = Record(eval="a", subject="s", number=1, attempt=1, verdict=Pass())


def dirty(tree: Repository, request: RunRequest | None = None) -> bool | None:
    """As a run sees it that keeps its results in evals/nightly."""
    root = tree.folder
    return tree_of(read_config(root), request or RunRequest(), root / "evals/nightly").dirty


@pytest.fixture
def tree(tmp_path: Path) -> Repository:
    """A repository that ignores nothing, with an eval."""
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/eval_a.py").write_text("A = 1\n")
    (tmp_path / "demeanor.toml").write_text("")
    made = Repository(tmp_path)
    commit(made)
    return made


def commit(tree: Repository) -> None:
    tree.git("add", "--all", "--force")
    tree.commit("all")


def write_all(evals: Path, text: str) -> None:
    """What commands write below evals/: logs, runs in three places, cassettes, caches and reports."""
    write_call_log(evals / "eval_a.py", RECORD)
    (evals / "logs/b.s.trial-1.log").write_text(text)
    for name in (f"elsewhere/run-1/{RUN_FILE}", "elsewhere/run-1/trials/x.json", "nightly/notes.txt", *ELSEWHERE):
        (evals / name).parent.mkdir(parents=True, exist_ok=True)
        (evals / name).write_text(text)
    (evals / "latest").unlink(missing_ok=True)
    (evals / "latest").symlink_to(text)
    (evals / "junit.xml").write_text(f"<?xml version='1.0'?>\n<testsuites name=\"demeanor\">{text}</testsuites>")
    (evals / "report.json").write_text(f'{{\n  "schema": "demeanor-report/1", "text": "{text}"}}')


def test_what_demeanor_writes_never_makes_a_tree_dirty(tree: Repository):
    """Untracked or, by mistake, committed; wherever an option put it."""
    write_all(tree.folder / "evals", "one")
    assert dirty(tree) is False
    commit(tree)
    write_all(tree.folder / "evals", "two")
    assert dirty(tree) is False
    assert dirty(tree, RunRequest(replay="evals/cassettes")) is True, "a replay answers from them"


@pytest.mark.parametrize(
    "path", ["eval_b.py", "helper.py", "logs/a.log", "logs/notes.txt", "report.json", "junit.xml", "template/run.txt"]
)
def test_what_can_change_an_eval_makes_it_dirty(tree: Repository, path: str):
    """Also next to our own files, and with a name like theirs."""
    changed = tree.folder / "evals" / path
    changed.parent.mkdir(exist_ok=True)
    changed.write_text("one")
    assert dirty(tree) is True
    commit(tree)
    assert dirty(tree) is False
    changed.write_text("two")
    assert dirty(tree) is True


def test_what_can_change_an_agent_makes_it_dirty(tree: Repository):
    """A new file where an agent reads, and no other one that git doesn't know."""
    (tree.folder / "demeanor.toml").write_text(
        '[agents.a]\nreads = ["prompts", "/etc/hosts", "../a", "{project}/tools"]'
    )
    commit(tree)
    (tree.folder / "notes.txt").write_text("one")
    assert dirty(tree) is False
    for name in ("prompts", "tools"):
        (tree.folder / name).mkdir()
        (tree.folder / name / "new.md").write_text("one")
        assert dirty(tree) is True
        commit(tree)
        assert dirty(tree) is False


def test_a_log_of_calls_is_not_written_through_a_link(tree: Repository, tmp_path_factory: pytest.TempPathFactory):
    """A stranger's repository may contain one that leads out of it, as the file or as the folder."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "rc").write_text("mine")
    source = tree.folder / "evals/eval_a.py"
    log = write_call_log(source, RECORD)
    log.unlink()
    log.symlink_to(outside / "rc")
    write_call_log(source, RECORD)
    assert (outside / "rc").read_text() == "mine"
    assert not log.is_symlink()
    log.unlink()
    log.parent.rmdir()
    log.parent.symlink_to(outside)
    with pytest.raises(StoreError, match="make it a folder"):
        write_call_log(source, RECORD)
    assert [path.name for path in outside.iterdir()] == ["rc"]
