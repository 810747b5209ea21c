"""Self-tests of evals: each must be able to pass and to fail, which is shown without an agent or a model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.config.config import Config
from demeanor.core.eval import Eval
from demeanor.core.scenario import Scenario
from demeanor.core.tree import Tree
from demeanor.core.tree_io import scan
from demeanor.runner.sandbox import verified_sandbox
from demeanor.runner.template import build_template

if TYPE_CHECKING:
    from demeanor.judge.self_test import SelfTest


def self_tests(evals: Sequence[Eval], config: Config) -> Iterator[SelfTest]:
    """Show for each eval whether it can pass and can fail."""
    from demeanor.judge.self_test import self_test

    sandbox = verified_sandbox(config.sandbox, config)
    asyncio.run(sandbox.start())
    try:
        for one in evals:
            yield self_test(one, lay_out=build_workspace, read_back=scan, run_command=sandbox.command)
    finally:
        asyncio.run(sandbox.stop())


def build_workspace(scenario: Scenario, folder: Path) -> Tree:
    """Create the starting workspace of a scenario in an empty folder."""
    folder.rmdir()
    return build_template(scenario, folder).tree
