"""Prefixes of a project: made from stored trials, saved beside the evals, and loaded for a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import BadInput, CassetteError, StoreError
from demeanor.core.values.eval import Eval
from demeanor.core.values.exchange import Exchange, Response
from demeanor.core.values.prefix import Prefix, prefix_file, prefix_name_problem
from demeanor.core.values.trial import Trial
from demeanor.observe import main_answers, separate

if TYPE_CHECKING:
    from demeanor.gateway.cassette import Cassette


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkedTrial:
    """A stored trial from which other trials start."""

    trial: Trial
    """The trial, with its eval as it is now and its subject as it was."""

    capture: Capture
    """Its capture."""

    redactor: Redactor
    """Removes the project's secrets."""

    @property
    def steps(self) -> tuple[Exchange, ...]:
        """The exchanges of its steps: the answers of the main conversation, in order."""
        return main_answers(separate(self.capture))

    def recordings(self, steps: Sequence[int]) -> tuple[Cassette, ...]:
        """The recording of the trial for each of some steps, cut before its answer."""
        from demeanor.gateway.cassette import record_prefixes

        made = self.steps
        cuts = ((step, made[step - 1].number) for step in steps)
        return record_prefixes(self.trial, self.capture, cuts, self.redactor)

    def starting_at(self, steps: Sequence[int], *, instead: Response | None = None) -> tuple[Eval, ...]:
        """For each of some steps: the eval with trials that start there, under the name `EVAL@STEP`."""
        from demeanor.gateway.cassette import prefix_of

        eval_ = replace(self.trial.eval, subjects=(), models=(), log=False)
        starts = [prefix_of(recording, instead=instead) for recording in self.recordings(steps)]
        return tuple(
            replace(eval_, name=f"{eval_.name}@{start.step}", scenario=replace(eval_.scenario, start=start))
            for start in starts
        )


def load_prefixes(evals: Sequence[Eval]) -> tuple[Eval, ...]:
    """The evals with the prefixes that they name; raises BadInput if one is missing, unreadable or out of date."""
    return tuple(
        eval_ if eval_.scenario.start is None or eval_.scenario.start.digest else _with_prefix(eval_) for eval_ in evals
    )


def with_known_prefixes(evals: Sequence[Eval]) -> tuple[Eval, ...]:
    """The evals with the prefixes that they name, so that their hashes are right; one whose prefix can't be used stays
    as it is until it is planned."""
    loaded: list[Eval] = []
    for eval_ in evals:
        try:
            loaded += load_prefixes([eval_])
        except BadInput:  # reported by `plan_evals` and `demeanor validate`, if this eval is used
            loaded.append(eval_)
    return tuple(loaded)


def _with_prefix(eval_: Eval) -> Eval:
    start = eval_.scenario.start
    assert start is not None  # noqa: S101 - only called for evals that name a prefix
    try:
        loaded = read_start(start)
    except CassetteError as error:
        problem, _, remedy = error.detail.partition("\n  → ")
        raise BadInput(
            problem, where=eval_.source.path, key=f"start of {eval_.name!r}", remedy=remedy or None
        ) from None
    if why := stale_reason(eval_, loaded):
        remedy = "record it anew: demeanor validate --refresh"
        raise BadInput(f"{start.file}: {why}", where=eval_.source.path, key=f"start of {eval_.name!r}", remedy=remedy)
    return replace(eval_, scenario=replace(eval_.scenario, start=loaded))


def read_start(start: Prefix) -> Prefix:
    """The prefix with its exchanges; raises CassetteError."""
    from demeanor.gateway.cassette import prefix_of, read_prefix

    return prefix_of(read_prefix(Path(start.file)), name=start.name, file=start.file)


def stale_reason(eval_: Eval, start: Prefix) -> str | None:
    """Why the prefix of an eval is out of date; None if the scenario is the one that it was recorded with."""
    from demeanor.gateway.cassette import scenario_fingerprint

    same = scenario_fingerprint(replace(eval_.scenario, start=None)) == start.scenario
    return None if same else f"the scenario of {eval_.name!r} has changed since the prefix was recorded"


def save_prefix(forked: ForkedTrial, step: int, name: str) -> Path:
    """Save the beginning of a trial beside its eval; raises BadInput if the name is taken or not allowed."""
    from demeanor.gateway.cassette import write_cassette_file

    source = forked.trial.eval.source.path
    if problem := prefix_name_problem(name):
        raise BadInput(f"{name!r} can't be the name of a prefix", where="--save", remedy=problem)
    plain = prefix_file(source, name)
    taken = [path for path in plain.parent.glob(f"{name}.json*") if path.name in {plain.name, f"{plain.name}.gz"}]
    if taken:
        raise BadInput("there is a prefix of this name", where=taken[0], remedy="choose another name, or remove it")
    (recording,) = forked.recordings([step])
    return _write(write_cassette_file, plain, recording)


def renew(named: Prefix, trial: Trial, capture: Capture, redactor: Redactor) -> Path:
    """Record a prefix anew, from a trial that was started with the recorded answers; see `renew_prefix`."""
    from demeanor.gateway.cassette import read_prefix, renew_prefix, write_cassette_file

    plain = Path(named.file)
    prefix = renew_prefix(read_prefix(plain), trial, capture, redactor)
    return _write(write_cassette_file, plain, prefix)


def _write(write: Callable[[Path, Cassette], Path], plain: Path, recording: Cassette) -> Path:
    try:
        return write(plain, recording)
    except (OSError, ValueError) as error:
        raise StoreError(f"{plain}: the prefix can't be written: {error}") from None
