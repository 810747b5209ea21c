"""Budgets of dollars and tokens hold, and what a run will cost is known before it starts."""

from __future__ import annotations

import html
import json

import pytest

from tests.helpers.asking_agent import ASKS
from tests.helpers.project import Project

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Say hello.")
def says_hello(rig, result):
    assert "Hello" in result
"""
SCRIPT = """\
from demeanor.core.values.exchange import Usage
from demeanor.gateway.script import Answer

def play(turn):
    return Answer(text="Hello.", usage=Usage(input=1800, output=200))
"""
CONFIG = f"""\
subjects = ["asks:brain"]
sandbox = "none"
attempts = 1
jobs = 1
[models.brain]
script = "brain.py"
price = {{ input = 10.0, output = 10.0 }}
{ASKS}"""
UNPRICED = """\
subjects = ["native:acme/large"]
[providers.acme]
base_url = "http://127.0.0.1:9/v1"
dialect = "openai-chat"
"""


def write(project: Project, config: str = CONFIG) -> None:
    """One eval, whose trial uses 2000 tokens that cost two cents."""
    project.write(demeanor_toml=config, evals__eval_hello_py=EVAL, brain_py=SCRIPT)


@pytest.mark.parametrize(
    ("words", "config", "told"),
    [
        (("--budget", "0.01usd"), "", "--budget can't be kept"),
        ((), "[budgets.eval]\nusd = 1.0\n", "the budget of the eval in US dollars can't be kept"),
        (("--budget", "0.01usd", "--dry-run"), "", "--budget can't be kept"),
    ],
)
@pytest.mark.parametrize("command", ["run", "nightly"])
def test_a_budget_in_dollars_is_refused_for_a_model_without_a_price(
    project: Project, command: str, words: tuple[str, ...], config: str, told: str
):
    """Before anything is run, with the remedy."""
    write(project, UNPRICED + config)
    ran = project.demeanor(command, "evals", *words)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert f"{told}: the price of 'acme/large' is unknown" in ran.stderr
    assert '[models."acme/large"] price = { input = …, output = … }' in ran.stderr
    assert "--budget 200000tokens" in ran.stderr
    assert not (project.folder / "results").exists()


def test_both_remedies_work(project: Project):
    """The price that the message asks for, and a budget of tokens."""
    write(project, UNPRICED)
    assert project.demeanor("run", "evals", "--budget", "5tokens", "--dry-run").returncode == 0
    write(project, UNPRICED + '[models."acme/large"]\nprice = { input = 1.0, output = 2.0 }\n')
    assert project.demeanor("run", "evals", "--budget", "5usd", "--dry-run").returncode == 0


@pytest.mark.parametrize(
    ("amount", "unit", "told"),
    [
        ("0.02", "usd", "stopped: the budget of $0.02 is spent ($0.0200)"),
        ("2000", "tokens", "stopped: the budget of 2000 tokens is spent (2000)"),
    ],
)
def test_a_run_that_its_budget_stops_is_undecided(project: Project, amount: str, unit: str, told: str):
    """The first trial spends it; a larger one lets the run finish."""
    write(project)
    ran = project.demeanor("run", "evals", "--trials", "3", "--budget", f"{amount}{unit}")
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert told in ran.stdout
    (ledger,) = (project.folder / "results").glob("2*/ledger.jsonl")
    assert len(ledger.read_text().splitlines()) == 1
    resumed = project.demeanor("run", "--resume", "latest", "--budget", f"1000000{unit}")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr


def test_a_run_that_its_budget_stops_is_undecided_even_if_its_trials_were_enough(project: Project):
    """Two of three trials would accept the eval; the third was not run."""
    write(project)
    ran = project.demeanor("run", "evals", "--trials", "3", "--budget", "0.04usd")
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (3, "Undecided: the run was stopped, 1 trial not run")
    resumed = project.demeanor("run", "--resume", "latest")  # with the same budget, which is spent
    assert (resumed.returncode, resumed.stdout.splitlines()[0]) == (3, ran.stdout.splitlines()[0])
    assert "stopped: the budget of $0.04 is spent ($0.0400)" in resumed.stdout
    exact = project.demeanor("run", "evals", "--trials", "2", "--budget", "0.04usd")
    assert exact.returncode == 0, exact.stdout


def test_the_expected_cost_comes_from_earlier_runs(project: Project):
    """It is unknown before the first run, then the mean of a trial; more than the budget is told."""
    write(project)
    first = project.demeanor("run", "evals", "--dry-run")
    assert "expected cost: unknown (no earlier run of these evals has a known cost)\n" in first.stdout
    assert project.demeanor("run", "evals", "--trials", "2").returncode == 0
    planned = project.demeanor("run", "evals", "--trials", "10", "--dry-run", "--budget", "0.1usd")
    assert (
        "expected cost: $0.20, 20k tokens (the mean of earlier runs, at present prices): more than the budget of $0.1"
        in planned.stdout
    )
    found = json.loads(project.demeanor("run", "evals", "--trials", "10", "--dry-run", "--json").stdout)
    assert (found["expected_cost_usd"], found["expected_tokens"]) == (pytest.approx(0.2), 20_000)
    assert found["cells"][0]["expected_tokens"] == 20_000


def test_the_expected_cost_is_calculated_at_the_present_price(project: Project):
    """Runs that were made at other prices, also at an unknown one, count with their tokens, cached ones included."""
    write(project)
    cached = SCRIPT.replace("output=200", "output=200, cache_read=800")
    project.write(brain_py=cached)
    assert project.demeanor("run", "evals", "--trials", "1").returncode == 0
    write(project, CONFIG.replace("input = 10.0, output = 10.0", "input = 1.0, output = 5.0, cache_read = 0.5"))
    project.write(brain_py=cached)
    found = json.loads(project.demeanor("run", "evals", "--trials", "1", "--dry-run", "--json").stdout)
    assert found["expected_cost_usd"] == pytest.approx((1000 * 1.0 + 800 * 0.5 + 200 * 5.0) / 1e6)
    assert project.demeanor("run", "evals", "--trials", "3").returncode == 0
    again = json.loads(project.demeanor("run", "evals", "--trials", "1", "--dry-run", "--json").stdout)
    assert again["expected_cost_usd"] == pytest.approx(found["expected_cost_usd"])


def test_a_price_without_a_rate_for_cached_tokens_is_told_wherever_the_cost_is_shown(project: Project):
    """Once per report, in every format; a complete price needs no note."""
    write(project)
    project.write(brain_py=SCRIPT.replace("output=200", "output=200, cache_read=800"))
    note = "the price of 'brain' has no cache_read: cached tokens are counted at the input price"
    ran = project.demeanor("run", "evals", "--trials", "2", "--junit", "junit.xml", COLUMNS="200")
    assert ran.stdout.count(note) == 1, ran.stderr
    markdown = (project.folder / "results" / "latest" / "summary.md").read_text()
    assert markdown.count("cached tokens are counted at the input price") == 1
    assert json.loads((project.folder / "results" / "latest" / "report.json").read_text())["notes"].count(note) == 1
    assert (
        note.replace("'", "&apos;") in (project.folder / "junit.xml").read_text()
        or note in (project.folder / "junit.xml").read_text()
    )
    run = (project.folder / "results" / "latest").resolve().name
    for words in (
        ("report",),
        ("report", "--format", "html"),
        ("report", "--format", "markdown"),
        ("report", "--metrics"),
    ):
        shown = html.unescape(project.demeanor(*words, COLUMNS="200").stdout)
        assert shown.count("cached tokens are counted at the input price") == 1, words
    again = project.demeanor("run", "evals", "--trials", "2", "--json")
    assert json.loads(again.stdout)["notes"].count(note) == 1
    both = project.demeanor("compare", run, "latest", "--allow-identical", COLUMNS="200")
    assert both.stdout.count(note) == 1, both.stderr
    write(project, CONFIG.replace("output = 10.0", "output = 10.0, cache_read = 1.0"))
    project.write(brain_py=SCRIPT.replace("output=200", "output=200, cache_read=800"))
    complete = project.demeanor("run", "evals", "--trials", "1", COLUMNS="200")
    assert "the input price" not in complete.stdout
    assert "the input price" not in project.demeanor("report", COLUMNS="200").stdout
