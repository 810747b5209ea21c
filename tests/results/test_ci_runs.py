"""A link to a run of GitHub Actions: its artifacts are downloaded with the user's gh, which a program plays here."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from demeanor.core.values.errors import UsageError
from demeanor.results.ci_runs import CiRun, parse_ci_run
from tests.helpers.github import PlayedGitHub
from tests.helpers.project import Project

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_elsewhere(rig, result):
    assert rig.workspace["other.txt"].text
"""
URL = "https://github.com/acme/agent/actions/runs/{}/attempts/2"


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
        subprocess.run([git, *words], cwd=project.folder, env=project.env, check=True)
    return folder


@pytest.fixture
def github(project: Project, tools: Path) -> PlayedGitHub:
    played = PlayedGitHub(project.folder.parent / "github")
    played.install(tools)
    return played


def test_the_artifacts_of_a_ci_run_are_diagnosed(project: Project, github: PlayedGitHub):
    """A machine without a history gets the run, its captures included; fetching it again adds nothing."""
    ran = project.demeanor("nightly", "--trials", "3", "--json")
    assert ran.returncode == 1, ran.stderr
    number = github.run("c0ffee", "2020-01-01", event="pull_request", head_branch="mine")
    name = json.loads(ran.stdout)["run"]["id"]
    github.upload(number, [project.folder / "results" / name], tar=False)
    shutil.rmtree(project.folder / "results")
    for words in ((URL.format(number),), ("saves_elsewhere", "--run", URL.format(number))):
        done = project.demeanor("fix", *words, "--dry-run", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["evals"] == ["saves_elsewhere"]
    evidence = [path.name for path in (project.folder / "results/fixes").rglob("*failing.txt")]
    assert evidence == ["1-saves_elsewhere-failing.txt"] * 2
    assert [path.name for path in (project.folder / "results/ci").iterdir()] == [f"{number}-1"]
    assert sum(call.endswith("/zip") for call in github.calls()) == 1


def test_a_run_in_progress_is_downloaded_again(project: Project, github: PlayedGitHub):
    """Its artifacts may have grown."""
    ran = json.loads(project.demeanor("nightly", "--trials", "3", "--json").stdout)
    number = github.run("c0ffee", "2020-01-01", status="in_progress")
    github.upload(number, [project.folder / "results" / ran["run"]["id"]])
    for _ in range(2):
        assert project.demeanor("fix", URL.format(number), "--dry-run").returncode == 0
    assert sum(call.endswith("/zip") for call in github.calls()) == 2


@pytest.mark.parametrize("event", ["pull_request", "schedule"])
def test_no_proposed_change_and_no_other_repository_has_nights(project: Project, github: PlayedGitHub, event: str):
    """What an artifact says of itself counts for nothing, and a night of this machine gets no attempts from one."""
    name = json.loads(project.demeanor("nightly", "--trials", "3", "--json").stdout)["run"]["id"]
    copy = project.folder.parent / "artifacts" / name
    shutil.copytree(project.folder / "results" / name, copy)
    info = json.loads((copy / "run.json").read_text())
    for own, kinds in (({}, ["nightly"]), ({"uid": "0" * 32, "id": "another"}, ["ci", "nightly"])):
        (copy / "run.json").write_text(json.dumps({**info, "run": {**info["run"], **own}}))
        number = github.run("c0ffee", "2020-01-01", event=event, head_branch="main")
        github.upload(number, [copy])
        assert project.demeanor("fix", URL.format(number), "--dry-run").returncode == 0
        with closing(sqlite3.connect(project.folder / "results/demeanor.db")) as history:
            assert sorted(kind for (kind,) in history.execute("SELECT kind FROM runs")) == kinds


def test_without_gh_the_remedy_is_told(project: Project, tools: Path):
    """Nothing is left behind."""
    done = project.demeanor("fix", URL.format(7), "--dry-run")
    assert done.returncode == 2
    assert "gh, GitHub's command line, which is not on PATH" in done.stderr
    assert "gh auth login" in done.stderr
    assert not (project.folder / "results" / "ci").exists()


def test_what_gh_reports_is_shown(project: Project, github: PlayedGitHub):
    """A run that can't be reached, and one without artifacts of Demeanor."""
    done = project.demeanor("fix", URL.format(7), "--dry-run")
    assert done.returncode == 2
    assert "gh could not read acme/agent: gh: Not Found (HTTP 404)" in done.stderr
    number = github.run("c0ffee", "2020-01-01")
    (github.folder / "site").mkdir()
    (github.folder / "site/index.html").write_text("<html>")
    github.upload(number, [github.folder / "site"], name="coverage")
    other = project.demeanor("fix", URL.format(number), "--dry-run")
    assert other.returncode == 2
    assert f"the artifacts of run {number} of acme/agent contain no run of Demeanor, or have expired" in other.stderr


def test_links_are_recognised() -> None:
    """Also with an attempt or a job, and on GitHub Enterprise; other links are an error."""
    assert parse_ci_run(URL.format(123456789)) == CiRun(repository="acme/agent", id=123456789)
    enterprise = parse_ci_run("https://git.acme.example/team/agent/actions/runs/7?pr=1")
    assert enterprise == CiRun(repository="git.acme.example/team/agent", id=7)
    assert parse_ci_run("saves_the_note") is None
    assert parse_ci_run(None) is None
    with pytest.raises(UsageError, match="is not a link to a run of GitHub Actions"):
        parse_ci_run("https://github.com/acme/agent/pull/3")
