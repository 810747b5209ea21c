"""A fixer's change held against the rules, before anything of it is built or tried.

Evals that it changed are loaded from where they were changed. To load an eval runs its author's code, and here the
author is a fixing agent; so that happens only where the configuration lets it change evals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from demeanor.commands.fix.diagnosis import Diagnosis
from demeanor.commands.fix.eval_weakening import harder, lost, new_complaints
from demeanor.commands.fix.overfitting import EvalSource
from demeanor.commands.fix.patch_rules import refusals
from demeanor.commands.fix.project import FixProject, bounds_of
from demeanor.commands.fix.violations import Refusal, Violation
from demeanor.config.config import Config
from demeanor.config.tables import BuildRules
from demeanor.core.errors import DemeanorError
from demeanor.core.eval import Eval
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.tree import Change
from demeanor.runner.plan import choose_evals
from demeanor.runner.self_tests import self_tests
from demeanor.vcs.checkout import checked_out
from demeanor.vcs.patch import write_changes


def held_against_the_rules(
    project: FixProject, found: Diagnosis, changed: Sequence[Change], redactor: Redactor, environ: Mapping[str, str]
) -> tuple[Refusal, ...]:
    """The rules that a change breaks."""
    bounds = bounds_of(project, found.allowed)
    eval_sources = {name: _exam(one) for name, one in project.evals.items()}
    targets = [eval_sources[one.name] for one in found.evals]
    broken = refusals(changed, bounds, targets, is_secret=lambda data: bool(redactor.spans(data)))
    if broken or not touches_evals(project, changed):
        return broken
    unbuilt = replace(project.config, build=BuildRules())
    with checked_out(unbuilt, project.commit, environ=environ, change=partial(write_changes, changed)) as place:
        return _vetted(eval_sources, place.config)


def touches_evals(project: FixProject, changed: Sequence[Change]) -> bool:
    """Whether a change is to evals too."""
    bounds = bounds_of(project)
    return any(bounds.is_eval(change.path) for change in changed)


def _exam(one: Eval) -> EvalSource:
    """An eval with what its files tell."""
    path, template = one.source.path, one.scenario.template
    return EvalSource(
        eval=one,
        source=path.read_text("utf-8", "replace") if path.suffix == ".py" and path.is_file() else "",
        template=tuple(file.relative_to(template).as_posix() for file in sorted(template.rglob("*")) if file.is_file())
        if template and template.is_dir()
        else (),
    )


def _vetted(old: Mapping[str, EvalSource], changed: Config) -> tuple[Refusal, ...]:
    """What the evals of a worktree have lost that they must not."""
    try:
        evals = {one.name: one for one in choose_evals(changed, policy="all")}
    except DemeanorError as error:
        refused = Refusal(foul=Violation.CHECKS, path="", detail=f"the evals can't be read any more: {error}")
        return (refused,)
    new = {name: _exam(one) for name, one in evals.items()}
    found = list(lost(old, new))
    known = {name: eval_source for name, eval_source in old.items() if name in new}
    stricter = [harder(eval_source.eval, evals[name]) for name, eval_source in known.items()]
    before = {test.eval: test for test in self_tests([eval_source.eval for eval_source in known.values()], changed)}
    for test in self_tests(stricter, changed):
        complaints = [f"{one.fault.value}: {one.detail}" for one in test.complaints]
        were = [f"{one.fault.value}: {one.detail}" for one in before[test.eval].complaints]
        found += new_complaints(were, complaints, new[test.eval])
    return tuple(found)
