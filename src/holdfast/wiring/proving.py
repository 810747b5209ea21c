"""Proofs without a model: that the sandbox works, and that evals can pass and can fail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.core.errors import WorldError
from holdfast.core.evals import Eval
from holdfast.core.folder import scan
from holdfast.core.ports import CommandResult
from holdfast.core.scenario import Scenario
from holdfast.core.verdict import VoidCause
from holdfast.core.workspace import Tree
from holdfast.run.template import build_template
from holdfast.wiring.sandbox import make_sandbox

if TYPE_CHECKING:
    from holdfast.judge.self_test import SelfTest


def probe_sandbox(name: str) -> None:
    """Start a program in the sandbox, really, and see it end; raises WorldError where that does not work."""
    sandbox = make_sandbox(name)

    async def probe() -> CommandResult:
        await sandbox.start()
        try:
            return await asyncio.to_thread(sandbox.command, Tree(), ("sh", "-c", "echo works"), timeout=10)
        finally:
            await sandbox.stop()

    result = asyncio.run(probe())
    if result.stdout != "works\n":
        raise WorldError(VoidCause.SANDBOX, f"a program in the sandbox gave {result}")


def self_tests(evals: Sequence[Eval]) -> Iterator[SelfTest]:
    """Prove of each eval that it can pass and can fail."""
    from holdfast.judge.self_test import self_test

    sandbox = make_sandbox("local")
    asyncio.run(sandbox.start())
    try:
        for one in evals:
            yield self_test(one, lay_out=_lay_out, read_back=scan, run_command=sandbox.command)
    finally:
        asyncio.run(sandbox.stop())


def _lay_out(scenario: Scenario, folder: Path) -> Tree:
    """The starting workspace in an empty folder."""
    folder.rmdir()
    return build_template(scenario, folder).tree
