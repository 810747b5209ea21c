"""Creating the sandbox of a run: errors have a remedy, and weaker isolation is never used silently."""

from __future__ import annotations

import asyncio
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.config.config import Config
from demeanor.core.values.errors import BadInput, UnknownName, UsageError
from demeanor.core.values.sandbox_spec import RANKS
from demeanor.runner.sandbox import MAKERS, make_sandbox, probed_sandbox, verified_sandbox


def test_every_level_can_be_created() -> None:
    """The table of levels and the table of ranks have the same names."""
    assert set(MAKERS) == set(RANKS)


def test_an_unknown_level_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    """Before anything runs."""
    with pytest.raises(UnknownName, match="did you mean 'bubblewrap'"):
        make_sandbox("bublewrap", Config(root=tmp_path))


def test_a_level_below_the_required_one_is_refused(tmp_path: Path) -> None:
    """With the option that would do."""
    config = replace(Config(root=tmp_path), min_isolation="bubblewrap")
    with pytest.raises(
        BadInput, match="requires 'bubblewrap' or stronger isolation, and the sandbox 'none' is weaker"
    ) as caught:
        make_sandbox("none", config)
    assert caught.value.remedy == "run with --sandbox bubblewrap"


@pytest.fixture
def only_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH without docker."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/git").symlink_to(shutil.which("git") or "git")
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))


@pytest.mark.usefixtures("only_git")
def test_a_level_that_does_not_work_names_the_remedy_and_the_strongest_that_works(tmp_path: Path) -> None:
    """It is only suggested."""
    with pytest.raises(UsageError, match="the sandbox 'docker' does not work on this machine") as caught:
        verified_sandbox("docker", Config(root=tmp_path))
    problem, *remedies = str(caught.value).split("\n  → ")
    assert "docker is not on PATH" in problem
    assert remedies[0].startswith("install docker")
    assert remedies[1:] == ["or use weaker isolation, which works here: --sandbox landlock"]
    least = Config(root=tmp_path, min_isolation="podman")
    with pytest.raises(UsageError, match="docker") as caught:
        verified_sandbox("docker", least)
    assert "--sandbox" not in str(caught.value)


@pytest.mark.usefixtures("only_git")
def test_outside_linux_only_the_level_none_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS."""
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(UsageError) as caught:
        verified_sandbox("docker", Config(root=tmp_path))
    _, *remedies = str(caught.value).split("\n  → ")
    assert remedies == ["only --sandbox none works here, without isolation"]


def test_no_isolation_needs_no_probe(tmp_path: Path) -> None:
    """Nothing is written to the cache."""
    environ = {"DEMEANOR_CACHE": str(tmp_path / "cache")}
    sandbox = probed_sandbox("none", Config(root=tmp_path), environ)
    asyncio.run(sandbox.stop())
    assert not (tmp_path / "cache").exists()
