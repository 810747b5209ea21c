"""Nights that ran on GitHub, in a clone that has none of them: every command that needs nights gets them itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from demeanor.store.runs import RUN_FILE
from tests.helpers.github import REPOSITORY, PlayedGitHub
from tests.helpers.project import Project
from tests.helpers.versions import Versions

NIGHTS = 10
WORKFLOW = "jobs: { evals: { steps: [{ run: demeanor nightly }] } }\n"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Versions:
    """A repository with a nightly workflow, and ten nights that it ran elsewhere."""
    versions = Versions(Project(tmp_path_factory.mktemp("ran") / "project"))
    versions.project.write(**{".github__workflows__evals-nightly_yml": WORKFLOW})
    versions.commit()
    versions.nights(NIGHTS)
    return versions


class Clone:
    """A clone of the repository on another machine."""

    def __init__(self, ran: Versions, folder: Path) -> None:
        self.project = Project(folder / "clone")
        git = ("git", "-C", str(self.project.folder))
        subprocess.run(["git", "clone", "--quiet", str(ran.folder), str(self.project.folder)], check=True)
        subprocess.run([*git, "remote", "set-url", "origin", f"https://github.com/{REPOSITORY}.git"], check=True)
        subprocess.run(["make", "--silent", "build"], cwd=self.project.folder, check=True)
        self.commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[
            :-1
        ]
        self.tools = folder / "tools"
        self.tools.mkdir()
        for name in ("git", "make", "sh", "mkdir", "cp", "cat", "cut", "printf", "dirname"):
            program = shutil.which(name)
            assert program, name
            (self.tools / name).symlink_to(program)
        self.project.env["PATH"] = str(self.tools)
        self.github = PlayedGitHub(folder / "github")
        self.ran = ran

    def publish(self, first: int = 1, last: int = NIGHTS) -> None:
        """Let GitHub have nights, as its workflow leaves them."""
        self.github.install(self.tools)
        for path in self.nights()[first - 1 : last]:
            self.github.upload(self.github.run(self.commit, started(path)[:10]), [path])

    def nights(self) -> list[Path]:
        """The folders of the nights, the oldest first."""
        runs = (path.parent for path in (self.ran.folder / "results").glob(f"*/{RUN_FILE}"))
        return sorted((path for path in runs if not path.is_symlink()), key=started)

    def ask_again(self) -> None:
        """Let the last question to GitHub be long ago."""
        os.utime(self.project.folder / "results/ci/asked", (0, 0))


def started(run: Path) -> str:
    return str(json.loads((run / RUN_FILE).read_text())["run"]["started"])


@pytest.fixture
def clone(ran: Versions, tmp_path: Path) -> Clone:
    machine = tmp_path / "machine"
    machine.mkdir()
    return Clone(ran, machine)


def promoted(clone: Clone) -> dict[str, Any]:
    done = clone.project.demeanor("promote", "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_an_eval_is_promoted_in_a_fresh_clone(clone: Clone):
    """The nights are fetched once, with progress; a night that ended since then is fetched alone."""
    clone.publish(last=NIGHTS - 1)
    done = clone.project.demeanor("promote", "--json")
    report = json.loads(done.stdout)
    assert (report["nights"], report["candidates"][0]["answer"]) == (9, "wait"), done.stderr
    progress = done.stderr.splitlines()
    assert len(progress) == 9
    assert progress[0] == f"demeanor: fetching the night of 2020-01-02 from {REPOSITORY} (1 of 9)"
    assert len(clone.github.calls()) == 1 + 2 * 9
    clone.publish(first=NIGHTS)
    assert promoted(clone)["nights"] == 9
    assert clone.github.calls() == []
    clone.ask_again()
    done = clone.project.demeanor("promote", "--rule", "classic", "--apply")
    assert done.returncode == 0, done.stderr
    assert "changed  evals/eval_a.py  usually  verified here" in done.stdout
    assert len(clone.github.calls()) == 1 + 2


def test_the_report_the_gate_and_a_fix_use_them(clone: Clone):
    """Each of them in a clone without a history; a shared history gets its nights from CI itself."""
    clone.publish(first=9)
    results = clone.project.folder / "results"
    other = clone.project.demeanor("report", DEMEANOR_STORE="other.db")
    assert (other.returncode, clone.github.calls()) == (2, [])
    report = clone.project.demeanor("report", "--format", "markdown")
    assert report.returncode == 0, report.stderr
    assert "### Night of 2020-01-11" in report.stdout
    shutil.rmtree(results)
    series = json.loads(clone.project.demeanor("report", "--eval", "usually", "--json").stdout)
    assert len(json.dumps(series).split("2020-01-1")) > 2
    shutil.rmtree(results)
    gate = clone.project.demeanor("gate", "--json", "--policy", "all", "--no-build")
    assert [row["past"]["nights"] for row in json.loads(gate.stdout)["rows"]] == [2, 2], gate.stderr
    shutil.rmtree(results)
    fix = clone.project.demeanor("fix", "usually", "--dry-run", "--json")
    assert json.loads(fix.stdout)["evals"] == ["usually"], fix.stderr


def test_only_finished_runs_of_the_branch_itself_are_read(clone: Clone):
    """Not a run in progress, a pull request, a fork's main branch or an artifact that has expired, on any page."""
    clone.publish(last=2)
    for _ in range(60):
        run = clone.github.run(clone.commit, "2020-01-20", event="pull_request", fork=True)
    clone.github.upload(run, clone.nights()[2:3])
    clone.github.upload(clone.github.run(clone.commit, "2020-01-21", status="in_progress"), clone.nights()[3:4])
    clone.github.upload(clone.github.run(clone.commit, "2020-01-22"), clone.nights()[4:5], expired=True)
    clone.github.run(clone.commit, "2020-01-23")
    done = clone.project.demeanor("promote", "--json")
    assert json.loads(done.stdout)["nights"] == 2
    assert f"2 nightly runs of {REPOSITORY} left nothing that GitHub still has" in done.stderr
    assert sum("page=2" in call for call in clone.github.calls()) == 1
    clone.ask_again()
    again = clone.project.demeanor("promote", "--json")
    assert (again.stderr, json.loads(again.stdout)["nights"]) == ("", 2)
    assert [call for call in clone.github.calls() if "workflows" not in call] == []


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ("signed out", "please run: gh auth login"),
        ("no rights", f"gh could not read {REPOSITORY}: gh: Not Found (HTTP 404) → `gh auth status`"),
        ("no network", "error connecting to api.github.com"),
    ],
)
def test_what_gh_says_is_told_in_a_line(clone: Clone, problem: str, said: str):
    """And the command goes on with what it has."""
    clone.github.problem = problem
    clone.publish(last=1)
    done = clone.project.demeanor("promote", "--json")
    assert (done.returncode, json.loads(done.stdout)["nights"]) == (0, 0)
    (line,) = done.stderr.splitlines()
    assert line.startswith("demeanor: no newer nights of CI were fetched: ")
    assert said in line


