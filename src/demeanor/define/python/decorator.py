"""`@eval_test` turns a Python function into an eval and checks every argument, before anything costs money.

The decorated name *is* the eval, a plain value, and `discover` collects the evals of a module. The decorator also notes
every eval that it creates, so that collecting a file finds out about one that its module has lost.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn

from demeanor.config import Table, describe
from demeanor.core.values.checks import Check, CheckFunction, FunctionCheck, PromptSnapshot
from demeanor.core.values.errors import BadInput, nearest
from demeanor.core.values.eval import Eval, Rehearsal, Source, name_problem
from demeanor.core.values.mcp_fixture import Fixture, HttpServer
from demeanor.core.values.policy import Policy
from demeanor.core.values.prefix import Prefix
from demeanor.core.values.sandbox_spec import Network
from demeanor.core.values.scenario import Approval, PriorMessage
from demeanor.core.values.steering import Steer
from demeanor.core.values.user import ReplyFunction, ScriptedUser, User, UserReply
from demeanor.define.cases import CaseFile, EvalCase, arguments, as_case, bind, fill, parametrized_cases, read_cases
from demeanor.define.eval_fields import EVAL_FIELDS, build_eval
from demeanor.define.field import accepts, read_fields
from demeanor.define.python.implied_needs import implied_needs
from demeanor.define.template import checked_template

_FUNCTIONS = ("setup", "passes_on", "fails_on", "user")
_CREATED: dict[str, list[Eval]] = {}
"""File, as compiled code names it → the evals that were created in it and not taken yet."""


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
    messages: Sequence[Mapping[str, Any] | PriorMessage] = (),
    steer: Sequence[Steer | tuple[str, str] | Mapping[str, Any]] | None = None,
    mcp: Mapping[str, Fixture | HttpServer | Sequence[str]] | None = None,
    start: Prefix | None = None,
    user: User | ReplyFunction | Sequence[str | UserReply] | None = None,
    home_files: Mapping[str, str | bytes] | None = None,
    keep_home: Sequence[str] = (),
    then: Sequence[Sequence[str]] | None = None,
    tools: Mapping[str, str] | None = None,
    log: bool = False,
    owner: str | None = None,
    issue: str | None = None,
    snapshot: str | None = None,
    passes_on: Rehearsal | Sequence[Rehearsal] = (),
    fails_on: Rehearsal | Sequence[Rehearsal] = (),
    does_nothing_passes: bool = False,
    needs: Sequence[str] = (),
    gaps: Sequence[str] = (),
    cases: Sequence[Mapping[str, Any]] | CaseFile | str | Path | None = None,
) -> Callable[[CheckFunction], Any]:
    """Turn `def check(rig, result)`, plain or async, into an eval; `result` is the agent's final text. With `cases`, it
    becomes a tuple of evals.

    The policy comes first; start with USUALLY_PASSES. `prompt` is what the agent is asked (`prompts` for several
    turns). `files` are the workspace's initial files: a mapping of path to content, or a template folder next to the
    eval's file. docs/eval-keys.md describes every argument.
    """
    fields = dict(locals())
    del fields["policy"]
    if callable(policy) and not isinstance(policy, Policy):
        _reject_bare(policy)

    return lambda check: _make_evals(check, policy, fields)


def _make_evals(check: CheckFunction, policy: Policy, fields: Mapping[str, Any]) -> Eval | tuple[Eval, ...]:
    source = _source_of(check)
    fields = {key: value for key, value in fields.items() if value is not None}
    table = Table(fields, where=f"{source.path}:{source.line}")
    cases = parametrized_cases(check, table)
    if "cases" in fields:
        if cases:
            table.fail("cases", "both cases and pytest.mark.parametrize are given", "use one of them")
        cases = read_cases(fields["cases"], table, "cases", source.path.parent)
    if not cases:
        return _make_eval(check, policy, fields, source, None)
    return tuple(_make_eval(check, policy, _filled(fields, case), source, case) for case in cases)


def _filled(fields: Mapping[str, Any], case: EvalCase) -> dict[str, Any]:
    """The arguments with the fields of a case in their texts and, by name, in their functions."""
    filled: dict[str, Any] = fill(fields, case.fields)
    for key in _FUNCTIONS:
        value = filled.get(key)
        if isinstance(value, ScriptedUser):
            filled[key] = replace(value, reply=bind(value.reply, 1, case.fields))
            continue
        several = isinstance(value, list | tuple)
        if several:
            filled[key] = [bind(function, 1, case.fields) for function in filled[key]]
        elif value is not None:
            filled[key] = bind(value, 1, case.fields)
    return filled


def _make_eval(
    check: CheckFunction, policy: Policy, fields: Mapping[str, Any], source: Source, case: EvalCase | None
) -> Eval:
    where = f"{source.path}:{source.line}"
    table = Table(fields, where=where)
    extra = arguments(check, 2, case.fields) if case else {}
    fixtures = _fixtures(check, extra)
    _require_check(table, check, {**extra, **dict.fromkeys(fixtures)})
    _require_policy(table, policy)
    values = {"name": check.__name__, **read_fields(table, EVAL_FIELDS, python=True)}
    if isinstance(values.get("files"), Path):
        values["template"] = checked_template(source.path.parent / values.pop("files"), where=where)
    values["needs"] = tuple(dict.fromkeys((*values.get("needs", ()), *implied_needs(check))))
    marks = case.marks if case else ()
    checks: tuple[Check, ...] = (FunctionCheck(function=check, arguments=extra, fixtures=fixtures, marks=marks),)
    if file := values.pop("snapshot", None):
        checks += (PromptSnapshot(file=source.path.parent / file),)
    description = inspect.getdoc(check) or ""
    values |= {"policy": policy, "checks": checks, "description": description}
    created = build_eval(table, values, source=source)
    if case is not None:
        created = as_case(created, case, table)
    _CREATED.setdefault(str(source.path), []).append(created)
    return created


def take_created(path: Path) -> tuple[Eval, ...]:
    """The evals that were created in a file since this was last asked, whether or not its module still has them."""
    names = dict.fromkeys((str(path), str(path.resolve())))
    return tuple(eval_ for name in names for eval_ in _CREATED.pop(name, ()))


def _reject_bare(function: Any) -> NoReturn:
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
            f"@eval_test decorates a function, not {check!r}",
            where="eval_test",
            remedy="write @eval_test(…) above `def check(rig, result)`",
        )
    return Source(path=Path(code.co_filename), line=code.co_firstlineno)


def _fixtures(check: Any, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The further parameters of a check: those that neither the case nor a default gives are fixtures of pytest."""
    try:
        further = list(inspect.signature(check).parameters.values())[2:]
    except (TypeError, ValueError):
        return ()
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(
        parameter.name
        for parameter in further
        if parameter.kind in by_name and parameter.default is parameter.empty and parameter.name not in fields
    )


