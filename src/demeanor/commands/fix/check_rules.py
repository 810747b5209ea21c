"""Check a fixer's change against the rules, before any of it is built or run.

When the change includes evals, the changed evals are loaded to compare them with the old ones. Loading an eval runs its
code, and here a fixing agent wrote that code, so this happens only when the configuration allows the fixer to change
evals.

A weaker eval passes more often, whatever the agent does. So a changed eval must keep everything that it checked before,
and its self-test must still fail on the bad behaviours of the old eval as well as on its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from demeanor.commands.fix.diagnosis import Diagnosis
from demeanor.commands.fix.overfitting import EvalSource, check_functions
from demeanor.commands.fix.project import FixProject, bounds_of
from demeanor.commands.fix.rules import Refusal, Violation, find_violations
from demeanor.config import BuildRules, Config
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.trees.tree import Change
from demeanor.core.values.errors import DemeanorError
from demeanor.core.values.eval import Eval
from demeanor.runner import choose_evals, self_tests
from demeanor.vcs import checked_out, write_changes


def check_rules(
    project: FixProject, diagnosis: Diagnosis, changed: Sequence[Change], redactor: Redactor, environ: Mapping[str, str]
) -> tuple[Refusal, ...]:
    """Return the rules that a change breaks."""
    sources = {name: _read_source(eval_) for name, eval_ in project.evals.items()}
    targets = [sources[target.name] for target in diagnosis.evals]
    bounds = bounds_of(project, diagnosis.allowed)
    broken = find_violations(changed, bounds, targets, is_secret=lambda data: bool(redactor.spans(data)))
    if broken or not touches_evals(project, changed):
        return broken
    unbuilt = replace(project.config, build=BuildRules())
    with checked_out(unbuilt, project.commit, environ=environ, change=partial(write_changes, changed)) as checkout:
        return _check_evals(sources, checkout.config)


def touches_evals(project: FixProject, changed: Sequence[Change]) -> bool:
    """Whether a change includes files of evals."""
    bounds = bounds_of(project)
    return any(bounds.is_eval(change.path) for change in changed)


def _read_source(eval_: Eval) -> EvalSource:
    path, template = eval_.source.path, eval_.scenario.template
    return EvalSource(
        eval=eval_,
        source=path.read_text("utf-8", "replace") if path.suffix == ".py" and path.is_file() else "",
        template=tuple(file.relative_to(template).as_posix() for file in sorted(template.rglob("*")) if file.is_file())
        if template and template.is_dir()
        else (),
    )


def _check_evals(old: Mapping[str, EvalSource], changed: Config) -> tuple[Refusal, ...]:
    """Compare the evals of a changed checkout with the old ones, and run their self-tests."""
    try:
        evals = {eval_.name: eval_ for eval_ in choose_evals(changed, policy="all")}
    except DemeanorError as error:
        detail = f"the evals can't be loaded after the change: {error}"
        return (Refusal(foul=Violation.CHECKS, path="", detail=detail),)
    new = {name: _read_source(eval_) for name, eval_ in evals.items()}
    refusals = list(find_weakened(old, new))
    kept = {name: source for name, source in old.items() if name in new}
    before = {test.eval: test for test in self_tests([source.eval for source in kept.values()], changed)}
    for test in self_tests([stricter(source.eval, evals[name]) for name, source in kept.items()], changed):
        complaints = [f"{complaint.fault.value}: {complaint.detail}" for complaint in test.complaints]
        earlier = [f"{complaint.fault.value}: {complaint.detail}" for complaint in before[test.eval].complaints]
        refusals += new_complaints(earlier, complaints, new[test.eval])
    return tuple(refusals)


def find_weakened(old: Mapping[str, EvalSource], new: Mapping[str, EvalSource]) -> tuple[Refusal, ...]:
    """Return everything that evals lost in a change; both mappings are by name."""
    refusals = []
    for name, source in old.items():
        losses = _losses(source, new[name]) if name in new else ["the eval was removed"]
        refusals += [_refusal(Violation.CHECKS, source, loss) for loss in losses]
    return tuple(refusals)


def _losses(old: EvalSource, new: EvalSource) -> Iterator[str]:
    before, after = old.eval, new.eval
    if after.policy is not before.policy:
        yield f"the policy changed from {before.policy.value} to {after.policy.value}"
    if after.scenario.prompts != before.scenario.prompts or after.scenario.messages != before.scenario.messages:
        yield "the prompt or the prior messages changed"
    if len(after.checks) < len(before.checks):
        yield f"the number of checks fell from {len(before.checks)} to {len(after.checks)}"
    if (asserts_before := count_asserts(old)) > (asserts_after := count_asserts(new)):
        yield f"the number of asserts fell from {asserts_before} to {asserts_after}"
    for key in ("passes_on", "fails_on"):
        if len(getattr(after, key)) < len(getattr(before, key)):
            yield f"a behaviour was removed from {key}"
    if after.does_nothing_passes and not before.does_nothing_passes:
        yield "it now accepts an agent that does nothing"


def count_asserts(source: EvalSource) -> int:
    """Count the assert statements in the author's check functions."""
    return sum(isinstance(node, ast.Assert) for function in check_functions(source) for node in ast.walk(function))


def stricter(old: Eval, new: Eval) -> Eval:
    """Return the new eval with the requirement that it also fails on every bad behaviour of the old one."""
    return replace(new, fails_on=(*new.fails_on, *old.fails_on), does_nothing_passes=old.does_nothing_passes)


def new_complaints(old: Sequence[str], new: Sequence[str], source: EvalSource) -> tuple[Refusal, ...]:
    """Return the complaints of a changed eval's self-test that the old eval did not have."""
    return tuple(_refusal(Violation.SELF_TEST, source, complaint) for complaint in new if complaint not in old)


def _refusal(violation: Violation, source: EvalSource, detail: str) -> Refusal:
    return Refusal(foul=violation, path=source.eval.source.path.name, detail=f"{source.eval.name}: {detail}")
