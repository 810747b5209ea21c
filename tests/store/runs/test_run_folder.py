"""A run as a folder."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError, UsageError
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.policy import USUALLY_PASSES
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trajectory import Said, Trajectory
from demeanor.core.values.trial import Cell, Plan
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict
from demeanor.store.runs.run_folder import RunFolder, restore
from tests.judge.helpers import file

RUN = RunInfo(id="r", started="2026-01-01T00:00:00+00:00")
PLAN = Plan(cells=())


def cell(name: str) -> Cell:
    """A cell with this name."""
    scenario = Scenario(prompts=("p",))
    one = Eval(name=name, policy=USUALLY_PASSES, scenario=scenario, checks=(), source=Source(path=Path("x.py")))
    return Cell(eval=one, subject=Subject(agent="a", model="m"), trials=())


def begun(folder: Path) -> RunFolder:
    """The folder of a run that has started."""
    store = RunFolder(folder)
    store.begin(RUN, PLAN)
    return store


def keep(store: RunFolder, number: int, verdict: Verdict, attempt: int = 1) -> Record:
    """Store an attempt that wrote a file and printed a text."""
    record = Record(eval="saves", subject="a:m", number=number, attempt=attempt, verdict=verdict)
    after = Tree(
        entries={
            "new.txt": Entry(kind="file", size=2, sha256="ab", content=b"hi"),
            "out": Entry(kind="link", target="/etc/passwd"),
        }
    )
    end = ProcessEnd(exit_code=0, stdout=Output(text="\x1b[31mred\x1b[0m", total_bytes=12))
    capture = Capture(trial=record.trial, attempt=attempt, ends=(end,), after=after)
    events = (Said(turn=1, text="done"),)
    return store.append(
        record, capture, Evidence(trial=record.trial, trajectory=Trajectory(events=events), after=after)
    )


FAILED = Fail(findings=(Finding(check="c", answer="no", reason="it did not"),))


def test_stored_attempts_can_be_read_before_the_run_is_closed(tmp_path: Path):
    """By another object, in order."""
    store = begun(tmp_path / "r")
    kept = (keep(store, 1, Pass()), keep(store, 2, FAILED), keep(store, 2, Pass(), attempt=2))
    again = RunFolder(tmp_path / "r")
    assert again.records() == kept
    assert again.info() == RUN
    assert again.events(kept[0]) == (Said(turn=1, text="done"),)


def test_each_trial_has_readable_files(tmp_path: Path):
    """Log, trajectory and diff; the log has no escape sequences."""
    folder = tmp_path / "r" / keep(begun(tmp_path / "r"), 1, Pass()).folder
    assert sorted(path.name for path in folder.parent.iterdir()) == ["trial-1", "trial-1.log"]
    assert sorted(path.name for path in folder.iterdir()) == ["trajectory.jsonl", "workspace.diff"]
    assert "\x1b" not in (folder.parent / "trial-1.log").read_text()
    assert "+hi" in (folder / "workspace.diff").read_text()


def test_the_workspace_of_a_failed_trial_is_stored_without_links(tmp_path: Path):
    """A tool that uploads the results must not follow a link to a secret of the host."""
    trial = tmp_path / "r" / keep(begun(tmp_path / "r"), 1, FAILED).folder
    workspace = trial.parent / "workspace-trial-1"
    assert (workspace / "new.txt").read_text() == "hi"
    assert not (workspace / "out").is_symlink()
    assert (workspace / "out").read_text() == "(link to /etc/passwd)"


def test_an_incomplete_last_line_is_removed_on_resume(tmp_path: Path):
    """A power failure loses only the attempt that was being written."""
    down = begun(tmp_path / "r")
    kept = keep(down, 1, Pass())
    down.close()
    ledger = tmp_path / "r" / "ledger.jsonl"
    with ledger.open("ab") as file:
        file.write(b'{"eval": "sav')
    assert RunFolder(tmp_path / "r").records() == (kept,)
    store = begun(tmp_path / "r")
    second = keep(store, 2, Pass())
    assert store.records() == (kept, second)


def test_a_broken_line_is_an_error_that_names_it(tmp_path: Path):
    """A damaged attempt is not a missing one."""
    keep(begun(tmp_path / "r"), 1, Pass())
    ledger = tmp_path / "r" / "ledger.jsonl"
    ledger.write_bytes(b'{"eval": 3}\n' + ledger.read_bytes())
    with pytest.raises(StoreError, match=r"ledger.jsonl: line 1 is damaged"):
        RunFolder(tmp_path / "r").records()


def test_a_folder_of_another_version_is_refused(tmp_path: Path):
    """The message names its schema."""
    begun(tmp_path / "r")
    path = tmp_path / "r" / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": "demeanor-run/99"}))
    with pytest.raises(StoreError, match="demeanor-run/99"):
        RunFolder(tmp_path / "r").info()
    path.write_text("garbage")
    with pytest.raises(StoreError, match=r"run\.json: is damaged: "):
        RunFolder(tmp_path / "r").info()


def test_two_cells_that_would_share_a_folder_are_refused(tmp_path: Path):
    """They would overwrite each other."""
    with pytest.raises(UsageError, match="same folder"):
        RunFolder(tmp_path / "r").begin(RUN, Plan(cells=(cell("a b"), cell("a-b"))))
    assert not (tmp_path / "r").exists()


def test_a_shared_folder_is_open_until_the_last_close(tmp_path: Path):
    """Parts of a run share its folder."""
    store = begun(tmp_path / "r")
    store.begin(RUN, PLAN)
    store.close()
    keep(store, 1, Pass())
    store.close()
    with pytest.raises(StoreError, match=r"begin\(\) was not called"):
        keep(store, 2, Pass())


ARMED = (
    ".envrc", ".vscode/tasks.json", "a/.idea/workspace.xml", "a/.git/config", "b/.git", "bare/HEAD", ".GIT/config",
    "mise.toml", ".mise.toml", ".tool-versions", "a/conftest.py", ".vimrc", ".dir-locals.el", "Makefile", "a/CLAUDE.md",
    "node_modules/eslint/index.js", "eslint.config.mjs", "x.code-workspace", ".claude/settings.json", ".npmrc",
    "setup.cfg", "pyproject.toml", "Cargo.toml", "build.gradle.kts", "x.csproj",
)  # fmt: skip


def test_a_kept_workspace_is_inert(tmp_path: Path) -> None:
    """Nothing that git, editors, shells or coding agents run by themselves has its name; what is left can be read."""
    tree = Tree(entries={path: file("armed") for path in (*ARMED, "src/main.py", "_a.txt", "HEADER")})
    restore(tree, tmp_path / "workspace")
    kept = {str(path.relative_to(tmp_path / "workspace")) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"src/main.py", "_a.txt", "HEADER", "_.envrc", "bare/_HEAD", "a/_.git/config", "b/_.git"} <= kept
    assert len(kept) == len(tree.entries)
    assert not kept & set(ARMED)
    assert {part for path in kept for part in path.split("/") if part.startswith(".")} == set()


def test_no_two_kept_files_have_the_same_name(tmp_path: Path) -> None:
    """An agent can't hide a file behind another one, or prevent that its failure is stored."""
    long = "x" * 254
    paths = (
        ".a",
        "_.a",
        "__.a/b",
        "_",
        "__",
        f".{long}",
        *(f"{'/'.join(['d' * 250] * 17)}/{letter}" for letter in "ab"),
    )
    tree = Tree(entries={path: file(path) for path in (*paths, "../out", "/out")})
    restore(tree, tmp_path / "workspace")
    kept = {
        str(path.relative_to(tmp_path / "workspace")): path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert kept == {"_.a": ".a", "__.a": "_.a", "___.a/b": "__.a/b", "_": "_", "__": "__"}


def test_git_runs_nothing_in_a_kept_workspace(tmp_path: Path) -> None:
    """The settings of a repository in it name a program that git runs."""
    ran = tmp_path / "ran"
    config = f"[core]\nrepositoryformatversion = 0\nfsmonitor = touch {ran}; false\n"
    entries = {}
    for git in ("a/.git", "b"):
        entries |= {f"{git}/HEAD": file("ref: refs/heads/main\n"), f"{git}/config": file(config)}
        entries |= {f"{git}/objects/x": file(""), f"{git}/refs/x": file("")}
    armed, kept = tmp_path / "armed", tmp_path / "kept"
    for path, entry in entries.items():
        (armed / path).parent.mkdir(parents=True, exist_ok=True)
        (armed / path).write_bytes(entry.read() or b"")
    restore(Tree(entries=entries), kept)
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    for folder, repository in ((armed / "a", True), (kept / "a", False), (kept / "b", False)):
        ran.unlink(missing_ok=True)
        subprocess.run(["git", "status"], cwd=folder, env=env, capture_output=True, check=False)
        assert ran.exists() == repository
