"""Creating the sandbox of a run: errors have a remedy, and weaker isolation is never used silently."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.config.config import Config
from demeanor.core.errors import BadInput, UnknownName, UsageError
from demeanor.core.sandbox_spec import RANKS
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


def test_a_level_that_does_not_work_names_the_remedy_and_weaker_levels(tmp_path: Path) -> None:
    """They are only suggested, and only those of this platform."""
    with pytest.raises(UsageError, match="the sandbox 'seatbelt' does not work on this machine") as caught:
        verified_sandbox("seatbelt", Config(root=tmp_path))
    assert "seatbelt needs macOS" in str(caught.value)
    assert "→ use weaker isolation: --sandbox none" in str(caught.value)


def test_no_isolation_needs_no_probe(tmp_path: Path) -> None:
    """Nothing is written to the cache."""
    environ = {"DEMEANOR_CACHE": str(tmp_path / "cache")}
    sandbox = probed_sandbox("none", Config(root=tmp_path), environ)
    asyncio.run(sandbox.stop())
    assert not (tmp_path / "cache").exists()
