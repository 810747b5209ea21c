"""Where Demeanor was installed from, as pip notes it, and the command that adds an extra."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest

import demeanor
from demeanor._version import __version__
from demeanor.core.installation import install_extra, installed_from
from tests.helpers.installed import COMMIT, FROM_GIT, installed_in

WHEEL = "demeanor-0.1.0-py3-none-any.whl"


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=Ann", "-c", "user.email=ann@example.test", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def vcs(url: str, **more: Any) -> dict[str, Any]:
    return {**FROM_GIT, "url": url, **more}


def archive(url: str, **info: Any) -> dict[str, Any]:
    return {"url": url, "archive_info": info}


@pytest.mark.parametrize(
    ("direct_url", "requirement"),
    [
        (None, f"demeanor[mcp]=={__version__}"),
        (FROM_GIT, f"demeanor[mcp] @ git+https://git.example/acme/demeanor.git@{COMMIT}"),
        (vcs("ssh://git@git.example/acme/d"), f"demeanor[mcp] @ git+ssh://git@git.example/acme/d@{COMMIT}"),
        (vcs("https://git.example/all", subdirectory="a/d"),
         f"demeanor[mcp] @ git+https://git.example/all@{COMMIT}#subdirectory=a/d"),
        (archive(f"https://files.example/{WHEEL}", hashes={"sha256": "ab12"}, hash="sha256=ab12"),
         f"demeanor[mcp] @ https://files.example/{WHEEL}#sha256=ab12"),
        (archive(f"https://files.example/{WHEEL}", hash="sha256=ab12"),
         f"demeanor[mcp] @ https://files.example/{WHEEL}#sha256=ab12"),
        (archive(f"https://files.example/{WHEEL}"), f"demeanor[mcp] @ https://files.example/{WHEEL}"),
        (archive(f"file:///home/ann/{WHEEL}", hashes={"sha256": "ab12"}), ""),
        (vcs("file:///nowhere/demeanor"), ""),
        ({"url": "file:///nowhere/demeanor", "dir_info": {"editable": True}}, ""),
    ],
)  # fmt: skip
def test_what_other_machines_can_install_is_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct_url: dict[str, Any] | None, requirement: str
) -> None:
    monkeypatch.syspath_prepend(installed_in(tmp_path, direct_url))
    assert installed_from().requirement("mcp") == requirement


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://ann:s3cret@git.example/acme/d", f" @ git+https://git.example/acme/d@{COMMIT}"),
        ("https://${TOKEN}@git.example/acme/d", f" @ git+https://git.example/acme/d@{COMMIT}"),
        ("ssh://git:s3cret@git.example:22/acme/d", f" @ git+ssh://git@git.example:22/acme/d@{COMMIT}"),
        ("https://git.example/acme/d?private_token=s3cret", ""),
        ('https://git.example/a"$(d)', f" @ git+https://git.example/a%22%24%28d%29@{COMMIT}"),
    ],
)
def test_neither_credentials_nor_code_of_a_shell_leave_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, clean: str
) -> None:
    """Without its query an address may not work, so such a place is not written at all."""
    monkeypatch.syspath_prepend(installed_in(tmp_path, vcs(url)))
    assert installed_from().pin == clean
    assert "s3cret" not in installed_from().place


def test_a_clone_is_pinned_if_its_remote_has_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a folder of it or the clone itself was installed; never a commit that was not pushed."""
    shared, clone = tmp_path / "shared", tmp_path / "clone"
    git(tmp_path, "init", "--quiet", str(shared))
    git(shared, "commit", "--quiet", "--allow-empty", "--message", "First")
    git(tmp_path, "clone", "--quiet", str(shared), str(clone))
    (clone / "packages").mkdir()
    pushed = git(clone, "rev-parse", "HEAD").strip()
    monkeypatch.syspath_prepend(
        installed_in(tmp_path / "index", {"url": (clone / "packages").as_uri(), "dir_info": {"editable": True}})
    )
    assert installed_from().pin == ""  # the remote is a path on this machine
    git(clone, "remote", "set-url", "origin", "git@git.example:acme/all.git")
    subfolder = f" @ git+ssh://git@git.example/acme/all.git@{pushed}#subdirectory=packages"
    assert installed_from().pin == subfolder
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "Not pushed")
    assert installed_from().pin == ""
    notes = {"url": clone.as_uri(), "vcs_info": {"vcs": "git", "commit_id": pushed}}
    monkeypatch.syspath_prepend(installed_in(tmp_path / "again", notes))
    assert installed_from().pin == f" @ git+ssh://git@git.example/acme/all.git@{pushed}"


def test_an_extra_is_installed_as_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Into the environment that runs: with its `pip` if that is the one on PATH."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    command, verb, *packages = shlex.split(install_extra("mcp"))
    assert (command, verb, [re.split("[<>=]", package)[0] for package in packages]) == (
        "pip", "install", ["jsonschema", "mcp"]
    )  # fmt: skip
    monkeypatch.setenv("PATH", "/nonexistent")
    assert install_extra("watch").startswith(f"{sys.executable} -m pip install 'watchfiles>=")


def test_remedies_name_extras_that_exist() -> None:
    package = Path(demeanor.__file__).parent
    texts = [path.read_text("utf-8") for path in package.rglob("*.py")]
    extras = {extra for text in texts for extra in re.findall(r"""install_extra\(["'](\w+)""", text)}
    assert len(extras) > 5
    assert extras <= set(metadata("demeanor").get_all("Provides-Extra") or ())
    assert not any("pip install demeanor" in text or "pip install 'demeanor" in text for text in texts)