def test_without_gh_or_on_another_service_a_line_says_how(clone: Clone):
    """Not for a repository that never left this machine, nor once there are nights."""
    done = clone.project.demeanor("promote")
    (line,) = done.stderr.splitlines()
    assert "install gh and run `gh auth login`, or download them yourself: `demeanor store import FOLDER`" in line
    subprocess.run(["git", "-C", clone.project.folder, "remote", "set-url", "origin", "git@gitlab.com:a/b"], check=True)
    (line,) = clone.project.demeanor("promote").stderr.splitlines()
    assert line == (
        "demeanor: the nights of .github/workflows/evals-nightly.yml are not in this history"
        " → download the artifacts of its jobs, then: demeanor store import FOLDER"
    )
    assert clone.project.demeanor("store", "import", str(clone.nights()[0])).returncode == 0
    assert clone.project.demeanor("promote").stderr == ""
    shutil.rmtree(clone.project.folder / "results")
    subprocess.run(["git", "-C", clone.project.folder, "remote", "remove", "origin"], check=True)
    assert clone.project.demeanor("promote").stderr == ""


def test_a_link_to_a_night_counts_as_one_only_if_it_would_be_fetched(clone: Clone):
    """A pull request can upload what it likes, and name its branch main."""
    clone.publish(last=1)
    stranger = clone.github.run(clone.commit, "2020-01-03", event="pull_request", fork=True)
    clone.github.upload(stranger, clone.nights()[1:2])
    for number in (1000, stranger):
        url = f"https://github.com/{REPOSITORY}/actions/runs/{number}"
        done = clone.project.demeanor("fix", "usually", "--run", url, "--dry-run")
        assert done.returncode == 0, done.stderr
    runs = clone.project.demeanor("report", "--eval", "usually", "--kind", "all", "--json")
    assert len(set(re.findall(r'"started": "(2020-[^"]*)"', runs.stdout))) == 2
    clone.github.calls()
    assert promoted(clone)["nights"] == 1
    assert [call for call in clone.github.calls() if call.endswith("/zip")] == []


