"""What was compared, in twelve hex digits each: an eval as it was asked, a subject as it really was."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from demeanor.core.checks import Check, FunctionCheck, PromptSnapshot
from demeanor.core.eval import Eval
from demeanor.core.harbor_task import HarborTask
from demeanor.core.scenario import Scenario
from demeanor.core.subject import Subject
from demeanor.core.tree import Tree

PATH_TOOLS = "path_tools"
"""The fact of a capture that tells which programs on PATH change how agents behave."""

TASK_ENVIRONMENT = "environment"
"""The fact of a capture that tells in which of Harbor's environments a task was played."""


def short_hash(*parts: Any) -> str:
    """Twelve hex digits that differ as soon as one of the parts does."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def eval_hash(one: Eval, before: Tree) -> str:
    """What an eval asks and checks; its name, policy and labels do not count, nor where it lies."""
    if one.task is not None:
        return short_hash(one.task.content, [_asked(check) for check in one.checks])
    scenario = one.scenario
    return short_hash(
        scenario.prompts,
        [(path, entry.kind, entry.sha256, entry.target) for path, entry in before.visible().items()],
        {name: repr(value) for name, value in scenario.params.items()},
        repr(scenario.approval),
        repr(scenario.messages),
        repr(scenario.faults),
        [_asked(check) for check in one.checks],
    )


def scenario_hashes(scenario: Scenario, task: HarborTask | None = None) -> dict[str, str]:
    """The situation besides its files, part by part: an attempt is judged again only where it still is the same."""
    return {
        **({"task": task.content} if task else {}),
        "prompt": short_hash(scenario.prompts),
        "params": short_hash({name: repr(value) for name, value in scenario.params.items()}),
        "approval": short_hash(repr(scenario.approval)),
        "messages": short_hash(repr(scenario.messages)),
        "faults": short_hash(repr(scenario.faults)),
    }


def _asked(check: Check) -> str:
    if isinstance(check, FunctionCheck):
        return _source(check.function)
    return f"prompt snapshot {check.file.name}" if isinstance(check, PromptSnapshot) else repr(check)


@cache
def _source(function: Callable[..., Any]) -> str:
    """The function as it is written, without its decorators: those say how the eval is labelled, and what it asks
    is counted from its scenario."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
        begins = ast.parse(source).body[0].lineno - 1
    except (OSError, TypeError, SyntaxError, IndexError):  # made at run time: nothing but its name is known
        return getattr(function, "__qualname__", type(function).__name__)
    return "\n".join(source.splitlines()[begins:])


def subject_hash(subject: Subject, *, version: str | None, prompt: str | None, facts: Mapping[str, str]) -> str:
    """A subject as it really was: settings, version, what it told its model first, and where it worked."""
    where = [facts[TASK_ENVIRONMENT]] if TASK_ENVIRONMENT in facts else []
    return short_hash(subject.fingerprint, version, prompt, facts.get(PATH_TOOLS, ""), *where)