def _require_check(table: Table, check: Any, extra: Mapping[str, Any]) -> None:
    if {"rig", "result"} & extra.keys():
        signature = f"{getattr(check, '__name__', check)}{inspect.signature(check)}"
        table.fail(
            "check", f"expected `rig` and `result` first, found {signature}", "a check in a class takes no `self`"
        )
    if not accepts(partial(check, **extra) if extra else check, 2):
        try:
            shown = f"{getattr(check, '__name__', check)}{inspect.signature(check)}"
        except (TypeError, ValueError):
            shown = repr(check)
        table.fail(
            "check",
            f"expected a function of two arguments, found {shown}",
            "write `def check(rig, result):`; further arguments are fields of a case, or fixtures of pytest",
        )
    if inspect.isgeneratorfunction(check) or inspect.isasyncgenfunction(check):
        detail = f"{check.__name__!r} is a generator: nothing in it would run, so the eval could never fail"
        table.fail("check", detail, "remove `yield`; a check is a plain `def` or `async def` with asserts")
    if "name" not in table and (problem := name_problem(check.__name__)):
        table.fail("name", f"{check.__name__!r} can't be an eval's name", problem)


def _require_policy(table: Table, policy: Any) -> None:
    if not isinstance(policy, Policy):
        close = nearest(policy, list(Policy)) if isinstance(policy, str) else None
        remedy = f"write it first: eval_test({close or 'USUALLY_PASSES'}, …)"
        table.fail("policy", f"expected a policy, found {describe(policy)}", remedy)
