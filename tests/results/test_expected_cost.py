"""What a trial of each cell costs, by which the trials of a run are dealt out to shards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from demeanor.config.config import read_config
from demeanor.core.values.evidence import Spent
from demeanor.results import trial_costs
from demeanor.store.history import open_history
from tests.helpers.runs import a_run, records, write
from tests.runner.test_plan import an_eval, plan

PLAN = plan(an_eval("cheap"), an_eval("dear"), an_eval("new"))
SUBJECT = "native:scripted"


def costs(tmp_path: Path, *runs: tuple[str, dict[str, Spent]]) -> dict[str, float]:
    """Eval → its cost by a history of these runs: kind, and what each trial of an eval spent."""
    with open_history(str(tmp_path / "demeanor.db")) as history:
        for number, (kind, evals) in enumerate(runs, 1):
            made = [
                one for name, spent in evals.items() for one in records("pp", eval=name, subject=SUBJECT, spent=spent)
            ]
            write(history.database, replace(a_run(number), kind=kind), made)  # type: ignore[arg-type]
    found = trial_costs(PLAN, read_config(tmp_path), {}, tmp_path)
    return {name.partition("/")[0]: cost for name, cost in found.items()}


def test_costs_are_those_of_the_nights_and_a_new_eval_costs_as_much_as_the_others(tmp_path: Path) -> None:
    """Other runs may be added to the history while the shards of a night start."""
    night = {"cheap": Spent(seconds=9.0, cost_usd=0.1), "dear": Spent(seconds=1.0, cost_usd=0.3)}
    other = {"cheap": Spent(seconds=1.0, cost_usd=7.0)}
    assert costs(tmp_path, ("nightly", night), ("ci", other)) == {"cheap": 0.1, "dear": 0.3, "new": 0.2}


def test_without_prices_tokens_or_seconds_tell(tmp_path: Path) -> None:
    """The first of them that is known; without any run, every trial costs the same."""
    assert costs(tmp_path) == {}
    run = {"cheap": Spent(seconds=2.0), "dear": Spent(seconds=6.0)}
    assert costs(tmp_path, ("local", run)) == {"cheap": 2.0, "dear": 6.0, "new": 4.0}
