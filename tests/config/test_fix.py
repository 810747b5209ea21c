"""`[fix]` as people write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.config.fix import FixRules
from demeanor.core.values.errors import BadInput


def rules(folder: Path, text: str) -> FixRules:
    (folder / "demeanor.toml").write_text(text)
    return read_config(folder).fix


def test_all_of_it(tmp_path: Path):
    """Every key may be left out, too."""
    assert rules(tmp_path, "") == FixRules()
    assert rules(tmp_path, '[fix]\nguard = "none"\n') == FixRules(guard="none")
    text = """\
[fix]
fixer = "claude-code:large"
allowed = ["prompts/**"]
evals = true
subjects = ["mine:a", "mine:b"]
rule = "optimal"
trials = 5
guard = ["one", "two"]
rounds = 2
timeout = 60
budget_usd = 1.5
"""
    assert rules(tmp_path, text) == FixRules(
        fixer="claude-code:large",
        allowed=("prompts/**",),
        evals=True,
        subjects=("mine:a", "mine:b"),
        rule="optimal",
        trials=5,
        guard=("one", "two"),
        rounds=2,
        timeout=60.0,
        budget_usd=1.5,
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('fixxer = "x"', "did you mean 'fixer'?"),
        ('rule = "optimum"', "did you mean 'optimal'?"),
        ('guard = "some"', "expected one of: always, all, none"),
        ('allowed = ["/etc/**"]', "is outside the repository"),
        ('allowed = ["ok/**", "a/../../b"]', "fix.allowed[1]"),
        ("rounds = 0", "fix.rounds"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, line: str, expected: str):
    """With the key and what to write."""
    with pytest.raises(BadInput) as error:
        rules(tmp_path, f"[fix]\n{line}\n")
    assert expected in str(error.value)
