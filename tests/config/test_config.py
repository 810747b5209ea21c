"""What a project says once."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.config.tables import Limit
from demeanor.core.values.errors import BadInput


def test_without_a_file_the_defaults_hold(tmp_path: Path):
    """And the current folder is the root."""
    config = read_config(tmp_path)
    assert (config.file, config.root, config.subjects) == (None, tmp_path, ())


def test_the_nearest_file_above_counts(tmp_path: Path):
    """Its folder is what paths are relative to."""
    (tmp_path / "demeanor.toml").write_text("trials = 5\n")
    (tmp_path / "deep/er").mkdir(parents=True)
    config = read_config(tmp_path / "deep/er")
    assert (config.trials, config.root) == (5, tmp_path)


def test_pyproject_has_a_table_for_it(tmp_path: Path):
    """A pyproject without that table is passed by."""
    (tmp_path / "pyproject.toml").write_text('[tool.demeanor]\nsubjects = ["a:b"]\n[tool.demeanor.agents.a]\nx = 1\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/pyproject.toml").write_text("[project]\n")
    config = read_config(tmp_path / "sub")
    assert config.subjects == ("a:b",)
    assert config.agents == {"a": {"x": 1}}


def test_budgets_are_read(tmp_path: Path):
    """Per trial, per eval and per run."""
    (tmp_path / "demeanor.toml").write_text("[budgets.trial]\ntokens = 5\n[budgets.run]\nusd = 1\n")
    assert read_config(tmp_path).budgets == {"trial": Limit(tokens=5), "run": Limit(usd=1.0)}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("trails = 1", "did you mean 'trials'"),
        ("trials = 1.5", "expected a whole number"),
        ("timeout = 0", "expected a number of at least 0.1"),
        ("subjects = 'a:b'", "expected a list"),
        ("agents = 3", "expected a table"),
        ("[agents]\na = 3", "write [agents.a] above its keys"),
        ("[agents.'a:b']", "a name must not contain a colon"),
        ("[budgets.trail]\nusd = 1", "did you mean 'trial'"),
        ("[budgets.run]\neur = 1", "budgets.run.eur: unknown key"),
        ("[evidence]\nusually = 1.5", "evidence.usually: "),
        ("[evidence]\nallways = 1", "did you mean 'always'"),
        ("[nightly]\nmin_trials = 0", "nightly.min_trials: "),
        ("[gate]\nmanual_promotion = 'maybe'", "gate.manual_promotion: "),
        ("trials = [", "is not valid TOML"),
        ("trials = 1\ntrials = 2", "is not valid TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, complaint: str):
    """File, key and what would have been right."""
    (tmp_path / "demeanor.toml").write_text(text)
    with pytest.raises(BadInput) as caught:
        read_config(tmp_path)
    assert complaint in str(caught.value)
    assert str(tmp_path / "demeanor.toml") in str(caught.value)


def test_bytes_that_are_no_text_are_named(tmp_path: Path):
    """Instead of a traceback."""
    (tmp_path / "demeanor.toml").write_bytes(b"\xff")
    with pytest.raises(BadInput, match="is not UTF-8 text"):
        read_config(tmp_path)
