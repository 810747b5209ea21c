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
    from demeanor.gateway import Cassette


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
        from demeanor.gateway import record_prefixes

        made = self.steps
        cuts = ((step, made[step - 1].number) for step in steps)
        return record_prefixes(self.trial, self.capture, cuts, self.redactor)

    def starting_at(self, steps: Sequence[int], *, instead: Response | None = None) -> tuple[Eval, ...]:
        """For each of some steps: the eval with trials that start there, under the name `EVAL@STEP`."""
        from demeanor.gateway import prefix_of

        one = replace(self.trial.eval, subjects=(), models=(), log=False)
        starts = [prefix_of(recording, instead=instead) for recording in self.recordings(steps)]
        return tuple(
            replace(one, name=f"{one.name}@{start.step}", scenario=replace(one.scenario, start=start))
            for start in starts
        )


def load_prefixes(evals: Sequence[Eval]) -> tuple[Eval, ...]:
    """The evals with the prefixes that they name; raises BadInput if one is missing, unreadable or out of date."""
    return tuple(one if one.scenario.start is None or one.scenario.start.digest else _with_prefix(one) for one in evals)


def with_known_prefixes(evals: Sequence[Eval]) -> tuple[Eval, ...]:
    """The evals with the prefixes that they name, so that their hashes are right; one whose prefix can't be used stays
    as it is until it is planned."""
    found: list[Eval] = []
    for one in evals:
        try:
            found += load_prefixes([one])
        except BadInput:  # reported by `plan_evals` and `demeanor validate`, if this eval is used
            found.append(one)
    return tuple(found)


def _with_prefix(one: Eval) -> Eval:
    start = one.scenario.start
    assert start is not None  # noqa: S101 - only called for evals that name a prefix
    try:
        found = read_start(start)
    except CassetteError as error:
        problem, _, remedy = error.detail.partition("\n  → ")
        raise BadInput(problem, where=one.source.path, key=f"start of {one.name!r}", remedy=remedy or None) from None
    if why := stale_reason(one, found):
        remedy = "record it anew: demeanor validate --refresh"
        raise BadInput(f"{start.file}: {why}", where=one.source.path, key=f"start of {one.name!r}", remedy=remedy)
    return replace(one, scenario=replace(one.scenario, start=found))


def read_start(start: Prefix) -> Prefix:
    """The prefix with its exchanges; raises CassetteError."""
    from demeanor.gateway import prefix_of, read_prefix

    return prefix_of(read_prefix(Path(start.file)), name=start.name, file=start.file)


def stale_reason(one: Eval, start: Prefix) -> str | None:
    """Why the prefix of an eval is out of date; None if the scenario is the one that it was recorded with."""
    from demeanor.gateway import scenario_fingerprint

    same = scenario_fingerprint(replace(one.scenario, start=None)) == start.scenario
    return None if same else f"the scenario of {one.name!r} has changed since the prefix was recorded"


def save_prefix(forked: ForkedTrial, step: int, name: str) -> Path:
    """Save the beginning of a trial beside its eval; raises BadInput if the name is taken or not allowed."""
    from demeanor.gateway import write_cassette_file

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
    from demeanor.gateway import read_prefix, renew_prefix, write_cassette_file

    plain = Path(named.file)
    found = renew_prefix(read_prefix(plain), trial, capture, redactor)
    return _write(write_cassette_file, plain, found)


def _write(write: Callable[[Path, Cassette], Path], plain: Path, recording: Cassette) -> Path:
    try:
        return write(plain, recording)
    except (OSError, ValueError) as error:
        raise StoreError(f"{plain}: the prefix can't be written: {error}") from None
