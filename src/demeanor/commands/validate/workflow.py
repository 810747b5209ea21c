"""Validate evals: their self-tests, their policies in git and in the history, and their cassettes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from demeanor.commands.validate.prefixes import check_prefixes
from demeanor.commands.validate.report import ValidationReport, fault_count
from demeanor.config import Config
from demeanor.core.trees.git import unusable_base
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import Policy
from demeanor.define import policy_history
from demeanor.judge import SelfTest
from demeanor.results import open_project_history, promoted_by_hand, unrecorded_promotions
from demeanor.runner import Asking, Catalog, ShowProgress, TaskOptions, cassette_problems, engine_names, self_tests


def validate(
    catalog: Catalog,
    evals: Sequence[Eval],
    *,
    base: str | None,
    strict: bool,
    options: TaskOptions,
    show: ShowProgress,
    asking: Asking = "never",
    refresh: bool = False,
    lacking: Sequence[str] = (),
) -> ValidationReport:
    """Validate evals; with `strict`, unproven evals, unrecorded promotions and tasks that were not run are faults. With
    `refresh`, stale prefixes are recorded anew. `lacking` are the definitions that can't be read here."""
    config = catalog.config
    history = policy_history(evals, config.root, base=base)
    if base is not None and history.problem:
        raise unusable_base(config.root, base, history.problem)
    too_early = {change.eval.name for change in history.new}
    promoted = {change.eval.name for change in history.promoted}
    tasks = [eval_ for eval_ in evals if eval_.task is not None]
    others = [eval_ for eval_ in evals if eval_.task is None]
    task_tests, not_run = _test_tasks(catalog, tasks, options, show)
    tested = self_tests(others, config, asking=asking, environ=catalog.environ) if others else ()
    tests = (*tested, *task_tests)
    by_hand, faulty_by_hand, reasons = _promoted_by_hand(config, catalog.environ, evals, promoted, strict=strict)
    faulty = [
        test.eval for test in tests if test.eval in too_early | faulty_by_hand or fault_count(test, strict=strict)
    ]
    prefixes = tuple(check_prefixes(catalog, others, refresh=refresh, show=show))
    faulty += [prefix.eval for prefix in prefixes if prefix.faulty and prefix.eval not in faulty]
    if not_run and strict:
        faulty += [task.name for task in tasks if task.name not in faulty]
    return ValidationReport(
        tests=tests,
        faulty=tuple(faulty),
        too_early=frozenset(too_early),
        promoted_by_hand=by_hand,
        faulty_by_hand=faulty_by_hand,
        reasons_by_hand=reasons,
        tasks=tuple(task.name for task in tasks),
        tasks_not_run=not_run,
        warnings={task.name: task.task.warnings for task in tasks if task.task and task.task.warnings},
        cassettes=tuple(cassette_problems(catalog, evals)),
        prefixes=prefixes,
        lacking=tuple(lacking),
        base=history.base,
        problem=history.problem if any(eval_.policy is Policy.ALWAYS_PASSES for eval_ in evals) else None,
        strict=strict,
    )


def _test_tasks(
    catalog: Catalog, tasks: Sequence[Eval], options: TaskOptions, show: ShowProgress
) -> tuple[list[SelfTest], str | None]:
    """Test whole tasks; also return why they were not run, or None."""
    tests: list[SelfTest] = []
    not_run: str | None = None
    for name in engine_names(tasks):
        engine = catalog.engine(name)
        problem = "--static was given" if options.static else engine.status().problem
        not_run = not_run or problem
        own = [task for task in tasks if task.task is not None and task.task.engine == name]
        tests += engine.self_tests(own, replace(options, static=problem is not None), show)
    return tests, not_run


def _promoted_by_hand(
    config: Config, environ: Mapping[str, str], evals: Sequence[Eval], promoted: set[str], *, strict: bool
) -> tuple[frozenset[str], frozenset[str], dict[str, str]]:
    """The unrecorded promotions; those that are faults; and why the history shows that they were made by hand.

    Evals that were ALWAYS_PASSES before the first night are faults only with `strict`, if promotions are recorded at
    all. In a project without nights and recorded promotions, only promotions on this branch are reported.
    """
    with open_project_history(config, environ) as history:
        missing, in_use = unrecorded_promotions(history, evals, config.root)
        reasons = promoted_by_hand(history, evals, config.root)
    faulty_names = frozenset((missing if in_use else missing & promoted) | set(reasons))
    faulty = set(reasons) if config.gate.manual_promotion == "reject" else set()
    return faulty_names, faulty_names if in_use and strict else frozenset(faulty), reasons
