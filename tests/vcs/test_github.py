"""GitHub through gh: which repository a clone belongs to, and an answer that does not come or makes no sense."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from demeanor.core.values.errors import BadInput
from demeanor.vcs import GitHub, GitHubError, github, github_repository
from demeanor.vcs.github import Artifact, unpack
from tests.helpers.github import REPOSITORY, PlayedGitHub
from tests.vcs.test_commit_range import Repository

ARTIFACT = Artifact(id=1, name="evals", size=1, expired=False, digest="")


@pytest.mark.parametrize(
    ("address", "repository"),
    [
        ("https://github.com/acme/agent.git", "acme/agent"),
        ("https://user:token@github.com/acme/agent", "acme/agent"),
        ("git@github.com:acme/agent.git", "acme/agent"),
        ("ssh://git@ssh.github.com:443/acme/agent.git", "acme/agent"),
        ("https://acme.ghe.com/team/agent/", "acme.ghe.com/team/agent"),
        ("git@github.acme.example:team/agent.git", "github.acme.example/team/agent"),
        ("https://git.acme.example/team/agent", "git.acme.example/team/agent"),
        ("https://gitlab.com/acme/agent.git", ""),
        ("../agent", ""),
        ("/srv/git/agent.git", ""),
    ],
)
def test_the_repository_of_a_remote(tmp_path: Path, address: str, repository: str):
    """In every form of an address; another host counts if the user says that it is GitHub's."""
    clone = Repository(tmp_path)
    assert github_repository(tmp_path, {}) is None
    clone.git("remote", "add", "origin", address)
    assert github_repository(tmp_path, {"GH_HOST": "git.acme.example"}) == repository


def test_the_remote_that_nights_run_in(tmp_path: Path):
    """A fork's upstream, unless the user chose another one with gh."""
    clone = Repository(tmp_path)
    clone.git("remote", "add", "origin", "https://github.com/me/agent")
    clone.git("remote", "add", "mirror", "https://gitlab.com/acme/agent")
    assert github_repository(tmp_path, {}) == "me/agent"
    clone.git("remote", "add", "upstream", "https://github.com/acme/agent")
    assert github_repository(tmp_path, {}) == "acme/agent"
    clone.git("config", "remote.origin.gh-resolved", "base")
    assert github_repository(tmp_path, {}) == "me/agent"


def test_an_answer_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A network that swallows everything must not stop a command."""
    played = PlayedGitHub(tmp_path / "github", problem="hangs")
    played.install(tmp_path)
    monkeypatch.setattr(github, "_ANSWER_TIME", 0.5)
    with pytest.raises(GitHubError, match="did not answer gh within"):
        GitHub(REPOSITORY, {**os.environ, "PATH": str(tmp_path)}).run(1)


@pytest.mark.parametrize(
    "change", [{"id": "1"}, {"id": -1}, {"repository": None}, {"head_sha": 7}, {"run_attempt": []}]
)
def test_an_answer_that_makes_no_sense(tmp_path: Path, change: dict[str, object]):
    """It is an error of GitHub's answer, whatever is wrong with it."""
    played = PlayedGitHub(tmp_path / "github", host="github.acme.example")
    played.install(tmp_path)
    number = played.run("c0ffee", "2020-01-01")
    client = GitHub(f"github.acme.example/{REPOSITORY}", {**os.environ, "PATH": str(tmp_path)})
    assert client.run(number).commit == "c0ffee"
    played.runs[0] |= change
    played.save()
    with pytest.raises(GitHubError, match="GitHub's answer can't be read"):
        list(client.runs("evals-nightly.yml", "main"))


def test_an_archive_that_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its size is known before it is unpacked; what is not part of a run is left out."""
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("other.txt", "x" * 5000)
        files.writestr("night/run.json", "{}")
    monkeypatch.setattr(github, "_MOST_BYTES", 1000)
    unpack(ARTIFACT, archive, tmp_path / "out", beside="run.json")
    assert [path.name for path in (tmp_path / "out").rglob("*.*")] == ["run.json"]
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as files:
        files.writestr("night/ledger.jsonl", "x" * 5000)
    with pytest.raises(BadInput, match="the artifact evals: is too large"):
        unpack(ARTIFACT, archive, tmp_path / "more", beside="run.json")
    assert not (tmp_path / "more").exists()


@pytest.mark.parametrize("name", ["../out/run.json", "/tmp/demeanor-stranger/run.json", "results/a/../../../run.json"])
def test_no_path_of_a_packed_artifact_leads_out(tmp_path: Path, name: str):
    """Neither do links; files of runs are unpacked with whatever name they have."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as files:
        for path in (name, "results/a/run.json", "results/a/case: 1?.log", "results/demeanor.db"):
            files.addfile(tarfile.TarInfo(path))
        link = tarfile.TarInfo("results/a/outside")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        files.addfile(link)
        files.addfile(tarfile.TarInfo("results/a/outside/passwd"))
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("results.tgz", packed.getvalue())
    unpack(ARTIFACT, archive, tmp_path / "out" / "in", beside="run.json")
    unpacked = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert unpacked == {"in/results/a/run.json", "in/results/a/case: 1?.log", "in/results/a/outside/passwd"}
    assert not Path("/tmp/demeanor-stranger").exists()
