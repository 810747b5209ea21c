"""What an agent is made of, where there is more of it than can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.core.values.agent import Orders
from demeanor.core.values.process import Launch
from demeanor.runner import Catalog
from demeanor.runner.agent_files import agent_files
from tests.vcs.test_commit_range import Repository


def test_too_many_files_are_known_by_the_commit_and_the_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside a repository they are unknown."""
    monkeypatch.setattr("demeanor.runner.agent_files._MOST_FILES", 1)
    (tmp_path / "demeanor.toml").write_text("")
    (tmp_path / "agent").mkdir()
    for name in ("a", "b"):
        (tmp_path / "agent" / name).write_text("x")
    orders = Orders(launches=(Launch(argv=("/bin/sh",), reads=(str(tmp_path / "agent"),)),))

    def identity() -> str:
        config = read_config(tmp_path)
        agent = Catalog(config=config, environ={}).agent("native")
        return agent_files(config).identity(agent, orders, confined=True)

    assert identity() == "?"
    repository = Repository(tmp_path)
    repository.commit("one")
    found = [identity(), identity()]
    (tmp_path / "agent" / "a").write_text("y")
    found.append(identity())
    repository.commit("two")
    found.append(identity())
    assert [len(one) for one in found] == [12] * 4
    assert (found[0] == found[1], len({*found})) == (True, 3)
