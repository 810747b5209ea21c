"""Which cells the gate judged before a change and does not judge now: by the last nights and the base commit.

The nights tell which cells there were. The base commit tells what the change itself took away: an eval, a subject or a
strict policy that an earlier change gave up is not missed again. Where the base commit does not tell, the nights do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from demeanor.config import Config, Table, read_settings
from demeanor.core.text.wording import count
from demeanor.core.trees.git import GitError, git
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import ALWAYS_PASSES, USUALLY_FAILS, Policy
from demeanor.decide.gate import Unjudged, weaker, weaker_policies
from demeanor.define import Edits, policies_at, policies_in, policy_file
from demeanor.gateway.local import DEFAULT_MODEL
from demeanor.runner import NATIVE, SCRIPTED


@dataclass(frozen=True, kw_only=True, slots=True)
class GateScope:
    """What a gate was asked to judge."""

    evals: Sequence[Eval]
    """The evals that match its options, whatever their policy."""

    others: Collection[str]
    """The names of the evals that do not match, or that are known to be removed."""

    gated: Collection[str]
    """The names of the evals that it judges: by their policy, or because the change adds or edits them."""

    every_path: bool
    """Whether the evals of all paths were collected."""

    every_subject: bool
    """Whether the subjects are those of the configuration."""

    judged: Mapping[str, str | None]
    """The cells of its plan, by id → why a cell is not judged; None if it is."""


def unjudged_cells(
    scope: GateScope, recent: Mapping[tuple[str, str], Sequence[RunCell]], config: Config, base: Edits
) -> Iterator[Unjudged]:
    """The cells that the change takes away from the gate, and the policies that it lowers."""
    before, now = (
        _policies_before(scope.evals, recent, config, base),
        {eval_.name: eval_.policy for eval_ in scope.evals},
    )
    lowered = {unjudged.eval: unjudged for unjudged in weaker_policies(before, now)}
    yield from lowered.values()
    gone = set[str]()
    for (name, subject), cells in recent.items():
        cell = cells[-1]
        policy = before.get(name, cell.policy)
        if name in lowered or name in scope.others or policy is USUALLY_FAILS:
            continue
        if policy is not ALWAYS_PASSES and name in now and name not in scope.gated:
            continue
        nights = f"judged in {count(len({cell.run for cell in cells}), 'night')} of the last week"
        if name not in now:
            if scope.every_path and name not in gone and _had_eval(name, cell, config, base):
                gone.add(name)
                yield Unjudged(eval=name, why=f"{nights}, and not collected any more")
        elif (own := f"{name}/{subject}") in scope.judged:
            if why := scope.judged[own]:
                yield Unjudged(eval=name, subject=subject, why=f"{nights}, and not judged now: {why}")
        elif scope.every_subject and _had_subject(subject, cell, config, base):
            yield Unjudged(eval=name, subject=subject, why=f"{nights}, and {subject} is not one of its subjects now")


def _policies_before(
    evals: Sequence[Eval], recent: Mapping[tuple[str, str], Sequence[RunCell]], config: Config, base: Edits
) -> dict[str, Policy]:
    """The policy of each eval at the base commit or, where its source does not tell, in the last night."""
    nightly = {name: cells[-1].policy for (name, _), cells in recent.items()}
    policies = {}
    for eval_ in evals:
        policy = nightly.get(eval_.name)
        if base.base is not None and (weaker(eval_.policy, policy) or base.evals.get(eval_.name) == "edited"):
            policy = _policy_at(eval_, config.root, base.base) or policy
        if policy is not None:
            policies[eval_.name] = policy
    return policies


def _policy_at(own: Eval, root: Path, commit: str) -> Policy | None:
    """The policy of an eval at a commit: in its own file, or wherever it was then."""
    top, file = _top(root), policy_file(own).resolve()
    if top is None:
        return None
    source = _source(top, commit, file.relative_to(top).as_posix()) if file.is_relative_to(top) else None
    return (policies_in(file, source).get(own.name) if source else None) or _all_policies(top, commit).get(own.name)


def _had_eval(name: str, cell: RunCell, config: Config, base: Edits) -> bool:
    """Whether an eval of a night was still there at the base commit. One whose source never named it counts as such."""
    top = _top(config.root)
    if top is None or base.base is None:
        return True
    return name in _all_policies(top, base.base) or name not in _all_policies(top, cell.commit or base.base)


def _had_subject(subject: str, cell: RunCell, config: Config, base: Edits) -> bool:
    """Whether the gate judged a subject of a night at the base commit. One that no configuration names was chosen by
    the eval itself."""
    top = _top(config.root)
    then = config_before(config, base)
    if top is None or then is None:
        return subject not in config.nightly.subjects
    night = _config_at(top, cell.commit or base.base or "", config)
    named = {*_named(then), *(_named(night) if night is not None else ())}
    return subject in _key(then) or (subject not in named and not then.gate.subjects)


def config_before(config: Config, base: Edits) -> Config | None:
    """The configuration at the base commit; None if it can't be read."""
    top = _top(config.root)
    return None if top is None or base.base is None else _config_at(top, base.base, config)


def _key(config: Config) -> Collection[str]:
    """The key subjects of a configuration."""
    return config.gate.subjects or config.subjects or (f"{NATIVE}:{DEFAULT_MODEL}", f"{NATIVE}:{SCRIPTED}")


def _named(config: Config) -> Collection[str]:
    """All subjects that a configuration names."""
    return {*_key(config), *config.subjects, *config.nightly.subjects}


def _config_at(top: Path, commit: str, now: Config) -> Config | None:
    """The configuration at a commit; None if it can't be read."""
    file = (now.file or now.root / "demeanor.toml").resolve()
    if not file.is_relative_to(top):
        return now
    try:
        git(top, "cat-file", "-e", f"{commit}^{{commit}}")
        source = _source(top, commit, file.relative_to(top).as_posix())
        data = tomllib.loads(source or "")
        if file.name == "pyproject.toml":
            data = data.get("tool", {}).get("demeanor", {})
        return read_settings(Table(data, where=file), file)
    except (GitError, BadInput, ValueError, AttributeError):
        return None


@cache
def _top(root: Path) -> Path | None:
    try:
        return Path(git(root, "rev-parse", "--show-toplevel").strip()).resolve()
    except GitError:
        return None


@cache
def _source(top: Path, commit: str, place: str) -> str | None:
    try:
        return git(top, "show", f"{commit}:{place}")
    except GitError:
        return None


@cache
def _all_policies(top: Path, commit: str) -> Mapping[str, Policy]:
    """The policies of all evals at a commit; none if it is not in this clone."""
    try:
        return policies_at(top, commit)
    except GitError:
        return {}
