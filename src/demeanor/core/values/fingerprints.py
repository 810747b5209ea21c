"""Hashes of twelve hex digits that identify an eval's content and a subject as it really ran."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from demeanor.core.identity_cache import by_identity
from demeanor.core.trees.tree import Tree
from demeanor.core.values.checks import Check, FunctionCheck, JudgeCheck, PromptSnapshot
from demeanor.core.values.eval import Eval
from demeanor.core.values.mcp_fixture import identity
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.user import ScriptedUser
from demeanor.core.values.whole_task import WholeTask

PATH_TOOLS = "path_tools"
"""The fact of a capture that lists programs on PATH which affect the behaviour of agents."""

AGENT_FILES = "agent_files"
"""The fact of a capture that identifies the program of the agent, and the files of the project that it reads."""

UNKNOWN = "?"
"""The value of that fact if they can't be identified."""

BASE_URL = "base_url"
"""The fact of a capture that says where the gateway was, if the agent uses it."""

TASK_ENVIRONMENT = "environment"
"""The fact of a capture that names the environment in which a task ran."""


_DEF = re.compile(r"^(\s*(?:async )?def )\w+")


def short_hash(*parts: Any) -> str:
    """Twelve hex digits that change with any of the parts."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@by_identity
def eval_hash(eval_: Eval, before: Tree) -> str:
    """The hash of an eval's scenario and checks. Name, policy, labels and location are not included."""
    if eval_.task is not None:
        return short_hash(eval_.task.content, [_asked(check) for check in eval_.checks], *_judge(eval_))
    scenario = eval_.scenario
    return short_hash(
        scenario.prompts,
        [
            (path, entry.kind, entry.sha256, entry.target)
            for path, entry in before.visible().items()
            if entry.kind != "folder"  # git does not keep empty folders
        ],
        {name: repr(value) for name, value in scenario.params.items()},
        repr(scenario.approval),
        repr(scenario.messages),
        _faults(scenario),
        [_asked(check) for check in eval_.checks],
        *([identity(scenario.mcp)] if scenario.mcp else []),
        *(["start", scenario.start.digest] if scenario.start else []),
        *([user_identity(scenario)] if scenario.user else []),
        *([prior_calls(scenario)] if prior_calls(scenario) else []),
        *([repr(scenario.steer)] if scenario.steer else []),
        *([repr(sorted(scenario.home_files.items()))] if scenario.home_files else []),
        *([repr(scenario.then)] if scenario.then else []),
        *([repr(sorted(scenario.tools.items()))] if scenario.tools else []),
        *_judge(eval_),
    )


@by_identity
def scenario_hashes(scenario: Scenario, task: WholeTask | None = None) -> dict[str, str]:
    """The hash of each part of the scenario besides its files: only unchanged scenarios can be judged again."""
    return {
        **({"task": task.content} if task else {}),
        "prompt": short_hash(scenario.prompts),
        "params": short_hash({name: repr(value) for name, value in scenario.params.items()}),
        "approval": short_hash(repr(scenario.approval)),
        "messages": short_hash(repr(scenario.messages), *filter(None, [prior_calls(scenario)])),
        "faults": short_hash(_faults(scenario)),
        **({"mcp": short_hash(identity(scenario.mcp))} if scenario.mcp else {}),
        **({"start": short_hash(scenario.start.digest)} if scenario.start else {}),
        **({"user": short_hash(user_identity(scenario))} if scenario.user else {}),
        **({"steer": short_hash(repr(scenario.steer))} if scenario.steer else {}),
        **({"home_files": short_hash(repr(sorted(scenario.home_files.items())))} if scenario.home_files else {}),
        **({"keep_home": short_hash(scenario.keep_home)} if scenario.keep_home else {}),
        **({"then": short_hash(repr(scenario.then))} if scenario.then else {}),
        **({"tools": short_hash(repr(sorted(scenario.tools.items())))} if scenario.tools else {}),
    }


def _faults(scenario: Scenario) -> str:
    """The faults; those of judges and users are named apart, since they came later."""
    return repr(scenario.faults) + "".join(str(fault) for fault in scenario.faults if fault.role != "agent")


