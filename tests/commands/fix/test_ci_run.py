"""A link to a CI run: its artifacts are downloaded with the user's gh, which a program of the same name plays here."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from demeanor.commands.fix.ci_run import CiRun, parse_ci_run
from demeanor.core.values.errors import UsageError
from tests.helpers.project import Project

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_elsewhere(rig, result):
    assert rig.workspace["other.txt"].text
"""
URL = "https://github.com/acme/agent/actions/runs/123456789/attempts/2"
GH = """\
#!{python}
import json, pathlib, shutil, sys
words = sys.argv[1:]
pathlib.Path({log!r}).write_text(json.dumps(words[:-1]))
if not pathlib.Path({artifacts!r}).exists():
    sys.exit("no valid artifacts found to download")
assert words[-2] == "--dir"
shutil.copytree({artifacts!r}, words[-1], dirs_exist_ok=True)
"""


@pytest.fixture
def tools(project: Project) -> Path:
    """A folder with the programs that Demeanor needs, but without gh; it is the PATH of the project."""
    folder = project.folder.parent / "tools"
    folder.mkdir()
    git = shutil.which("git")
    assert git
    (folder / "git").symlink_to(git)
    project.env["PATH"] = str(folder)
    config = 'subjects = ["native:scripted"]\nsandbox = "none"\n'
    project.write(demeanor_toml=config, evals__eval_note_py=EVAL)
    (project.folder / ".gitignore").write_text("results\n")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "Start")):
        subprocess.run([git, *words], cwd=project.folder, env={**os.environ, **project.env}, check=True)
    return folder


def play_gh(project: Project, tools: Path) -> Path:
    """Put a gh on PATH that hands out the folder `artifacts`; returns the file with its last arguments."""
    log, artifacts = project.folder.parent / "gh.json", project.folder.parent / "artifacts"
    (tools / "gh").write_text(GH.format(python=sys.executable, log=str(log), artifacts=str(artifacts)))
    (tools / "gh").chmod(0o755)
    return log


def test_the_artifacts_of_a_ci_run_are_diagnosed(project: Project, tools: Path):
    """A machine without a history gets the run, its captures included; fetching it again adds nothing."""
    ran = project.demeanor("nightly", "--trials", "3", "--json")
    assert ran.returncode == 1, ran.stderr
    artifacts = project.folder.parent / "artifacts"
    shutil.move(project.folder / "results", artifacts / "evals-nightly")
    log = play_gh(project, tools)
    for words in ((URL,), ("saves_elsewhere", "--run", URL)):
        done = project.demeanor("fix", *words, "--dry-run", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(log.read_text()) == [
            *("run", "download", "123456789", "--repo", "acme/agent", "--dir"),
        ]
        assert json.loads(done.stdout)["evals"] == ["saves_elsewhere"]
    evidence = [path.name for path in (project.folder / "results/fixes").rglob("*failing.txt")]
    assert evidence == ["1-saves_elsewhere-failing.txt"] * 2
    assert len(list((project.folder / "results/ci").iterdir())) == 1


def test_no_run_of_ci_is_taken_for_a_night(project: Project, tools: Path):
    """What an artifact says of itself counts for nothing, and a night of this machine gets no attempts from one."""
    assert project.demeanor("nightly", "--trials", "3").returncode == 1
    artifacts = project.folder.parent / "artifacts"
    shutil.copytree(project.folder / "results", artifacts / "evals-nightly", symlinks=True)
    (run,) = artifacts.rglob("run.json")
    play_gh(project, tools)
    info = json.loads(run.read_text())
    for own, kinds in (({}, ["nightly"]), ({"uid": "0" * 32, "id": "another"}, ["ci", "nightly"])):
        run.write_text(json.dumps({**info, "run": {**info["run"], **own}}))
        assert project.demeanor("fix", URL, "--dry-run").returncode == 0
        with closing(sqlite3.connect(project.folder / "results/demeanor.db")) as history:
            assert sorted(kind for (kind,) in history.execute("SELECT kind FROM runs")) == kinds


def test_without_gh_the_remedy_is_told(project: Project, tools: Path):
    """Nothing is left behind."""
    done = project.demeanor("fix", URL, "--dry-run")
    assert done.returncode == 2
    assert "gh, GitHub's command line, which is not on PATH" in done.stderr
    assert "gh auth login" in done.stderr
    assert not (project.folder / "results" / "ci").exists()


def test_what_gh_reports_is_shown(project: Project, tools: Path):
    """A run without artifacts, or one that can't be reached."""
    play_gh(project, tools)
    done = project.demeanor("fix", URL, "--dry-run")
    assert done.returncode == 2
    assert "could not download the artifacts of run 123456789 of acme/agent: no valid artifacts found" in done.stderr
    (project.folder.parent / "artifacts" / "coverage").mkdir(parents=True)
    other = project.demeanor("fix", URL, "--dry-run")
    assert other.returncode == 2
    assert "contain no run of Demeanor (artifacts: coverage)" in other.stderr


def test_links_are_recognised() -> None:
    """Also with an attempt or a job, and on GitHub Enterprise; other links are an error."""
    assert parse_ci_run(URL) == CiRun(repository="acme/agent", id="123456789")
    enterprise = parse_ci_run("https://git.acme.example/team/agent/actions/runs/7?pr=1")
    assert enterprise == CiRun(repository="git.acme.example/team/agent", id="7")
    assert parse_ci_run("saves_the_note") is None
    assert parse_ci_run(None) is None
    with pytest.raises(UsageError, match="is not a link to a run of GitHub Actions"):
        parse_ci_run("https://github.com/acme/agent/pull/3")