def test_what_was_imported_by_hand_is_not_downloaded(clone: Clone):
    """It is recognised by its commit and its time."""
    clone.publish(first=9)
    done = clone.project.demeanor("store", "import", str(clone.nights()[8]))
    assert done.returncode == 0, done.stderr
    assert promoted(clone)["nights"] == 2
    assert [call.rpartition("/")[2] for call in clone.github.calls() if "zip" in call] == ["zip"]


def test_in_ci_only_a_job_without_any_night_and_with_a_token_asks(clone: Clone):
    """The others have a history, or get one from a cache."""
    clone.publish(first=NIGHTS)
    assert clone.project.demeanor("promote", CI="true").stderr == ""
    assert clone.github.calls() == []
    done = clone.project.demeanor("promote", CI="true", GH_TOKEN="x")
    assert "fetching the night of 2020-01-11" in done.stderr
    clone.ask_again()
    clone.github.calls()
    assert clone.project.demeanor("promote", CI="true", GH_TOKEN="x").stderr == ""
    assert clone.github.calls() == []


def test_a_damaged_night_is_left_out_and_the_others_are_read(clone: Clone):
    """An archive that is none, a run that was tampered with; one whose checksum differs ends the download."""
    clone.publish(first=7)
    bad, tampered, *_ = (clone.github.artifacts[str(1000 + number)][0] for number in range(4))
    (clone.github.folder / f"{bad['id']}.zip").write_text("no archive")
    bad["digest"] = None
    with zipfile.ZipFile(clone.github.folder / f"{tampered['id']}.zip", "w") as files:
        files.writestr("../../../outside/run.json", '{"schema": "demeanor-run/1"}')
        files.writestr("night/run.json", '{"schema": "demeanor-run/1", "run": {"id": "../x", "started": "now"}}')
    del tampered["digest"]
    clone.github.save()
    done = clone.project.demeanor("promote", "--json")
    assert json.loads(done.stdout)["nights"] == 2, done.stderr
    left_out = re.findall("the night of (.*) was left out", done.stderr)
    assert left_out == ["2020-01-08", "2020-01-09"]
    places = {path.parent.name for path in clone.project.folder.parent.parent.rglob("outside")}
    assert places == {"5001"}, "what leads out of the folder stays in it"
    damaged = clone.github.artifacts["1003"][0]
    damaged["digest"] = f"sha256:{'0' * 64}"
    clone.github.save()
    shutil.rmtree(clone.project.folder / "results")
    done = clone.project.demeanor("promote", "--json")
    assert json.loads(done.stdout)["nights"] == 1
    assert "arrived damaged" in done.stderr


def test_secrets_of_this_machine_are_redacted(clone: Clone):
    """As in everything that is stored here: whoever made the artifact did not know them."""
    secret = "correct-horse-battery-staple"
    config = clone.project.folder / "demeanor.toml"
    provider = 'dialect = "anthropic"\nbase_url = "http://127.0.0.1:9"\nkey_env = "ACME_KEY"'
    config.write_text(f"{config.read_text()}\n[providers.acme]\n{provider}\n")
    clone.github.install(clone.tools)
    night = clone.github.folder / "night"
    shutil.copytree(clone.nights()[0], night)
    ledger = night / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace("done", secret))
    clone.github.upload(clone.github.run(clone.commit, "2020-01-02"), [night])
    assert clone.project.demeanor("promote", ACME_KEY=secret).returncode == 0
    database = (clone.project.folder / "results/demeanor.db").read_bytes()
    assert b"usually" in database
    assert secret.encode() not in database
