"""Self-tests of evals: each must be able to pass and to fail, which is shown without an agent or a model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from demeanor.config.config import Config
from demeanor.core.eval import Eval
from demeanor.core.tree_io import scan
from demeanor.runner.checks import build_workspace, open_checks
from demeanor.runner.sandbox import verified_sandbox

if TYPE_CHECKING:
    from demeanor.judge.self_test import SelfTest


def self_tests(evals: Sequence[Eval], config: Config) -> Iterator[SelfTest]:
    """Show for each eval whether it can pass and can fail."""
    from demeanor.judge.self_test import playable, self_test

    checks = open_checks([playable(one) for one in evals], config)
    try:
        sandbox = verified_sandbox(config.sandbox, config)
        asyncio.run(sandbox.start())
        try:
            for one in evals:
                yield self_test(
                    one, lay_out=build_workspace, read_back=scan, run_command=sandbox.command, ask=checks.ask
                )
        finally:
            asyncio.run(sandbox.stop())
    finally:
        checks.close()
