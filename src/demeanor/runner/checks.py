"""Where the checks of a run are evaluated: in processes that can be killed, or in this one for a debugger."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from demeanor.config.config import Config
from demeanor.core.eval import Eval
from demeanor.core.scenario import Scenario
from demeanor.core.tree import Tree
from demeanor.core.tree_io import scan
from demeanor.judge.answers import AskChecks, FindBlame, Rehearsals, ask_here, blame_here
from demeanor.judge.check_server import CheckServer
from demeanor.judge.check_worker import set_up_here
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

    server: CheckServer | None = None
    """The processes in which they run; None if they run in this one."""

    def close(self) -> None:
        """Kill the processes."""
        if self.server is not None:
            self.server.close()


def open_checks(evals: Iterable[Eval], config: Config, *, here: bool = False) -> Checks:
    """Start the server of check processes. Call it before anything starts threads, sandboxes or a gateway.

    With `here`, and under a debugger or a coverage tool, checks run in this process without a time limit.
    """
    rehearsals = Rehearsals(lay_out=build_workspace, read_back=scan)
    if here or sys.gettrace() is not None:
        return Checks(ask=ask_here, find_blame=blame_here(rehearsals))
    server = CheckServer(evals, rehearsals, limit=config.check_timeout)
    return Checks(ask=server.ask, find_blame=server.find_blame, run_setup=server.set_up, server=server)


def build_workspace(scenario: Scenario, folder: Path) -> Tree:
    """Create the starting workspace of a scenario in an empty folder."""
    folder.rmdir()
    return build_template(scenario, folder).tree
