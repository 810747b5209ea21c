"""Where the checks of a run are evaluated: in processes that can be killed, or in this one for a debugger."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from demeanor.config import Config
from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.core.values.scenario import Scenario
from demeanor.judge import (
    AskChecks,
    AskInLoop,
    AskUser,
    CheckServer,
    FindBlame,
    Rehearsals,
    ask_here,
    ask_user_here,
    blame_here,
    close_fixtures,
    fixture_problem,
    set_up_here,
    takes_fixtures,
)
from demeanor.runner.template import RunSetup, build_template


@dataclass(frozen=True, kw_only=True, slots=True)
class Checks:
    """How checks are asked."""

    ask: AskChecks
    """Asks all checks of an eval."""

    find_blame: FindBlame
    """Finds out what makes a check crash."""

    run_setup: RunSetup = set_up_here
    """Calls the `setup` of an eval."""

    call_author: AskUser = ask_user_here
    """Calls another function of the author, such as that of an eval's user."""

    ask_in_loop: AskInLoop | None = None
    """Asks them without a thread; None if they run in this process."""

    server: CheckServer | None = None
    """The processes in which they run; None if they run in this one."""

    def close(self) -> None:
        """End the processes, and tear down fixtures that were set up in this one."""
        if self.server is not None:
            self.server.close()
        close_fixtures()


def open_checks(evals: Iterable[Eval], config: Config, *, here: bool = False) -> Checks:
    """Start the server of check processes. Call it before anything starts threads, sandboxes or a gateway.

    With `here`, and under a debugger or a coverage tool, checks run in this process without a time limit.
    """
    rehearsals = Rehearsals(lay_out=build_workspace, read_back=scan)
    evals = tuple(evals)
    if here or sys.gettrace() is not None:
        _require_fixtures(evals, fixture_problem)
        return Checks(ask=ask_here, find_blame=blame_here(rehearsals))
    server = CheckServer(evals, rehearsals, limit=config.check_timeout)
    try:
        _require_fixtures(evals, server.fixture_problem)
    except BaseException:
        server.close()
        raise
    return Checks(
        ask=server.ask,
        ask_in_loop=server.ask_in_loop,
        find_blame=server.find_blame,
        run_setup=server.set_up,
        call_author=server.ask_user,
        server=server,
    )


def _require_fixtures(evals: Iterable[Eval], problem_of: Callable[[Eval], str | None]) -> None:
    """Raise BadInput if a check takes a fixture that pytest does not know, before anything costs money."""
    for eval_ in filter(takes_fixtures, evals):
        if problem := problem_of(eval_):
            remedy = "define it in a conftest.py; further arguments of a check are fixtures or fields of its case"
            raise BadInput(problem, where=f"{eval_.source.path}:{eval_.source.line}", key="check", remedy=remedy)


def build_workspace(scenario: Scenario, folder: Path) -> Tree:
    """Create the starting workspace of a scenario in an empty folder."""
    folder.rmdir()
    return build_template(scenario, folder).tree