def prior_calls(scenario: Scenario) -> str:
    """The tool calls in the earlier conversation; empty if there are none. They came later than its texts."""
    calls = [message.calls for message in scenario.messages]
    return repr(calls) if any(calls) else ""


def user_identity(scenario: Scenario) -> str:
    """The user, with the source of its function instead of its address."""
    user = scenario.user
    if not isinstance(user, ScriptedUser) or user.reply is None:
        return repr(user)
    function, arguments = getattr(user.reply, "func", user.reply), getattr(user.reply, "keywords", {})
    return f"{_source(function)} {arguments!r} {user.answers!r} {user.max_turns}"


def _judge(eval_: Eval) -> tuple[Any, ...]:
    """The project's judge, if the eval asks one."""
    return ((eval_.judge.model, eval_.judge.instructions),) if asks_judge(eval_) else ()


def judge_identity(eval_: Eval) -> str:
    """Twelve hex digits of what judges an eval: its checks, and the judge's model and instructions. They change with
    everything that may change the judge's error rates."""
    return short_hash([_asked(check) for check in eval_.checks], *_judge(eval_))


def asks_judge(eval_: Eval) -> bool:
    """Whether a check of the eval may ask a judge: it declares one, or its function mentions `.judge`."""
    functions = [check.function for check in eval_.checks if isinstance(check, FunctionCheck)]
    return any(isinstance(check, JudgeCheck) for check in eval_.checks) or any(map(_mentions_judge, functions))


@cache
def _mentions_judge(function: Callable[..., Any]) -> bool:
    """Whether the function, or a function of its own module that it names, mentions `judge`."""
    open_, seen = [inspect.unwrap(function)], set[int]()
    while open_:
        current = open_.pop()
        codes = [current.__code__] if hasattr(current, "__code__") else []
        while codes:
            code = codes.pop()
            if "judge" in code.co_names:
                return True
            seen.add(id(code))
            codes += [const for const in code.co_consts if isinstance(const, CodeType)]
            names = getattr(current, "__globals__", {})
            named = (names.get(name) for name in code.co_names)
            local = [other for other in named if getattr(other, "__module__", None) == names.get("__name__")]
            open_ += [other for other in local if isinstance(other, FunctionType) and id(other.__code__) not in seen]
    return False


def _asked(check: Check) -> str:
    if isinstance(check, FunctionCheck):
        written = json.dumps(dict(check.arguments), sort_keys=True, default=lambda value: type(value).__qualname__)
        return _source(check.function) + (written if check.arguments else "")
    return f"prompt snapshot {check.file.name}" if isinstance(check, PromptSnapshot) else repr(check)


@cache
def _source(function: Callable[..., Any]) -> str:
    """The function's source without its name and its decorators, whose arguments are labels or part of the scenario."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
        begins = ast.parse(source).body[0].lineno - 1
    except (OSError, TypeError, SyntaxError, IndexError):  # created at run time: only its name is known
        return getattr(function, "__qualname__", type(function).__name__)
    return _DEF.sub(r"\1_", "\n".join(source.splitlines()[begins:]), count=1)


def subject_hash(subject: Subject, *, version: str | None, prompt: str | None, facts: Mapping[str, str]) -> str:
    """The hash of a subject as it really ran: settings, version, first prompt and tools, and environment; with a dot
    and the identity of its files, if they are not known by the version."""
    where = [facts[TASK_ENVIRONMENT]] if TASK_ENVIRONMENT in facts else []
    own_hash = short_hash(subject.fingerprint, version, prompt, facts.get(PATH_TOOLS, ""), *where)
    return f"{own_hash}.{facts[AGENT_FILES]}" if facts.get(AGENT_FILES) else own_hash


def unknown_files_note(subject: str) -> str:
    """What to say of a subject whose program may have changed without a trace."""
    agent = subject.partition(":")[0]
    return (
        f"whether {subject} has changed is unknown: neither the version nor the files of its program can be told "
        f"→ set version_command, or reads, in [agents.{agent}]"
    )


def without_files(fingerprint: str) -> str:
    """A fingerprint without the identity of the agent's files."""
    return fingerprint.partition(".")[0]


def files_unknown(fingerprint: str) -> bool:
    """Whether a fingerprint would be the same if the program of the agent had changed."""
    return fingerprint.endswith(f".{UNKNOWN}")
