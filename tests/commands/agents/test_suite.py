"""The conformance suite judges an agent by its own processes."""

from __future__ import annotations

import subprocess

from demeanor.commands.agents.conformance.model import SLEEP
from demeanor.commands.agents.conformance.suite import _left_behind
from demeanor.core.values.trial import trial_seed
from tests.helpers.processes import command_line
from tests.helpers.runs import records
from tests.journeys.test_survival import until


def test_only_processes_of_its_own_trials_count_as_left_behind() -> None:
    """Suites of other agents may run at the same time, with the same trials and another seed."""
    (trial,) = records("p")
    with subprocess.Popen(["sleep", f"{SLEEP}.{trial_seed(5, trial.trial)}"]) as left:
        try:
            until(lambda: "sleep" in command_line(left.pid))  # it is empty for a moment while the program starts
            assert _left_behind([trial], 5) == [f"process {left.pid}"]
            assert _left_behind([trial], 6) == []
        finally:
            left.kill()
    assert _left_behind([trial], 5) == []
