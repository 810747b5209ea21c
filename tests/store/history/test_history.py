"""The history of all runs, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from demeanor.core.values.errors import StoreError, UnknownName
from demeanor.core.values.evidence import Spent
from demeanor.core.values.exchange import Exchange, Request, Response, StopReason, Usage
from demeanor.core.values.history import KeptDecision
from demeanor.core.values.policy import Policy
from demeanor.core.values.verdict import Fail, Finding
from demeanor.store.history import SqlHistory
from demeanor.store.history.connect import migrate, migrations, open_database
from demeanor.store.history.page_queries import matching_trials
from demeanor.store.history.rows import clean, digest, usage
from demeanor.store.history.run_writer import PlannedCell, RunWriter, WrittenRecord, attempts_at
from tests.helpers.runs import FAILED, PASSED, VERDICTS, VOIDED, a_run, nights, record, records, write


def test_run_round_trip(history: SqlHistory):
    """Notes, cells in the order of the plan, and every attempt."""
    attempts = [
        record(1, FAILED, notes=("odd",), chain="a → b", capture=(0, 9), agent_version="1.2", fingerprint="f" * 12),
        record(2, VOIDED, final=False),
        record(2, PASSED, attempt=2, ended="2026-01-01T03:02:09.000+00:00"),
    ]
    cells = [
        PlannedCell(eval="zebra", subject="a:m", skipped="needs KEY"),
        PlannedCell(eval="saves", subject="a:m", policy=Policy.ALWAYS_PASSES, planned=3),
    ]
    run = replace(a_run(), arguments={"trials": 3})
    attempts = [replace(one, policy=Policy.ALWAYS_PASSES) for one in attempts]
    assert write(history.database, run, attempts, cells) == 3
    assert history.run("night-1").info == run
    assert history.run().cells == 2
    assert list(history.records("night-1")) == attempts
    assert list(history.trials("night-1")) == [attempts[0], attempts[2]]
    skipped, found = history.cells("night-1")
    assert (skipped.eval, skipped.skipped, skipped.skip_reason, skipped.judged) == ("zebra", True, "needs KEY", 0)
    assert (found.passed, found.failed, found.voided, found.missing, found.attempts) == (1, 1, 0, 1, 3)
    assert found.policy is Policy.ALWAYS_PASSES
    assert found.spent == Spent(seconds=4.5, turns=6, input_tokens=30, output_tokens=15, cost_usd=0.75)


def test_duplicates_are_ignored(history: SqlHistory):
    """A run can be synchronized any number of times."""
    for _ in range(2):
        write(history.database, a_run(), records("pfv"))
    assert write(history.database, a_run(), records("pfvp")) == 1
    (cell,) = history.cells("night-1")
    assert (cell.passed, cell.failed, cell.voided, cell.attempts) == (2, 1, 1, 4)
    assert len(history.runs()) == 1


def test_the_last_attempt_of_a_trial_counts(history: SqlHistory):
    """A resumed run starts with attempt 1 again; the attempt that ended last counts."""
    first = [record(1, VOIDED, attempt=n, final=n == 3, ended=f"2026-01-01T03:00:0{n}.000+00:00") for n in (1, 2, 3)]
    write(history.database, a_run(), first)
    assert history.cells("night-1")[0].voided == 1
    write(history.database, a_run(), [record(1, PASSED, ended="2026-01-01T09:00:00.000+00:00")])
    (cell,) = history.cells("night-1")
    assert (cell.passed, cell.voided, cell.attempts) == (1, 0, 4)
    assert [one.verdict for one in history.trials("night-1")] == [PASSED]


def test_another_run_of_the_same_name_is_refused(history: SqlHistory):
    """A run has one name everywhere, so it is not stored under another one, and nothing is mixed."""
    write(history.database, a_run(), records("p"))
    with pytest.raises(StoreError, match=r"another run is called 'night-1'; it came from .*\n  → rename"):
        write(history.database, replace(a_run(), uid="ab" * 8), records("ff"))
    assert [(cell.passed, cell.failed) for cell in history.cells("night-1")] == [(1, 0)]
    assert len(history.runs()) == 1


def test_last_nights(history: SqlHistory):
    """Oldest first; runs of other kinds are not nights."""
    nights(history.database, saves="ppp ppf pff fff", asks="ppp ppp")
    write(history.database, a_run(9, "ci"), records("f"))
    assert [(cell.run, cell.eval, cell.passed) for cell in history.nightly_cells(3)] == [
        ("night-2", "saves", 2), ("night-2", "asks", 3), ("night-3", "saves", 1), ("night-4", "saves", 0),
    ]  # fmt: skip
    assert [cell.run for cell in history.nightly_cells(None, evals=["asks"])] == ["night-1", "night-2"]
    assert history.nightly_cells(7, subjects=["b:m"]) == ()


def test_history_of_one_eval(history: SqlHistory):
    """In all runs, or in those of one kind or subject."""
    nights(history.database, saves="ppp ppf", asks="fff fff")
    write(history.database, a_run(9, "ci"), records("f", subject="b:m"))
    assert [cell.passed for cell in history.eval_history("saves")] == [3, 2, 0]
    assert [cell.passed for cell in history.eval_history("saves", kind="nightly")] == [3, 2]
    assert [cell.run for cell in history.eval_history("saves", "b:m")] == ["night-9"]


def test_runs_are_found_by_kind_branch_and_commit(history: SqlHistory):
    """A commit may be a prefix."""
    nights(history.database, saves="p p p")
    write(history.database, replace(a_run(9, "ci"), branch="topic", commit="abc" + "0" * 37), records("f"))
    assert [run.name for run in history.runs(kind="nightly", limit=2)] == ["night-3", "night-2"]
    assert [run.name for run in history.runs(branch="topic")] == ["night-9"]
    assert [run.name for run in history.runs(commit="abc", kind="ci")] == ["night-9"]
    with pytest.raises(UnknownName, match="did you mean 'night-3'"):
        history.run("nigth-3")


def test_two_fingerprints_in_one_cell_are_both_reported(history: SqlHistory):
    """An agent that was updated during a run must be visible."""
    mixed = [record(1, fingerprint="aaa", eval_hash="e"), record(2, fingerprint="bbb", eval_hash="e")]
    write(history.database, a_run(), mixed)
    (cell,) = history.cells("night-1")
    assert (cell.fingerprint, cell.eval_hash, cell.prompt_hash) == ("aaa + bbb", "e", None)


def test_unknown_costs_stay_unknown(history: SqlHistory):
    """An unknown cost is not 0; an infinite cost is unknown."""
    write(history.database, a_run(), [record(1, spent=Spent()), record(2, spent=Spent(cost_usd=float("inf")))])
    (cell,) = history.cells("night-1")
    assert (cell.spent.cost_usd, cell.unpriced, cell.spent.tokens, cell.uncounted) == (None, 2, None, 2)


def test_the_usage_of_each_exchange_is_stored(history: SqlHistory):
    """One row per exchange."""
    answer = Response(parts=(), stop=StopReason.END, usage=Usage(input=7, output=2, cache_read=5), model="m-1")
    exchange = Exchange(number=1, dialect="d", request=Request(model="m", messages=()), response=answer, ended=1.5)
    RunWriter(history.database, a_run()).write((), [WrittenRecord(record=record(1), usages=(usage(exchange),))])
    (row,) = history.database.rows("SELECT exchange, model, stopped, input_tokens, cache_read, ended FROM usages")
    assert tuple(row) == (1, "m-1", "end", 7, 5, 1.5)


def test_adding_some_attempts_reads_only_their_trials(tmp_path: Path):
    """With a million attempts, a table scan takes a hundred times as long as the index."""
    database = open_database(str(tmp_path / "demeanor.db"))
    plan = " ".join(str(row) for row in database.rows(f"EXPLAIN QUERY PLAN {attempts_at(8)}", [1] * 16))
    database.close()
    assert "SEARCH attempts USING INDEX" in plan
    assert "SCAN attempts" not in plan


def test_decisions_are_stored_once_and_the_newest_is_found(history: SqlHistory):
    """By ruling, by eval, and the last one of each eval."""
    first = KeptDecision(made="2026-01-01T00:00:00+00:00", ruling="promote", eval="saves", answer="keep", rule="seed")
    second = replace(first, made="2026-02-01T00:00:00+00:00", answer="promote", evidence={"nights": [1, 2]})
    other = replace(first, ruling="gate", eval="")
    for one in (first, second, other, second):
        history.add_decision(one)
    assert history.decisions(ruling="promote") == (second, first)
    assert history.decisions(name="saves", limit=1) == (second,)
    assert history.last_decisions("promote") == {"saves": second}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.booleans(), st.sampled_from("pfv")))))
def test_tallies_equal_the_view_of_trials(history: SqlHistory, batches: list[list[tuple]]):
    """For any order of attempts, with duplicates."""
    uid = f"{digest(batches):016x}"
    run = replace(a_run(), id=uid, uid=uid)
    writer = RunWriter(history.database, run)
    ended = {}
    for batch in batches:
        made = [
            record(n, VERDICTS[v], attempt=a, final=f, ended=ended.setdefault((n, a, f, v), f"{len(ended):04}"))
            for n, a, f, v in batch
        ]
        writer.write((), [WrittenRecord(record=one) for one in made])
    counted = {cell.eval: (cell.passed, cell.failed, cell.voided, cell.attempts) for cell in history.cells(uid)}
    outcomes = [one.verdict.outcome for one in history.trials(uid)]
    all_attempts = len(history.records(uid))
    assert all_attempts == len(ended)
    expected = tuple(outcomes.count(outcome) for outcome in ("pass", "fail", "void"))
    assert counted == ({"saves": (*expected, all_attempts)} if ended else {})


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(min_size=1), st.text(), st.text())
def test_any_text_can_be_stored(history: SqlHistory, name: str, reason: str, output: str):
    """Including NUL, lone surrogates and SQL; what a database can't store is escaped."""
    verdict = Fail(findings=(Finding(check=name, answer="no", reason=reason),))
    uid = f"{digest(name, reason, output):016x}"
    written = RunWriter(history.database, replace(a_run(), id=uid, uid=uid))
    written.write((), [WrittenRecord(record=record(1, verdict, eval=name, stdout=output))])
    (found,) = history.records(uid)
    assert (found.eval, found.stdout) == (clean(name), output)
    assert found.verdict == Fail(findings=(Finding(check=clean(name), answer="no", reason=clean(reason)),))


