"""The trials of a run, split into shards and joined again: what the joined run says, and what it refuses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from demeanor.config.config import read_config
from demeanor.core.text.codec import encode
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import BadInput
from demeanor.core.values.evidence import Evidence, Spent
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.run_request import RunRequest, Shard
from demeanor.core.values.trial import Plan, Trial
from demeanor.core.values.verdict import Void, VoidCause
from demeanor.reports.run import JoinedRun, RunReport, find_shards, join_shards, json_report, make_report
from demeanor.runner import RunResult, shard_of
from demeanor.store.runs import RunFolder
from tests.helpers.runs import FAILED, PASSED
from tests.runner.test_plan import an_eval, plan

SEED = 7
WHOLE = plan(*(an_eval(f"e{n}", list(Policy)[n % 3]) for n in range(10)), trials=20)


def record_of(trial: Trial) -> Record:
    """An attempt whose outcome follows from the seed of the trial, as that of a deterministic agent does."""
    chance = trial.seed(SEED) % 10
    verdict = FAILED if chance < 2 else Void(cause=VoidCause.PROVIDER, detail="503") if chance == 2 else PASSED
    spent = Spent(seconds=1.0, turns=2, input_tokens=100 + chance, output_tokens=5, cost_usd=0.25)
    ended = f"2026-01-01T03:{trial.number:02}:{int(trial.eval.name[1:]):02}.000+00:00"
    return Record(
        eval=trial.eval.name, subject=str(trial.subject), number=trial.number, attempt=1, verdict=verdict, spent=spent,
        ended=ended, policy=trial.eval.policy, settings_hash="a" * 12,
    )  # fmt: skip


def run_folder(folder: Path, part: Plan, shard: Shard | None, *, ran: int | None = None, **more: Any) -> RunFolder:
    """A run, or a shard of it, of which the first trials ran."""
    arguments = encode(RunRequest(trials=20, seed=SEED, kind="nightly", shard=shard))
    info = RunInfo(
        id=folder.name, started="2026-01-01T03:00:00+00:00", uid=folder.name.rjust(16, "0"), kind="nightly", seed=SEED,
        arguments=arguments, **more.pop("info", {}),
    )  # fmt: skip
    run = RunFolder(folder)
    run.begin(info, part)
    for trial in list(part.trials())[:ran]:
        capture = Capture(trial=trial.id, attempt=1)
        run.append(replace(record_of(trial), **more), capture, Evidence(trial=trial.id))
    run.close()
    return run


def shards(folder: Path, of: int, *, without: Sequence[int] = (), costs: Mapping[str, float] | None = None) -> Path:
    """All shards of the run, each in a folder of its own."""
    for number in range(1, of + 1):
        if number not in without:
            shard = Shard(number=number, of=of)
            run_folder(folder / f"s{number}", shard_of(WHOLE, shard, costs or {}, SEED), shard)
    return folder


def joined(folder: Path, tmp_path: Path) -> JoinedRun:
    return join_shards(find_shards([folder]), WHOLE, read_config(tmp_path), tmp_path / "results")


def report_of(run: JoinedRun) -> RunReport:
    return make_report(run.result)


def without_paths(report: RunReport) -> str:
    """The report as JSON, without what is of the folder it is in, or of the clock."""
    document = json.loads(json_report(report))
    for name in ("run", "folder", "seconds", "timestamp"):
        document.pop(name, None)
    for cell in document["cells"]:
        for record in cell["records"]:
            record.pop("capture")
    return json.dumps(document, indent=1)


def test_eight_shards_of_200_trials_are_joined_to_the_report_of_one_run(tmp_path: Path) -> None:
    """Byte by byte: verdicts, tallies, decisions, costs and the order of trials."""
    single = run_folder(tmp_path / "single", WHOLE, None)
    together = joined(shards(tmp_path / "shards", 8), tmp_path)
    expected = make_report(
        RunResult(plan=together.plan, info=single.info(), folder=single.folder, records=single.records())
    )
    assert (expected.exit_code, sum(cell.tally.planned for cell in expected.cells)) == (ExitCode.REJECTED, 200)
    assert without_paths(report_of(together)) == without_paths(expected)
    assert together.info.arguments == {**single.info().arguments}
    assert [cell["trials"] for cell in together.folder.cells()] == [20] * 10
    record = together.folder.records()[0]
    assert together.folder.packed_capture(record) == single.packed_capture(single.records()[0])
    assert (together.folder.folder / f"{record.folder}.log").is_file()


def test_trials_are_split_evenly_by_cost(tmp_path: Path) -> None:
    """The same split on every machine; without costs, by their number."""
    costs = {cell.id: 10.0 if cell.eval.name == "e3" else 1.0 for cell in WHOLE.cells}
    parts = [shard_of(WHOLE, Shard(number=n, of=8), costs, SEED) for n in range(1, 9)]
    spent = [sum(costs[trial.cell] for trial in part.trials()) for part in parts]
    assert max(spent) - min(spent) <= 1
    assert Counter(trial.id for part in parts for trial in part.trials()) == dict.fromkeys(
        (trial.id for trial in WHOLE.trials()), 1
    )
    assert shard_of(WHOLE, Shard(number=3, of=8), costs, SEED) == parts[2]
    assert {shard_of(WHOLE, Shard(number=n, of=7), {}, SEED).size for n in range(1, 8)} == {28, 29}


def test_a_lost_shard_is_never_green(tmp_path: Path) -> None:
    """Whether it is missing or did not finish: it is named, and the run undecided, although enough trials passed."""
    only = Plan(cells=WHOLE.cells[1:2])
    assert only.cells[0].eval.policy is Policy.USUALLY_PASSES
    for number, ran in ((1, None), (2, None), (3, 2), (4, None)):
        part = shard_of(only, Shard(number=number, of=5), {}, SEED)
        run_folder(tmp_path / "shards" / f"s{number}", part, Shard(number=number, of=5), ran=ran, verdict=PASSED)
    together = join_shards(find_shards([tmp_path / "shards"]), only, read_config(tmp_path), tmp_path / "results")
    assert together.info.lost == (
        "shard 3/5 did not finish: 2 trials of it have no result",
        "shard 5/5 is missing",
    )
    report = report_of(together)
    (cell,) = report.cells
    assert (cell.decision.answer, cell.tally.passed, cell.tally.planned) == ("undecided", 14, 20)
    assert report.exit_code is ExitCode.UNDECIDED
    assert json.loads(json_report(report))["headline"].startswith("Undecided: shard 3/5 did not finish")
    assert "shard 5/5 is missing" in report.notes


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"info": {"commit": "c2"}}, "the commit differs"),
        ({"eval_hash": "def"}, "e0/native:scripted was edited"),
        ({"settings_hash": "b" * 12}, "another version of e"),
        ({"agent_version": "2"}, None),
    ],
)
def test_shards_of_different_versions_are_not_joined(tmp_path: Path, more: dict[str, Any], problem: str | None) -> None:
    """Neither of other commits nor of other evals; what is not known does not differ."""
    for number in (1, 2):
        shard = Shard(number=number, of=2)
        part = shard_of(WHOLE, shard, {}, SEED)
        run_folder(tmp_path / "shards" / f"s{number}", part, shard, **(dict(more) if number == 2 else {}))
    if problem is None:
        assert joined(tmp_path / "shards", tmp_path).info.lost == ()
        return
    with pytest.raises(BadInput, match=problem):
        joined(tmp_path / "shards", tmp_path)


def test_a_shard_that_was_started_again_counts_once(tmp_path: Path) -> None:
    """The folder that is complete; two complete ones are refused, because one may hide what the other found."""
    shards(tmp_path / "shards", 2)
    second = Shard(number=2, of=2)
    part = shard_of(WHOLE, second, {}, SEED)
    run_folder(tmp_path / "shards" / "again", part, second, ran=30)
    assert joined(tmp_path / "shards", tmp_path).info.lost == ()
    run_folder(tmp_path / "shards" / "third", part, second)
    with pytest.raises(BadInput, match="shard 2/2 is there twice"):
        joined(tmp_path / "shards", tmp_path)


def test_trials_that_no_shard_ran_are_told(tmp_path: Path) -> None:
    """If shards had different histories, they split the trials differently: some may run twice, and count once."""
    costs = {cell.id: float(number) for number, cell in enumerate(WHOLE.cells)}
    for number, own in ((1, {}), (2, costs)):
        shard = Shard(number=number, of=2)
        run_folder(tmp_path / "shards" / f"s{number}", shard_of(WHOLE, shard, own, SEED), shard)
    together = joined(tmp_path / "shards", tmp_path)
    (sentence,) = together.info.lost
    assert sentence.startswith("no shard ran some trials of e0/native:scripted, ")
    trials = Counter(record.trial for record in together.folder.records())
    assert set(trials.values()) == {1}
    assert len(trials) < 200


def test_an_eval_that_no_shard_could_read_leaves_the_run_undecided(tmp_path: Path) -> None:
    """It lacked a package on their machines, for example, and this one has it."""
    only = Plan(cells=WHOLE.cells[1:2])
    for number in (1, 2):
        shard = Shard(number=number, of=2)
        run_folder(tmp_path / "shards" / f"s{number}", shard_of(only, shard, {}, SEED), shard, verdict=PASSED)
    alone = join_shards(find_shards([tmp_path / "shards"]), only, read_config(tmp_path), tmp_path / "results")
    assert report_of(alone).exit_code is ExitCode.ACCEPTED
    here = Plan(cells=WHOLE.cells[1:3])
    more = join_shards(find_shards([tmp_path / "shards"]), here, read_config(tmp_path), tmp_path / "results")
    assert more.info.lost[0].startswith("no shard ran some trials of e2/native:scripted: ")
    assert report_of(more).exit_code is ExitCode.UNDECIDED


def test_links_in_a_shard_are_left_out(tmp_path: Path) -> None:
    """It may come from a machine that someone else controls."""
    folder = shards(tmp_path / "shards", 1)
    inside = next(path for path in (folder / "s1").rglob("trial-1") if path.is_dir())
    (inside / "secret").symlink_to("/etc/passwd")
    together = joined(folder, tmp_path)
    assert not [path for path in together.folder.folder.rglob("*") if path.is_symlink()]
    assert not list(together.folder.folder.rglob("secret"))


def test_another_policy_than_that_of_the_shards_is_refused(tmp_path: Path) -> None:
    """An eval that was promoted since they ran would be decided by another rule."""
    folder = shards(tmp_path / "shards", 1)
    promoted = plan(*(an_eval(f"e{n}", Policy.ALWAYS_PASSES) for n in range(10)), trials=20)
    with pytest.raises(BadInput, match="e1 is ALWAYS_PASSES here, and was USUALLY_PASSES when the shards ran"):
        join_shards(find_shards([folder]), promoted, read_config(tmp_path), tmp_path / "results")


def test_numbers_that_no_run_has_are_refused(tmp_path: Path) -> None:
    """A shard may come from a machine that someone else controls."""
    run_json = shards(tmp_path / "shards", 1) / "s1" / "run.json"
    text = run_json.read_text()
    for old, new, problem in (
        ('"of": 1', '"of": 2000000000', "can't be read"),
        ('"whole": 20', '"whole": 2000000000', "more"),
    ):
        run_json.write_text(text.replace(old, new))
        with pytest.raises(BadInput, match=problem):
            joined(tmp_path / "shards", tmp_path)
