"""Forks in the terminal."""

from __future__ import annotations

import pytest

from demeanor.core.values.exit_code import ExitCode
from demeanor.plugins.lab.fork.render import fork_terminal, steps_text
from demeanor.plugins.lab.fork.report import DecisiveStep, ForkOutcome, ForkReport, ForkStep, OtherAnswer
from demeanor.render.terminal import Screen

HOSTILE = "write_file(path='c\x1b[31m.txt\u202e', content='wrong')"


def a_fork(outcome: ForkOutcome = ForkOutcome.FOUND, **changes: object) -> ForkReport:
    """A scan of four steps, of which the third is decisive; or the trials that start at the third."""
    steps = (
        ForkStep(step=1, did="read_file(path='a.txt')", passed=5, low=0.57, high=1.0, chance=0.01),
        ForkStep(step=2, did="(an empty answer)", voided=2, chance=0.01, why_void="void(prefix): it differs"),
        ForkStep(step=3, did=HOSTILE, passed=8, failed=2, low=0.49, high=0.94, chance=0.97),
        ForkStep(step=4, did="said: Done.", failed=6, low=0.0, high=0.39, chance=0.01),
    )
    decisive = DecisiveStep(
        step=3, until=3, confidence=0.97, before=(13, 15), after=(0, 6), did=HOSTILE,
        instead=(OtherAnswer(did="read_file(path='c.txt')", trials=7), OtherAnswer(did="said: Why?", trials=1)),
    )  # fmt: skip
    measured = outcome is ForkOutcome.MEASURED
    values: dict[str, object] = {
        "trial": "writes_files/native:small/1", "run": "2026-11-17T03-00-00-k4x2f", "recorded": "fail",
        "subject": "native:big", "outcome": outcome, "exit_code": outcome.exit_code, "steps": steps,
        "at": 3 if measured else None, "decisive": None if measured else decisive,
        "no_drop": None if measured else 0.01, "asked_confidence": None if measured else 0.95,
        "changed": ("asked native:big",), "trials": 21, "voided": 2, "cost_usd": 0.42, "folder": "results/forks/1",
        "notes": ("a note",),
    }  # fmt: skip
    return ForkReport(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("outcome", list(ForkOutcome))
def test_no_line_is_too_long_and_nothing_hostile_reaches_the_terminal(outcome: ForkOutcome, width: int) -> None:
    """Whatever an agent did."""
    text = fork_terminal(a_fork(outcome), Screen(width=width))
    assert max(len(line) for line in text.splitlines() if "→ demeanor" not in line) <= width
    assert not {"\x1b", "\u202e"} & set(text)
    assert fork_terminal(a_fork(outcome), Screen(width=width, ascii=True)).isascii()
    listed = steps_text("e/a:m/1", "2026-11-17T19-05-41-vpure", [HOSTILE, "said: x" * 99], Screen(width=width))
    assert max(len(line) for line in listed.splitlines() if "→ demeanor" not in line) <= width
    assert not {"\x1b", "\u202e"} & set(listed)


def test_a_scan_shows_the_step_what_was_done_instead_and_the_curve() -> None:
    """With its error rate; a step whose trials are void has no rate."""
    lines = fork_terminal(a_fork(), Screen(width=120)).splitlines()
    assert lines[0] == "Decisive: step 3 (probability 97 %)"
    for expected in (
        "instead 7 of 8 passing trials: read_file(path='c.txt')",
        "before  13 of 15 trials that start there or earlier passed (87 %)",
        "after   0 of 6 trials that start later passed (0 %)",
        "error   names a wrong step in at most 5 % of scans",
    ):
        assert expected in lines
    curve = [line.split()[:4] for line in lines if line.split()[:1] in (["1"], ["2"], ["►"], ["4"])]
    assert curve[0] == ["1", "██████████", "5/5", "1.0"]
    assert curve[1][:3] == ["2", "void", "–"]
    assert curve[2] == ["►", "3", "████████░░", "8/10"]
    ranged = a_fork(decisive=DecisiveStep(
        step=2, until=3, confidence=0.96, before=(5, 5), after=(0, 0), did="x", instead=(),
    ))  # fmt: skip
    text = fork_terminal(ranged, Screen(width=120))
    assert "Decisive: one of the steps 2 to 3" in text
    assert "no trials that start later; the recorded one failed" in text


def test_passing_trials_that_did_the_same_are_no_alternative() -> None:
    """If all of them did, the answer at this step can't be what decided the trial: one of the scans that are wrong."""

    def facts(*instead: OtherAnswer) -> str:
        return fork_terminal(
            a_fork(decisive=DecisiveStep(
                step=3, until=3, confidence=0.96, before=(9, 13), after=(0, 9), did="said: Yes.", instead=instead,
            )),
            Screen(width=120),
        )  # fmt: skip

    same, other = OtherAnswer(did="said: Yes.", trials=2), OtherAnswer(did="said: No.", trials=7)
    text = facts(other, same)
    assert "instead 7 of 9 passing trials: said: No." in text
    assert "same    2 of 9 passing trials did the same there" in text
    assert "wrong step" not in facts(other, same).replace("names a wrong step in", "")
    text = facts(same)
    assert "same    2 of 2 passing trials did the same there: this may be a wrong step, scan again with another" in text


def test_outcomes_have_their_exit_codes() -> None:
    """A scan without a result is no success."""
    codes = {outcome: outcome.exit_code for outcome in ForkOutcome}
    assert codes == {
        ForkOutcome.MEASURED: ExitCode.ACCEPTED,
        ForkOutcome.FOUND: ExitCode.ACCEPTED,
        ForkOutcome.NO_DROP: ExitCode.REJECTED,
        ForkOutcome.UNDECIDED: ExitCode.UNDECIDED,
    }


def test_the_commands_below_the_steps_name_the_run_and_can_be_pasted() -> None:
    """Without the run they would fork a trial of the latest one; names of cases have brackets and blanks."""
    text = steps_text("price[tea 3 €]/a:m/1", "2026-11-17T19-05-41-vpure", ["said: x"], Screen(width=80))
    assert text.endswith(
        "\n→ demeanor fork 'price[tea 3 €]/a:m/1' --run 2026-11-17T19-05-41-vpure --at K"
        "\n→ demeanor fork 'price[tea 3 €]/a:m/1' --run 2026-11-17T19-05-41-vpure --scan\n"
    )
