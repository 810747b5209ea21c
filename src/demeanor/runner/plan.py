"""Evals x subjects x policy → Plan: what will be run, before anything is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.errors import NothingToRun, UnknownName
from demeanor.core.eval import Eval
from demeanor.core.policy import Policy
from demeanor.core.select import keyword_matcher
from demeanor.core.subject import Subject
from demeanor.core.trial import Cell, Plan, Trial

PolicyChoice: TypeAlias = Literal["always", "all"]
DEFAULT_TRIALS = 3
DEFAULT_TIMEOUT = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalFilter:
    """Which evals are wanted."""

    names: tuple[str, ...] = ()
    """Exact names; none means any."""

    keyword: str = ""
    """An expression as in pytest's -k: words with and, or, not and brackets, matched in names, tags, suite and path."""

    suites: tuple[str, ...] = ()
    """Suites; none means any."""

    tags: tuple[str, ...] = ()
    """Tags, one of which an eval must have; none means any."""

    tasks: tuple[str, ...] = ()
    """Parts of names: only Harbor tasks whose name holds one of them; none means any eval."""

    policy: PolicyChoice = "all"
    """`always` leaves out everything that is not ALWAYS_PASSES."""


def choose(evals: Sequence[Eval], choice: EvalFilter) -> tuple[Eval, ...]:
    """The evals that are wanted; raises where a name is unknown or nothing fits. The policy may leave none."""
    known = {one.name for one in evals}
    for name in choice.names:
        if name not in known:
            raise UnknownName("eval", name, known)
    tasks = {one.name for one in evals if one.task is not None}
    for part in choice.tasks:
        if not any(part in name for name in tasks):
            raise UnknownName("task", part, tasks)
    matches = keyword_matcher(choice.keyword)
    found = [
        one
        for one in evals
        if (not choice.names or one.name in choice.names)
        and (not choice.suites or one.suite in choice.suites)
        and (not choice.tags or set(choice.tags) & set(one.tags))
        and (not choice.tasks or (one.task is not None and any(part in one.name for part in choice.tasks)))
        and matches((one.name, *one.tags, one.suite or "", one.source.path.name))
    ]
    allowed = [one for one in found if choice.policy == "all" or one.policy is Policy.ALWAYS_PASSES]
    if not found:
        raise NothingToRun(f"no eval was found (of {len(evals)} defined)\n  → `demeanor list` shows what there is")
    return tuple(allowed)


def make_plan(
    evals: Sequence[Eval],
    subjects: Sequence[Subject],
    *,
    subject_named: Callable[[str], Subject] | None = None,
    trials: int | None = None,
    timeout: float | None = None,
    default_trials: int = DEFAULT_TRIALS,
    default_timeout: float = DEFAULT_TIMEOUT,
    environ: Mapping[str, str],
    unavailable: Callable[[Subject], str | None] = lambda subject: None,
) -> Plan:
    """A cell for each eval and subject. `trials` and `timeout` overrule what an eval says; the defaults do not.

    `subject_named` turns the subjects an eval names for itself into Subjects; without it only `subjects` are used.
    `unavailable` tells why a subject can't be run here, if so.
    """
    cells = []
    for one in evals:
        number = trials or one.trials or default_trials
        seconds = timeout or one.scenario.timeout or default_timeout
        for subject in _subjects_of(one, subjects, subject_named):
            why_not = _skip(one, subject, environ) or unavailable(subject)
            wanted = 0 if why_not else number
            cells.append(
                Cell(
                    eval=one,
                    subject=subject,
                    skipped=why_not,
                    trials=tuple(
                        Trial(eval=one, subject=subject, number=n, timeout=seconds) for n in range(1, wanted + 1)
                    ),
                )
            )
    return Plan(cells=tuple(cells))


def _subjects_of(
    one: Eval, subjects: Sequence[Subject], subject_named: Callable[[str], Subject] | None
) -> Iterable[Subject]:
    """The run's subjects, or those that the eval names for itself where nobody asked for others."""
    if subject_named is None:
        return subjects
    if one.subjects:
        return [subject_named(name) for name in one.subjects]
    if one.models:
        agents = dict.fromkeys(subject.agent for subject in subjects)
        return [subject_named(f"{agent}:{model}") for agent in agents for model in one.models]
    return subjects


def _skip(one: Eval, subject: Subject, environ: Mapping[str, str]) -> str | None:
    if one.subjects and str(subject) not in one.subjects:
        return f"meant for {', '.join(one.subjects)}"
    missing = [name for name in one.scenario.requires_env if not environ.get(name)]
    return f"needs the environment variable {', '.join(missing)}" if missing else None
