from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from demeanor.commands.fix.command import arguments
from demeanor.config.fix import RULES, read_fix_rules
from demeanor.config.rule_names import rule_name
from demeanor.config.table import Table


def test_a_former_name_becomes_the_current_one() -> None:
    """Other names stay as they are."""
    assert [rule_name(name) for name in ("seed", "classic", "screen", "other")] == [
        "classic",
        "classic",
        "screen",
        "other",
    ]


@pytest.mark.parametrize("name", ["classic", "seed"])
def test_fix_accepts_both_names(name: str) -> None:
    """In the configuration and on the command line; the current name is what it works with."""
    assert read_fix_rules(Table({"rule": name}, where=Path("demeanor.toml"))).rule == "classic"
    parser = argparse.ArgumentParser()
    arguments(parser)
    assert parser.parse_args(["--rule", name]).rule == "classic"
    assert "seed" not in RULES
