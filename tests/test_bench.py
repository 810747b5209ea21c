"""The page of the bench: figures are replaced between two marks, and the prose around them stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.bench import read_arguments
from benchmarks.comparison.commands import medians
from benchmarks.comparison.measure import Failed, Sample, Spread, measure_alone
from benchmarks.comparison.model_server import model_server
from benchmarks.comparison.page import BEGIN, END, Figures, Work, overview, table, write_page
from benchmarks.comparison.trials import check_server
from benchmarks.printed_rates import Claim, broken, correlated_claims, suite_claim

from demeanor.core.values.policy import Policy


def figures(cpu: float) -> Figures:
    samples = {
        "bare asyncio loop": [Sample(wall=1.0, cpu=1.0, peak_mb=20.0)],
        "Demeanor": [Sample(wall=2.0, cpu=cpu, peak_mb=50.0), Sample(wall=3.0, cpu=cpu, peak_mb=40.0)],
    }
    return Figures(
        machine={"cores": "2"},
        works=[Work(program="sh", trials=200, samples=samples)],
        start_up={"demeanor --version": 0.03},
        stored={},
        stored_trials=0,
        size=(0.0, 0.0),
        keeps={"Demeanor": "keeps everything"},
        left_out={"vitest": "npm is not installed"},
    )


def test_figures_are_replaced_and_the_prose_stays(tmp_path: Path) -> None:
    """Twice, because the second time there are figures already."""
    page = tmp_path / "scale.md"
    (tmp_path / "images").mkdir()
    page.write_text(f"# Before\n{BEGIN}\nold\n{END}\nAfter\n")
    write_page(page, figures(9.0))
    write_page(page, figures(1.5))
    text = page.read_text()
    assert text.startswith("# Before\n")
    assert text.endswith(f"{END}\nAfter\n")
    assert "| Demeanor | 12.50 (2.50x) | 7.50 (1.50x) | 50 |" in text
    assert "| Demeanor | keeps everything |" in text
    assert "old" not in text
    assert "9.00x" not in text
    assert "Not measured: vitest (npm is not installed)." in text
    assert "Demeanor 7.5 ms" in (tmp_path / "images/benchmarks-sh-200.svg").read_text()


def test_the_terminal_shows_the_spread() -> None:
    """Before and after a change, the range says whether the medians differ."""
    (work,) = figures(1.5).works
    assert "| Demeanor | 12.50 (10.00–15.00) | 2.50x | 7.50 (7.50–7.50) | 1.50x | 50 | 2 |" in list(table(work))


def test_a_tool_that_was_given_fewer_trials_says_so() -> None:
    """And one that was not measured with a number of trials has no figure there."""
    small, large = figures(1.5).works[0], figures(1.5).works[0]
    slow = replace(
        small, samples={**small.samples, "slow": [Sample(wall=1.0, cpu=1.0, peak_mb=1.0)]}, most={"slow": 20}
    )
    rows = list(overview([slow, large]))
    assert "| slow | 50.00 (10.00x, 20 trials) | 50.00 (10.00x, 20 trials) | – | – | 1 |" in rows


def test_a_quick_bench_has_few_trials_and_no_other_tools() -> None:
    """It is run before and after a change; without options, everything is measured."""
    quick, whole = read_arguments(["--quick"]), read_arguments([])
    assert (quick.rounds, quick.sizes, quick.peers) == (3, [200], "none")
    assert (whole.rounds, whole.sizes, whole.peers) == (5, [200, 2000, 20_000], "all")
    assert read_arguments(["--short", "--sizes", "2000,200"]).sizes == [200, 2000]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--peers", "vitest,vitst"], "unknown: vitst; the tools are pydantic-evals, pytest-xdist, vitest, promptfoo"),
        (["--sizes", "200,0"], "'0' is not a number from 1 on"),
        (["--quick", "--sizes", "20"], "--quick measures 200 trials without other tools"),
        (["--quick", "--short"], "not allowed with argument --quick"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise a mistyped tool would be missing in the figures, after an hour."""
    with pytest.raises(SystemExit):
        read_arguments(words)
    assert problem in capsys.readouterr().err


def test_a_command_is_measured_with_all_its_processes(tmp_path: Path) -> None:
    """A process that outlives the command counts; one that fails is an error with its output."""
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    found = measure_alone(["sh", "-c", f"python3 -c '{burn}' & exit 0"], tmp_path)
    assert found.cpu >= 0.3
    with pytest.raises(Failed, match="exited with 3:\nno luck"):
        measure_alone(["sh", "-c", "echo no luck; exit 3"], tmp_path)


def test_a_spread_is_the_median_and_the_extremes() -> None:
    """Of any number of figures."""
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(median=2.0, low=1.0, high=3.0)


def test_a_server_that_runs_meanwhile_is_not_waited_for(tmp_path: Path) -> None:
    """The bench has a model server, which ends after everything else."""
    with model_server() as url:
        check_server(url)
        assert medians({"true": ["true"]}, tmp_path, 1)["true"] > 0


def test_stated_rates_are_compared_with_the_truth() -> None:
    """Those of a suite with a history hold; one that does not is told."""
    for rate in (0.97, 0.9):
        claim = suite_claim(Policy.USUALLY_PASSES, 60, 20, rate)
        assert claim.holds, claim
    wrong = Claim(about="a gate", stated="1 %", truth="5 %", holds=False)
    assert broken(lambda: iter([wrong, claim])) == [wrong]


def test_stated_rates_of_correlated_trials_hold() -> None:
    """Of the scan, the gate, a comparison and demotion."""
    claims = [*correlated_claims(0.99, 0.1)]
    assert len(claims) == 4
    assert all(claim.holds for claim in claims), claims