def test_trials_are_found_by_their_reasons_calls_and_last_lines(history: SqlHistory):
    """All words, in any case and order; if nothing has them, the last may begin a word. The newest trial is first."""
    reason = Fail(findings=(Finding(check="saves", answer="no", reason="src/Port.py lacks the groesste port\n(9090)"),))
    write(history.database, a_run(1), [record(1, reason), record(2, chain="1. read_file(path='it''s.md')")])
    write(
        history.database, a_run(2), [record(1, stdout="I renamed every caller."), record(2, VOIDED), record(3, reason)]
    )

    def search(text: str) -> list[tuple[str, int]]:
        return [(trial.run, trial.number) for trial in matching_trials(history, text)]

    assert search("LACKS 9090") == search("port src GROES") == [("night-2", 3), ("night-1", 1)]
    assert search("read_file(") == [("night-1", 2)]
    assert search("rename") == search("I renamed every CALLER.") == [("night-2", 1)]
    assert search("503") == [("night-2", 2)]
    for nothing in ("", "  ", '"', "'*:&|!()", "NEAR(", "absent", "rena mable", "\0", "%"):
        assert search(nothing) == [], nothing


def test_trials_of_an_older_schema_can_be_searched(address: str):
    """The index is made of what was stored before it."""
    database = open_database(address)
    write(database, a_run(), [record(1, FAILED, chain="1. read_file(path='a')\n2. shell(command='ls')")])
    database.rows("DELETE FROM migrations WHERE name = '0002_search'")
    if "postgres" not in address:
        database.rows("DROP TABLE texts_index")
    database.rows("DROP TABLE texts")
    migrate(database, migrations())
    history = SqlHistory(database)
    assert [trial.number for trial in matching_trials(history, "it did not")] == [1]
    assert [trial.number for trial in matching_trials(history, "shell command")] == [1]
    history.close()
