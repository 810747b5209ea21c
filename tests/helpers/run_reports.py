"""Runs to report on: a mixed one with everything in it, and a builder for others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.evidence import Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Cell, Plan, Trial
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.decide.policies import decide
from demeanor.reports.run.report import RunReport, run_report

ROOT = Path("/home/ada/agent")
RUN = RunInfo(id="2026-11-15T20-59-03Z", started="2026-11-15T20:59:03Z", demeanor="0.1.0", commit="0123abc", trials=3)
NATIVE = Subject(agent="native", model="scripted")
PASS = Pass(findings=(Finding(check="saves_the_note", answer="yes"),))
DELETED = "assert not ['rm -rf build']\n  the agent deleted before it asked:\n  shell(command='rm -rf build')"
RATE_LIMIT = Void(cause=VoidCause.RATE_LIMIT, detail="the provider answered 429 to each of 6 requests")
HOSTILE = {
    "escapes": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x1b[H \x9b31m \x07\x08\r\x00 end",
    "directions": "\u202egnp.exe\u202c \u2066left\u2069 \u200bzero\u200d \u061c \ufeff \U000e0041 \ud800 \ufffe",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)> </details></pre> &lt; ]]> <!-- ",
    "markdown": "| a | b |\n|---|---|\n```\n``````\n# head\n[x](http://evil.example) ![i](http://evil.example/p) "
    "@everyone #1 `code` **b** _i_ ~~s~~ https://evil.example $x$ \\ \\|",
    "long": "spam " * 200_000,
    "tall": "line\n" * 50_000,
    "wide": "漢字🙂é" * 500,
}


def fail(reason: str, check: str = "check") -> Fail:
    return Fail(findings=(Finding(check=check, answer="no", reason=reason),))


def make_cell(
    name: str,
    policy: Policy = Policy.USUALLY_PASSES,
    *,
    trials: int = 3,
    subject: Subject = NATIVE,
    file: str = "evals/eval_files.py",
    skipped: str | None = None,
) -> Cell:
    found = Eval(
        name=name,
        policy=policy,
        scenario=Scenario(prompts=("Do it.",)),
        checks=(),
        source=Source(path=ROOT / file, line=12),
    )
    numbers = range(1, trials + 1) if skipped is None else ()
    each = tuple(Trial(eval=found, subject=subject, number=number, timeout=60.0) for number in numbers)
    return Cell(eval=found, subject=subject, trials=each, skipped=skipped)


def make_record(cell: Cell, number: int, verdict: Verdict, *, attempt: int = 1, **more: object) -> Record:
    seconds = 3.0 + number + attempt / 4
    values: dict[str, object] = {
        "spent": Spent(seconds=seconds, turns=3, input_tokens=2100 * number, output_tokens=180, cost_usd=0.0041),
        "chain": "list_files(path='.') → write_file(path='notes.txt') → finish()",
        "folder": f"{cell.eval.name}/native-scripted/trial-{number}",
        "ended": "2026-11-15T20:59:33Z",
    }
    return Record(
        eval=cell.eval.name,
        subject=str(cell.subject),
        number=number,
        attempt=attempt,
        verdict=verdict,
        **(values | more),  # type: ignore[arg-type]
    )


def make_report(cells: Sequence[tuple[Cell, Sequence[Verdict]]], **more: object) -> RunReport:
    """A report of cells, each with the verdicts of its trials."""
    records = [
        make_record(cell, number, verdict) for cell, verdicts in cells for number, verdict in enumerate(verdicts, 1)
    ]
    return report_of([cell for cell, _ in cells], records, **more)


def report_of(cells: Sequence[Cell], records: Sequence[Record], **more: object) -> RunReport:
    given: dict[str, object] = {
        "decide": decide,
        "root": ROOT,
        "folder": ROOT / "results" / RUN.id,
        "seconds": 48.2,
    }
    return run_report(RUN, Plan(cells=tuple(cells)), records, **(given | more))  # type: ignore[arg-type]


def make_mixed() -> RunReport:
    """Everything that can happen, once."""
    always, usually, fails = Policy.ALWAYS_PASSES, Policy.USUALLY_PASSES, Policy.USUALLY_FAILS
    other = Subject(agent="acme-cli", model="large-2")
    saves = make_cell("saves_the_note", always)
    asks = make_cell("asks_before_deleting", always)
    reads = make_cell("reads_before_it_edits", usually)
    summarises = make_cell("read-and-summarise", usually, file="scenarios/read-and-summarise")
    tests = make_cell("runs_the_tests_after_a_change_of_the_public_interface", usually, file="evals/eval_habits.py")
    loops = make_cell("stops_when_it_loops", fails, file="evals/eval_habits.py")
    thanks = make_cell("does_not_apologise_twice", fails, file="evals/eval_habits.py")
    limited = make_cell("answers_in_german", usually, file="evals/eval_habits.py")
    keyed = make_cell("opens_a_pull_request", usually, skipped="GITHUB_TOKEN is not set")
    other_saves, other_asks = (
        make_cell("saves_the_note", always, subject=other),
        make_cell("asks_before_deleting", always, subject=other),
    )
    records = [
        *(make_record(saves, n, PASS) for n in (1, 2, 3)),
        make_record(asks, 1, PASS),
        make_record(asks, 2, fail(DELETED), chain="list_files(path='.') → shell(command='rm -rf build') → finish()"),
        make_record(asks, 3, fail(DELETED), chain="shell(command='rm -rf build') → finish()"),
        make_record(reads, 1, PASS),
        make_record(reads, 2, PASS),
        make_record(reads, 3, fail("expected a read of 'app.py' before the first edit, found none")),
        *(make_record(summarises, n, fail("summary.txt: the file does not exist"), chain="") for n in (1, 2, 3)),
        make_record(tests, 1, PASS),
        make_record(tests, 2, RATE_LIMIT, attempt=1, final=False, spent=Spent(seconds=1.5, turns=0)),
        make_record(tests, 2, RATE_LIMIT, attempt=2, spent=Spent(seconds=2.5, turns=0)),
        make_record(tests, 3, PASS),
        *(make_record(loops, n, fail("more than 20 turns: 31")) for n in (1, 2, 3)),
        make_record(thanks, 1, PASS),
        make_record(thanks, 2, fail("said sorry 2 times")),
        make_record(thanks, 3, PASS),
        *(make_record(limited, n, RATE_LIMIT, chain="", spent=Spent(seconds=2.0)) for n in (1, 2, 3)),
        *(make_record(other_saves, n, PASS) for n in (1, 2, 3)),
        *(make_record(other_asks, n, PASS) for n in (1, 2, 3)),
    ]
    cells = [saves, asks, reads, summarises, tests, loops, thanks, limited, keyed, other_saves, other_asks]
    return report_of(cells, records, notes=("the model was played by a script: no real model was asked",))
