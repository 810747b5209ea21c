"""Everything that an author can say about an eval, field by field.

`EVAL_FIELDS` is the only description of the keys of scenario.toml and of the arguments of `@eval_test`: both readers
and the JSON schema (tools/schemas/scenario.py) are derived from it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from demeanor.config import Table, describe
from demeanor.core.values.agent import Ability
from demeanor.core.values.checks import IN_HOME, Check, DeclaredCheck, JudgeCheck
from demeanor.core.values.errors import did_you_mean
from demeanor.core.values.eval import Eval, Rehearsal, Source, name_problem
from demeanor.core.values.fault import Fault, parse_faults
from demeanor.core.values.policy import Policy
from demeanor.core.values.prefix import Prefix, prefix_file, prefix_name_problem
from demeanor.core.values.sandbox_spec import NETWORKS
from demeanor.core.values.scenario import Answer, Answers, Approval, Scenario
from demeanor.core.values.user import SimulatedUser, User
from demeanor.define.conversation_fields import CONVERSATION_FIELDS
from demeanor.define.field import (
    BOOLEAN,
    FILES,
    OBJECT,
    STRING,
    STRINGS,
    Field,
    Reader,
    Schema,
    require_function,
    text,
    texts,
)
from demeanor.define.folder.check_table import read_check, read_judge_check
from demeanor.define.folder.scripted_behaviour import read_behaviours
from demeanor.define.mcp_table import MCP, read_mcp
from demeanor.define.template import checked_files
from demeanor.define.user_table import USER, read_user, read_user_table

# The fields about the agent's HOME, commands after the agent, and descriptions of its tools.

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_KNOWN = ("agent", "workspace", "home", "model")


def _home_files(table: Table, key: str) -> dict[str, bytes]:
    files = table.anything(key)
    if not isinstance(files, Mapping):
        table.fail(key, f"expected a mapping of path to content, found {describe(files)}")
    return checked_files(files, where=table.where, key=key)


def _patterns(table: Table, key: str) -> tuple[str, ...]:
    patterns = texts(table, key)
    for index, pattern in enumerate(patterns):
        if pattern.startswith(("/", IN_HOME)) or ".." in pattern.split("/"):
            table.fail(f"{key}[{index}]", f"{pattern!r} is not relative to HOME", "write it like '.gemini/**/*.md'")
    return patterns


def _commands(table: Table, key: str) -> tuple[tuple[str, ...], ...]:
    value: Any = table.anything(key)
    remedy = 'write a list of commands, each a list of words: [["{agent}", "--version"]]'
    if not isinstance(value, list | tuple) or not value:
        table.fail(key, f"expected a list of commands, found {describe(value)}", remedy)
    commands = []
    for index, words in enumerate(value):
        place = f"{key}[{index}]"
        if not isinstance(words, list | tuple) or not words or not all(isinstance(word, str) for word in words):
            table.fail(place, f"expected a list of words, found {describe(words)}", remedy)
        for word in words:
            _check_word(table, place, word)
        commands.append(tuple(words))
    return tuple(commands)


def _check_word(table: Table, place: str, word: str) -> None:
    if not word or "\0" in word:
        table.fail(place, f"{word!r} can't be a word of a command")
    for name in _PLACEHOLDER.findall(word):
        if name not in _KNOWN:
            table.fail(place, f"unknown placeholder {{{name}}}", f"known: {', '.join(_KNOWN)}")
        if name == "agent" and word != "{agent}":
            table.fail(place, f"{{agent}} is a part of {word!r}", "write it as a word of its own")


def _tools(table: Table, key: str) -> dict[str, str]:
    tools = table.strings(key)
    for name, description in tools.items():
        if not description.strip():
            table.fail(f"{key}.{name}", "is empty", "write the new description")
    return tools


def kept_for(checks: tuple[Check, ...]) -> tuple[str, ...]:
    """The files in HOME that declared checks read."""
    paths = [getattr(check, "path", "") for check in checks]
    return tuple(dict.fromkeys(path.removeprefix(IN_HOME) for path in paths if path.startswith(IN_HOME)))


def _field(name: str, read: Any, schema: Schema) -> Field:
    return Field(name=name, doc_of=Scenario, schema=schema, toml=read, python=read)


HOME_FIELDS = (
    _field("home_files", _home_files, FILES),
    _field("keep_home", _patterns, STRINGS),
    _field("then", _commands, {"type": "array", "minItems": 1, "items": {**STRINGS, "minItems": 1}}),
    _field("tools", _tools, FILES),
)
"""The keys of scenario.toml and arguments of `@eval_test` that this module reads."""


_ABILITIES = tuple(ability.value.replace("-", "_") for ability in Ability)
_ANSWER: Schema = {"enum": ["allow", "deny"]}
_ANSWERS: Schema = {"anyOf": [_ANSWER, {"type": "array", "minItems": 1, "items": _ANSWER}]}
_BEHAVIOURS: Schema = {"anyOf": [{"$ref": "#/$defs/act"}, {"type": "array", "items": {"$ref": "#/$defs/act"}}]}


def build_eval(table: Table, values: dict[str, Any], *, source: Source) -> Eval:
    """The eval that the fields `values` in `table` describe."""
    for key in ("case", "cases"):  # the eval is one of them already, see cases.py
        values.pop(key, None)
    values["prompts"] = _all_prompts(table, values.pop("prompt", None), values.get("prompts"), values.get("user"))
    values["checks"] = (*values.get("checks", ()), *values.pop("judge", ()))
    values["keep_home"] = (*values.get("keep_home", ()), *kept_for(values["checks"]))
    if start := values.get("start"):
        values["start"] = replace(start, file=str(prefix_file(source.path, start.name)))
    in_scenario = {field.name for field in fields(Scenario)}
    scenario = Scenario(**{name: value for name, value in values.items() if name in in_scenario})
    rest = {name: value for name, value in values.items() if name not in in_scenario}
    return Eval(scenario=scenario, source=source, **rest)


def _name(table: Table, key: str) -> str:
    name = table.text(key)
    if problem := name_problem(name):
        table.fail(key, f"{name!r} can't be an eval's name", problem)
    return name


def _policy(table: Table, key: str) -> Policy:
    table.text(key, required=True, example='policy = "USUALLY_PASSES"')
    return Policy(table.choice(key, [policy.value for policy in Policy]) or "")


def _prompt(table: Table, key: str) -> str:
    if not isinstance(table.anything(key), str):
        table.fail(key, f"expected a string, found {describe(table.anything(key))}", "for several turns use prompts")
    return text(table, key)


def _all_prompts(
    table: Table, prompt: str | None, prompts: tuple[str, ...] | None, user: User | None
) -> tuple[str, ...]:
    if isinstance(user, SimulatedUser) and user.opening:
        if prompt is not None or prompts is not None:
            table.fail("user", "both an opening and a prompt are given", "the opening is the first prompt; use one")
        return (user.opening,)
    if prompt is not None and prompts is not None:
        table.fail("prompts", "both prompt and prompts are given", "put all turns into prompts")
    if prompts is not None:
        return prompts or table.fail("prompts", "is empty", "give at least one prompt")
    return (prompt or table.text("prompt", required=True, example='prompt = "Fix the failing test."'),)


def _files(table: Table, key: str) -> dict[str, bytes]:
    files = table.mapping(key)
    for path, content in files.items():
        if not isinstance(content, str):
            table.fail(f"{key}.{path}", "expected the file's text", 'quote the path: "src/app.py" = "…"')
    return checked_files(files, where=table.where, key=key)


def _files_or_template(table: Table, key: str) -> dict[str, bytes] | Path:
    """In Python, file contents may be bytes, and a template folder may be given instead."""
    value = table.anything(key)
    if isinstance(value, str | Path):
        return Path(value)
    if not isinstance(value, Mapping):
        table.fail(key, f"expected a mapping of path to content, or a template folder, found {describe(value)}")
    return checked_files(value, where=table.where, key=key)


def _seconds(table: Table, key: str) -> float | None:
    value = table.take(key, float)
    if value is not None and not 0 < value < math.inf:
        table.fail(key, f"expected a number of seconds above 0, found {value:g}")
    return value


def _needs(table: Table, key: str) -> tuple[str, ...]:
    names = texts(table, key)
    for name in names:
        if name not in _ABILITIES:
            table.fail(key, f"unknown ability {name!r}", did_you_mean(name, _ABILITIES, ", ".join(_ABILITIES)))
    return names


def _faults(table: Table, key: str) -> tuple[Fault, ...]:
    return parse_faults(table.texts(key), where=table.where, key=key)


def _approval(table: Table, key: str) -> Approval:
    value = table.anything(key)
    if isinstance(value, Approval):
        return value
    if isinstance(value, str | list | tuple):
        return Approval(default=_answers(table, key, value))
    if not isinstance(value, Mapping):
        table.fail(
            key, f'expected "allow", "deny", a list of these, or a table by tool or kind, found {describe(value)}'
        )
    rules = {name: _answers(table, f"{key}.{name}", answer) for name, answer in table.mapping(key).items()}
    return Approval(default=rules.pop("default", "allow"), rules=rules)


def _answers(table: Table, key: str, value: object) -> Answers:
    if isinstance(value, list | tuple) and value:
        return tuple(_answer(table, f"{key}[{index}]", answer) for index, answer in enumerate(value))
    return _answer(table, key, value)


def _answer(table: Table, key: str, value: object) -> Answer:
    if value not in ("allow", "deny"):
        table.fail(key, f"unknown value {value!r}", "expected one of: allow, deny")
    return value


def _start(table: Table, key: str) -> Prefix:
    value = table.anything(key)
    name = value.name if isinstance(value, Prefix) else value
    if not isinstance(name, str):
        table.fail(key, f"expected the name of a prefix, found {describe(value)}", 'write start=prefix("NAME")')
    if problem := prefix_name_problem(name):
        table.fail(key, f"{name!r} can't be the name of a prefix", problem)
    return Prefix(name=name)


def _setup(table: Table, key: str) -> Any:
    value = table.anything(key)
    require_function(table, key, value, of="", example="def setup(workspace):")
    return value


def _rehearsals(table: Table, key: str) -> tuple[Rehearsal, ...]:
    value = table.anything(key)
    several = list(value) if isinstance(value, list | tuple) else [value]
    for function in several:
        require_function(table, key, function, of=", the stage", example="def good(stage):")
    return tuple(several)


def _checks(table: Table, key: str) -> tuple[DeclaredCheck, ...]:
    checks = tuple(read_check(entry) for entry in table.tables(key))
    if not checks and not table.tables("judge"):
        table.fail(key, "there is no check, so the eval could never fail", "add a [[checks]] table")
    return checks


def _judge(table: Table, key: str) -> tuple[JudgeCheck, ...]:
    return tuple(read_judge_check(entry) for entry in table.tables(key))


def _shared(name: str, doc_of: type, read: Reader, schema: Schema, *, default: str = "") -> Field:
    """A field that scenario.toml and `@eval_test` read in the same way."""
    return Field(name=name, doc_of=doc_of, default=default, schema=schema, toml=read, python=read)


EVAL_FIELDS = (
    Field(
        name="policy", doc_of=Eval, schema={"enum": [policy.value for policy in Policy]}, toml=_policy, required=True
    ),
    Field(
        name="prompt",
        text="What the agent is asked. Either `prompt` or `prompts` is required.",
        schema=STRING,
        toml=_prompt,
        python=_prompt,
    ),
    _shared("prompts", Scenario, texts, STRINGS),
    _shared("name", Eval, _name, STRING, default="the name of the function or folder"),
    Field(name="description", doc_of=Eval, schema=STRING, toml=Table.text),
    Field(name="checks", doc_of=Eval, schema={"type": "array", "minItems": 1}, toml=_checks, required=True),
    Field(
        name="judge",
        text="Questions that a model answers about the evidence, one table each: `[[judge]]` with `question`. They"
        " count like checks. See [judges](judges.md).",
        schema={"type": "array", "minItems": 1},
        toml=_judge,
    ),
    Field(
        name="files",
        text="The initial files of the workspace: a mapping of relative path to content. In Python, this can also be"
        " a template folder, relative to the eval's file; in scenario.toml, the files are written over `template/`.",
        default="no files",
        schema=FILES,
        toml=_files,
        python=_files_or_template,
    ),
    Field(name="setup", doc_of=Scenario, python=_setup),
    _shared("params", Scenario, Table.mapping, OBJECT),
    _shared("timeout", Scenario, _seconds, {"type": "number", "exclusiveMinimum": 0}, default="the run's"),
    _shared(
        "trials",
        Eval,
        lambda table, key: table.whole(key, least=1),
        {"type": "integer", "minimum": 1},
        default="the run's",
    ),
    _shared("subjects", Eval, texts, STRINGS, default="the run's"),
    Field(name="models", doc_of=Eval, default="any model", schema=STRINGS, toml=texts),
    _shared("tags", Eval, texts, STRINGS),
    _shared("suite", Eval, text, STRING),
    _shared("requires_env", Scenario, texts, STRINGS),
    _shared("needs", Scenario, _needs, {"type": "array", "items": {"enum": list(_ABILITIES)}}),
    _shared(
        "network",
        Scenario,
        lambda table, key: table.choice(key, NETWORKS),
        {"enum": list(NETWORKS)},
        default="the configuration's",
    ),
    _shared("faults", Scenario, _faults, STRINGS),
    _shared(
        "approval",
        Scenario,
        _approval,
        {"anyOf": [*_ANSWERS["anyOf"], {"type": "object", "additionalProperties": _ANSWERS}]},
        default='`"allow"`',
    ),
    *CONVERSATION_FIELDS,
    _shared("mcp", Scenario, read_mcp, MCP),
    _shared("start", Scenario, _start, STRING, default="the beginning"),
    Field(name="user", doc_of=Scenario, schema=USER, toml=read_user_table, python=read_user),
    *HOME_FIELDS,
    _shared("log", Eval, Table.flag, BOOLEAN, default="false"),
    _shared("owner", Eval, text, STRING),
    _shared("issue", Eval, text, STRING),
    Field(
        name="snapshot",
        text="A file that the agent's system prompt and tools must match, relative to the eval's file, such as"
        ' `"snapshots/{subject}.md"`. A missing file fails; `demeanor run --update-snapshots` writes it.',
        python=text,
    ),
    Field(name="passes_on", doc_of=Eval, schema=_BEHAVIOURS, toml=read_behaviours, python=_rehearsals),
    Field(name="fails_on", doc_of=Eval, schema=_BEHAVIOURS, toml=read_behaviours, python=_rehearsals),
    _shared("does_nothing_passes", Eval, Table.flag, BOOLEAN, default="false"),
    _shared("gaps", Eval, texts, STRINGS),
    Field(
        name="cases",
        text="One eval per case, named `name[id]`: a list of mappings, or a `.jsonl` or `.csv` file next to the eval."
        " `{field}` in prompts, files and messages becomes the value of that field. See [cases](define.md#cases).",
        schema=STRING,
        toml=Table.anything,
        python=Table.anything,
    ),
    Field(
        name="case",
        text="The cases, one table each, instead of a file: `[[case]]` with the fields and, optionally, an `id`.",
        schema={"type": "array", "minItems": 1, "items": OBJECT},
        toml=Table.anything,
    ),
)
"""Every key of scenario.toml and every argument of `@eval_test` except the policy."""
