"""`@eval_test`: a Python function becomes an eval. Everything is checked here, before anything costs money.

There is no registry: the decorated name *is* the eval, a plain value, and `load` collects what a module holds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

from demeanor.core.checks import CheckFunction, FunctionCheck, PromptSnapshot
from demeanor.core.errors import BadInput
from demeanor.core.eval import Eval, Rehearsal, Source
from demeanor.core.fault import parse_faults
from demeanor.core.policy import Policy
from demeanor.core.sandbox_spec import Network
from demeanor.core.scenario import Approval, PriorMessage, Scenario
from demeanor.define.arguments import Arguments
from demeanor.define.template import checked_files, checked_template


def eval_test(
    policy: Policy,
    /,
    *,
    prompt: str | None = None,
    prompts: Sequence[str] | None = None,
    name: str | None = None,
    files: Mapping[str, str | bytes] | str | Path | None = None,
    params: Mapping[str, Any] | None = None,
    setup: Callable[[Path], None] | None = None,
    timeout: float | None = None,
    trials: int | None = None,
    subjects: Sequence[str] = (),
    tags: Sequence[str] = (),
    suite: str | None = None,
    requires_env: Sequence[str] = (),
    network: Network | None = None,
    faults: Sequence[str] = (),
    approval: Literal["allow", "deny"] | Sequence[str] | Mapping[str, str | Sequence[str]] | Approval = "allow",
    messages: Sequence[Mapping[str, str] | PriorMessage] = (),
    log: bool = False,
    owner: str | None = None,
    issue: str | None = None,
    snapshot: str | None = None,
    passes_on: Rehearsal | Sequence[Rehearsal] = (),
    fails_on: Rehearsal | Sequence[Rehearsal] = (),
    does_nothing_passes: bool = False,
) -> Callable[[CheckFunction], Eval]:
    """Make an eval of `def check(rig, result)`, plain or async; `result` is the agent's final text.

    The policy comes first; a new eval starts as USUALLY_PASSES. `prompt` is what the agent is asked (`prompts` for
    several turns); `files` is what it finds: a mapping of path to content, or a template folder beside the eval's
    file. What each argument means is told in docs/define.md, one by one.
    """
    if callable(policy) and not isinstance(policy, Policy):
        _refuse_bare(policy)

    def make(check: CheckFunction) -> Eval:
        source = _source_of(check)
        given = Arguments(f"{source.path}:{source.line}")
        given.check_is_one(check)
        template, inline = _starting_files(given, source, files)
        scenario = Scenario(
            prompts=given.prompts(prompt, prompts),
            files=inline,
            template=template,
            setup=given.function("setup", setup, arguments=1),
            params=given.mapping("params", params),
            approval=given.approval(approval),
            messages=given.messages(messages),
            timeout=given.timeout(timeout),
            requires_env=given.texts("requires_env", requires_env),
            network=given.network(network),
            faults=parse_faults(given.texts("faults", faults), where=given.where, key="faults"),
        )
        return Eval(
            name=given.name(name, default=check.__name__),
            policy=given.policy(policy),
            scenario=scenario,
            checks=(FunctionCheck(function=check), *_snapshot(given, source, snapshot)),
            source=source,
            description=inspect.getdoc(check) or "",
            trials=given.trials(trials),
            subjects=given.texts("subjects", subjects),
            tags=given.texts("tags", tags),
            suite=given.text("suite", suite),
            owner=given.text("owner", owner),
            issue=given.text("issue", issue),
            log=given.flag("log", log),
            passes_on=given.rehearsals("passes_on", passes_on),
            fails_on=given.rehearsals("fails_on", fails_on),
            does_nothing_passes=given.flag("does_nothing_passes", does_nothing_passes),
        )

    return make


def _refuse_bare(function: Any) -> NoReturn:
    source = _source_of(function)
    raise BadInput(
        "the policy is missing",
        where=f"{source.path}:{source.line}",
        key="eval_test",
        remedy='write @eval_test(USUALLY_PASSES, prompt="…")',
    )


def _source_of(check: Any) -> Source:
    code = getattr(inspect.unwrap(check), "__code__", None)
    if code is None:
        raise BadInput(
            f"an eval is made of a function, not of {check!r}",
            where="eval_test",
            remedy="write @eval_test(…) above `def check(rig, result)`",
        )
    return Source(path=Path(code.co_filename), line=code.co_firstlineno)


def _snapshot(given: Arguments, source: Source, snapshot: str | None) -> tuple[PromptSnapshot, ...]:
    file = given.text("snapshot", snapshot)
    return (PromptSnapshot(file=source.path.parent / file),) if file else ()


def _starting_files(given: Arguments, source: Source, files: Any) -> tuple[Path | None, dict[str, bytes]]:
    if files is None:
        return None, {}
    if isinstance(files, Mapping):
        return None, checked_files(files, where=given.where)
    if not isinstance(files, str | Path):
        given.refuse("files", files, "a mapping of path to content, or a template folder")
    return checked_template(source.path.parent / files, where=given.where), {}
