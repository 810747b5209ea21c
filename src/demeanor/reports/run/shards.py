"""Runs in shards: a part of the trials on each machine, then joined into one run.

A shard is a run folder outside of the history, in `<results>/shards/`. Its run.json has all cells of the plan, so that
the trials of a shard that is lost are known, and missing, in the run that the others are joined into.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from demeanor.config import Config
from demeanor.core.text.codec import encode
from demeanor.core.text.wording import count
from demeanor.core.trees.git import GitError, commit_of
from demeanor.core.values.errors import BadInput
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.run_request import RunRequest, Shard
from demeanor.core.values.trial import Cell, Plan, Trial, named_cell
from demeanor.results import request_of_run, stale_attempts, trial_costs
from demeanor.runner import UI, Catalog, RunResult, execute, prepare, shard_of
from demeanor.store.runs import RUN_FILE, RunFolder, new_run, point_latest

SHARDS = "shards"
"""The folder of shards in a results folder."""

_MAY_DIFFER = ("shard", "jobs", "timeout", "budget_usd", "budget_tokens", "agent_debug", "build", "fail_fast", "unread")
_CHOICE = ("paths", "subjects", "model", "names", "keyword", "suites", "policy", "env", "faults")
_MOST_SHARDS, _MOST_TRIALS = 10_000, 1_000_000
_NAMED = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardResult:
    """What a shard has run."""

    shard: str
    """Its number and how many there are: `2/8`."""

    folder: str
    """Its folder, which is to be joined with those of the others."""

    trials: int
    """The number of its trials."""

    whole: int
    """The number of trials of all shards."""

    passed: int
    failed: int
    voided: int

    notes: tuple[str, ...]
    """What the user should know about it."""

    exit_code: ExitCode
    """Accepted if all its trials were run, whatever their verdicts: a shard decides nothing."""

    @property
    def text(self) -> str:
        """The result for people."""
        ended = self.passed + self.failed + self.voided
        run = f"{ended} of its {count(self.trials, 'trial')}" if ended < self.trials else count(self.trials, "trial")
        lines = [
            f"shard {self.shard}: {run} of {self.whole}",
            f"{self.passed} passed, {self.failed} failed, {self.voided} void",
            "no verdict: that is decided when all shards are joined",
            f"kept in   {self.folder}",
            *(f"note      {note}" for note in self.notes),
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class JoinedRun:
    """A run that was joined from shards, in a run folder of its own."""

    info: RunInfo
    folder: RunFolder

    plan: Plan
    """All its cells, with all trials that the shards were to run."""

    @property
    def result(self) -> RunResult:
        """The run as it is, with whatever is missing."""
        records = self.folder.records()
        last = max((record.ended for record in records if record.ended), default=self.info.started)
        seconds = (datetime.fromisoformat(last) - datetime.fromisoformat(self.info.started)).total_seconds()
        return RunResult(
            plan=self.plan, info=self.info, folder=self.folder.folder, records=records, seconds=max(0.0, seconds)
        )


def planned_shard(
    catalog: Catalog, plan: Plan, request: RunRequest, results: Path, earlier: RunFolder | None = None
) -> tuple[Plan, RunRequest]:
    """The plan of a shard, and the request with the seed that all shards share; those of an `earlier` part, if it is
    continued: the history may have changed since then."""
    shard = request.shard
    if shard is None:
        return plan, request
    if earlier is not None:
        return _plan_of_folder(earlier, plan), request
    if request.seed is None:
        request = replace(request, seed=_seed_of(catalog.config.root))
    costs = trial_costs(plan, catalog.config, catalog.environ, results) if shard.of > 1 else {}
    return shard_of(plan, shard, costs, request.seed or 0), request


def run_shard(
    catalog: Catalog, plan: Plan, request: RunRequest, results: Path, *, ui: UI, earlier: RunFolder | None = None
) -> ShardResult:
    """Run the trials of a shard. It gets into no history: only the run that it is a part of does."""
    info = None if earlier is None else replace(earlier.info(), arguments=encode(request))
    stale = {} if earlier is None else stale_attempts(earlier, plan).attempts
    into = earlier or results / SHARDS
    prepared = prepare(catalog, plan, request, into, info=info, in_history=False, stale=stale, log=ui.log)
    result = execute(prepared, ui=ui)
    outcomes = Counter(record.verdict.outcome for record in result.records if record.final)
    missing = plan.size - outcomes.total()
    code = ExitCode.UNDECIDED if missing else ExitCode.ACCEPTED
    return ShardResult(
        shard=str(request.shard),
        folder=str(result.folder),
        trials=plan.size,
        whole=sum(cell.whole or 0 for cell in plan.cells),
        passed=outcomes["pass"],
        failed=outcomes["fail"],
        voided=outcomes["void"],
        notes=((result.stopped,) if result.stopped else ()) + result.notes,
        exit_code=ExitCode.INTERRUPTED if result.interrupted else code,
    )


def find_shards(paths: Iterable[Path], *, alone: bool = False) -> list[RunFolder]:
    """The shards in these folders, by number; with `alone`, none if there are other runs beside them."""
    files = {file.resolve() for path in paths if path.is_dir() for file in path.rglob(RUN_FILE) if file.is_file()}
    infos = {folder: folder.info() for folder in (RunFolder(file.parent) for file in sorted(files))}
    shards = [folder for folder, info in infos.items() if info.is_shard and not info.rejudges]
    if alone and any(not info.is_shard for info in infos.values()):
        return []
    return sorted(shards, key=lambda folder: _shard(folder).number)


def require_command(shards: Sequence[RunFolder], request: RunRequest, remedy: str) -> None:
    """Refuse shards of several runs, of another command than that of a request, and of other evals or subjects."""
    theirs = _same_run(shards)
    if theirs.command != request.command:
        raise BadInput(f"is a shard of `demeanor {theirs.command}`", where=shards[0].folder, remedy=remedy)
    for name in _CHOICE:
        if getattr(theirs, name) != getattr(request, name):
            ran, now = getattr(theirs, name), getattr(request, name)
            problem = f"ran with {name} = {ran!r}, and here it is {now!r}"
            raise BadInput(problem, where=shards[0].folder, remedy="give the same options as to the shards")


def join_shards(
    shards: Sequence[RunFolder], plan: Plan, config: Config, results: Path, *, unread: tuple[str, ...] = ()
) -> JoinedRun:
    """Join the shards of one run into a run folder, with what is missing of them; it is not yet in the history.

    `plan` has the evals as they are here, without those that are `unread`. What was planned is what the shards say.
    """
    request = _same_run(shards)
    chosen = _each_once(shards)
    whole = _whole_plan(chosen, plan, config)
    _require_same_versions(chosen, plan)
    attempts, planned = _own_attempts(chosen)
    lost = tuple(_lost(chosen, _shard(chosen[0]).of)) or tuple(_in_no_shard(whole, planned))
    infos = [shard.info() for shard in chosen]
    folder = new_run(results, datetime.now(UTC))
    request = replace(request, shard=None, jobs=None, lost=lost, unread=unread)
    uid = blake2b("\n".join(sorted(info.uid for info in infos)).encode(), digest_size=8).hexdigest()
    started = min(info.started for info in infos)
    info = replace(infos[0], id=folder.folder.name, uid=uid, started=started, arguments=encode(request))
    folder.begin(info, whole)
    try:
        folder.take_over(attempts)
    finally:
        folder.close()
    point_latest(folder.folder)
    return JoinedRun(info=info, folder=folder, plan=whole)


def _shard(folder: RunFolder) -> Shard:
    shard = request_of_run(folder.info()).shard
    if shard is None or not 1 <= shard.number <= shard.of < _MOST_SHARDS:
        raise BadInput("its shard can't be read", where=folder.folder / RUN_FILE)
    return shard


def _seed_of(root: Path) -> int:
    """A seed that every machine finds by itself: that of the commit; 0 outside of a repository."""
    try:
        return int(commit_of(root, "HEAD")[:8], 16)
    except GitError:
        return 0


def _plan_of_folder(folder: RunFolder, plan: Plan) -> Plan:
    """The plan with the trials that run.json names."""
    own = {(str(cell["eval"]), str(cell["subject"])): cell for cell in folder.cells()}
    cells = []
    for cell in plan.cells:
        stored = own.get((cell.eval.name, str(cell.subject)), {"numbers": (), "whole": 0})
        trials = tuple(trial for trial in cell.trials if trial.number in stored["numbers"])
        cells.append(replace(cell, trials=trials, whole=stored["whole"]))
    return Plan(cells=tuple(cells))


def _same_run(shards: Sequence[RunFolder]) -> RunRequest:
    """The request that the shards share; raises BadInput if they are not of one run."""
    facts: dict[str, dict[str, str]] = {}
    for folder in shards:
        info, shard = folder.info(), _shard(folder)
        request = replace(request_of_run(info), **{name: getattr(RunRequest(), name) for name in _MAY_DIFFER})
        for what, value in {
            "the number of shards": shard.of,
            "the commit": info.commit,
            "whether there are uncommitted changes": info.dirty,
            "the seed": info.seed,
            "the version of Demeanor": info.demeanor,
            "the options": encode(request),
        }.items():
            facts.setdefault(what, {}).setdefault(str(value), f"{folder.folder} has {value}")
    for what, values in facts.items():
        if len(values) > 1:
            raise BadInput(
                f"these shards are not of one run: {what} differs: {'; '.join(list(values.values())[:2])}",
                where="shards",
                remedy="name the folders of the shards of one run",
            )
    return request_of_run(shards[0].info())


def _each_once(shards: Sequence[RunFolder]) -> list[RunFolder]:
    """One folder for each shard: of one that was started again, the folder that is complete."""
    chosen: dict[int, RunFolder] = {}
    for folder in shards:
        number = _shard(folder).number
        other = chosen.setdefault(number, folder)
        if other is folder or other.info().uid == folder.info().uid:
            continue
        if not _unfinished(other) and not _unfinished(folder):
            raise BadInput(
                f"shard {_shard(folder)} is there twice, also in {other.folder}",
                where=folder.folder,
                remedy="name the folders of the shards of one run",
            )
        chosen[number] = min(other, folder, key=_unfinished)
    return [chosen[number] for number in sorted(chosen)]


def _unfinished(shard: RunFolder) -> int:
    """How many of its trials have no result."""
    planned = {(cell["eval"], cell["subject"], n) for cell in shard.cells() for n in cell.get("numbers", ())}
    return len(planned - {_key(record) for record in shard.records() if record.final})


def _key(record: Record) -> tuple[str, str, int]:
    return record.eval, record.subject, record.number


def _whole_plan(shards: Sequence[RunFolder], plan: Plan, config: Config) -> Plan:
    """All cells that the shards have planned, with the trials of all shards, and those of the evals here that no shard
    could read."""
    planned: dict[tuple[str, str], dict[str, Any]] = {}
    for cell in (cell for shard in shards for cell in shard.cells()):
        same = planned.setdefault((str(cell["eval"]), str(cell["subject"])), dict(cell))
        same["whole"] = max(same.get("whole", 0), cell.get("whole", 0))
        same["skipped"] = same["skipped"] if cell["skipped"] else None
    if sum(cell["whole"] for cell in planned.values()) > _MOST_TRIALS:
        raise BadInput("has more trials than a run can have", where=shards[0].folder / RUN_FILE)
    here = {(cell.eval.name, str(cell.subject)): cell for cell in plan.cells}
    names = {name for name, _ in planned}
    unread = (cell for cell in plan.cells if cell.trials and cell.eval.name not in names)
    return Plan(cells=(*(_cell(cell, here.get(key), config) for key, cell in planned.items()), *unread))


def _cell(planned: Mapping[str, Any], here: Cell | None, config: Config) -> Cell:
    number, skipped, policy = int(planned["whole"]), planned["skipped"], Policy(planned["policy"])
    needed = config.evidence.needed(policy, number) if number and not skipped else None
    if here is None:
        stored = named_cell(
            str(planned["eval"]),
            str(planned["subject"]),
            policy=policy,
            trials=number,
            skipped=skipped,
            layer=int(planned["layer"]),
        )
        return replace(stored, needed=needed)
    if here.eval.policy is not policy:
        problem = f"{here.eval.name} is {here.eval.policy} here, and was {policy} when the shards ran"
        raise BadInput(problem, where="shards", remedy="check out the commit of the shards")
    seconds = here.trials[0].timeout if here.trials else 0.0
    trials = (Trial(eval=here.eval, subject=here.subject, number=n + 1, timeout=seconds) for n in range(number))
    return replace(here, trials=tuple(trials), skipped=skipped, needed=needed)


def _require_same_versions(shards: Sequence[RunFolder], plan: Plan) -> None:
    """Refuse shards that tried different versions of a cell, and evals that are other ones here."""
    versions: dict[str, tuple[tuple[str, ...], RunFolder]] = {}
    for shard in shards:
        if edited := list(stale_attempts(shard, plan, settings=False).attempts):
            raise BadInput(
                f"the evals here are not those that the shards ran: {edited[0].rpartition('/')[0]} was edited",
                where=shard.folder,
                remedy=f"check out the commit of the shards: {shard.info().commit or 'unknown'}",
            )
        for record in shard.records():
            version = record.eval_hash, record.settings_hash, record.agent_version or ""
            before, other = versions.setdefault(record.cell, (version, shard))
            if any(a and b and a != b for a, b in zip(before, version, strict=True)):
                raise BadInput(
                    f"it tried another version of {record.cell} than {other.folder}",
                    where=shard.folder,
                    remedy="run all shards with the same agents, evals and settings",
                )


def _own_attempts(
    shards: Sequence[RunFolder],
) -> tuple[list[tuple[RunFolder, Record]], set[tuple[str, str, int]]]:
    """The attempts at the trials of each shard, in the order in which they ended, and which trials were planned. A
    trial that two shards have counts in the first of them."""
    taken: set[tuple[str, str, int]] = set()
    attempts = []
    for shard in shards:
        own = {(str(cell["eval"]), str(cell["subject"]), n) for cell in shard.cells() for n in cell.get("numbers", ())}
        attempts += [(shard, record) for record in shard.records() if _key(record) in own and _key(record) not in taken]
        taken |= own
    return sorted(attempts, key=lambda attempt: attempt[1].ended), taken


def _lost(shards: Sequence[RunFolder], of: int) -> Iterator[str]:
    """Which shards are missing, or have not finished."""
    there = {_shard(shard).number: shard for shard in shards}
    for number in range(1, of + 1):
        if number not in there:
            yield f"shard {number}/{of} is missing"
        elif left := _unfinished(there[number]):
            yield f"shard {number}/{of} did not finish: {count(left, 'trial')} of it have no result"


def _in_no_shard(plan: Plan, planned: Collection[tuple[str, str, int]]) -> Iterator[str]:
    """Of which cells there are trials that no shard was to run, though all shards are there."""
    left = {trial.cell for trial in plan.trials() if (trial.eval.name, str(trial.subject), trial.number) not in planned}
    if left:
        names = ", ".join(sorted(left)[:_NAMED]) + (" …" if len(left) > _NAMED else "")
        yield f"no shard ran some trials of {names}: the shards had different histories, or could not read the eval"
