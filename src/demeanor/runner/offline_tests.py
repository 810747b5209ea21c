"""Self-tests of evals: each must be able to pass and to fail, which is shown without an agent or a model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from demeanor.config import Config
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.eval import Eval
from demeanor.runner.catalog import Catalog
from demeanor.runner.checks import build_workspace, open_checks
from demeanor.runner.judges import Asking
from demeanor.runner.rehearsal_judges import keep_answers, open_judges, rehearsal_judge
from demeanor.runner.sandbox import verified_sandbox

if TYPE_CHECKING:
    from demeanor.judge import SelfTest


def self_tests(
    evals: Sequence[Eval], config: Config, *, asking: Asking = "never", environ: Mapping[str, str] | None = None
) -> Iterator[SelfTest]:
    """Show for each eval whether it can pass and can fail. `asking` says whether judges are asked about rehearsals."""
    from demeanor.judge import playable, self_test

    checks = open_checks([playable(eval_) for eval_ in evals], config)
    try:
        sandbox = verified_sandbox(config.sandbox, config)
        asyncio.run(sandbox.start())
        try:
            with open_judges(Catalog(config=config, environ=environ or {})) as judges:
                for eval_ in evals:
                    judge = rehearsal_judge(judges, eval_, asking)
                    yield self_test(
                        eval_,
                        lay_out=build_workspace,
                        read_back=scan,
                        run_command=sandbox.command,
                        ask=checks.ask,
                        ask_judge=judge,
                    )
                    keep_answers(eval_, judge)
        finally:
            asyncio.run(sandbox.stop())
    finally:
        checks.close()
