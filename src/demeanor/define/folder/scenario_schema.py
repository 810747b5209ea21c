"""The JSON schema of scenario.toml, for editors that complete and check while one types.

The checks' part is made from core/checks.py; a test holds the rest against what the reader really takes.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import types
import typing
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from demeanor.core import checks
from demeanor.core.checks import DeclaredCheck
from demeanor.core.policy import Policy
from demeanor.core.sandbox_spec import NETWORKS
from demeanor.core.trajectory import Kind
from demeanor.define.folder.check_table import QUANTITIES, READERS

Schema: TypeAlias = dict[str, Any]

VALUES: dict[str, type[DeclaredCheck]] = {
    "file_exists": checks.FileExists,
    "file_absent": checks.FileAbsent,
    "file_equals": checks.FileEquals,
    "file_contains": checks.FileContains,
    "file_matches": checks.FileMatches,
    "json_path": checks.JsonPathEquals,
    "unchanged_except": checks.UnchangedExcept,
    "command_succeeds": checks.CommandSucceeds,
    "tool_used": checks.ToolUsed,
    "tool_not_used": checks.ToolUsed,
    "at_most": checks.AtMost,
    "final_text": checks.FinalText,
    "prompt_snapshot": checks.PromptSnapshot,
}
"""The value that each check of scenario.toml becomes."""

_WRITTEN = {"negated": "not"}
_PLAIN = {str: "string", Path: "string", int: "integer", float: "number", bool: "boolean"}
_CLOSED: dict[str, Schema] = {
    "kind": {"enum": [kind.value for kind in Kind]},
    "quantity": {"enum": list(QUANTITIES)},
}
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_FILES: Schema = {"type": "object", "additionalProperties": _TEXT}
_ANSWER: Schema = {"enum": ["allow", "deny"]}
_ANSWERS: Schema = {"anyOf": [_ANSWER, {"type": "array", "minItems": 1, "items": _ANSWER}]}


def scenario_schema() -> Schema:
    """The schema, by the rules of JSON Schema 2020-12."""
    acts = {"anyOf": [{"$ref": "#/$defs/act"}, {"type": "array", "items": {"$ref": "#/$defs/act"}}]}
    keys: dict[str, tuple[Schema, str]] = {
        "name": (_TEXT, "The eval's name; the folder's name where it is left out."),
        "description": (_TEXT, "A sentence for people."),
        "policy": ({"enum": [policy.value for policy in Policy]}, "A new eval starts as USUALLY_PASSES."),
        "prompt": (_TEXT, "What the agent is asked."),
        "prompts": (_TEXTS, "What the agent is asked, turn by turn, instead of prompt."),
        "timeout": ({"type": "number", "exclusiveMinimum": 0}, "Seconds that one trial may take."),
        "trials": ({"type": "integer", "minimum": 1}, "How many trials it wants."),
        "tags": (_TEXTS, "Labels to choose by."),
        "suite": (_TEXT, "The suite it belongs to."),
        "subjects": (_TEXTS, "The subjects it is meant for, as agent:model."),
        "models": (_TEXTS, "The models it is meant for, on whichever agent."),
        "requires_env": (_TEXTS, "Environment variables without which it is skipped."),
        "network": ({"enum": list(NETWORKS)}, "What the agent can reach; the configuration's where it is left out."),
        "faults": (_TEXTS, "How the model's answers are broken on purpose, such as 429@1 or cut@30%."),
        "owner": (_TEXT, "Who looks after it."),
        "issue": (_TEXT, "The issue it is tracked in."),
        "log": ({"type": "boolean"}, "Also write each trial's call chain to logs/ beside it."),
        "params": ({"type": "object"}, "Settings handed to the agent's adapter."),
        "approval": (
            {"anyOf": [*_ANSWERS["anyOf"], {"type": "object", "additionalProperties": _ANSWERS}]},
            "How confirmations are answered: one word, several in order, or such answers by tool or kind.",
        ),
        "messages": ({"type": "array", "items": {"$ref": "#/$defs/message"}}, "The conversation that is resumed."),
        "files": (_FILES, "The workspace's files at the start, laid over template/."),
        "checks": (
            {"type": "array", "minItems": 1, "items": {"oneOf": [_check(name) for name in READERS]}},
            "The questions asked of what the agent did; all of them are asked.",
        ),
        "passes_on": (acts, "Behaviours that must pass, for the self-test."),
        "fails_on": (acts, "Behaviours that must fail, for the self-test."),
        "does_nothing_passes": ({"type": "boolean"}, "True where doing nothing is right."),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "scenario.toml",
        "description": "An eval without Python.",
        **_object(keys, required=("policy", "checks")),
        "oneOf": [{"required": ["prompt"]}, {"required": ["prompts"]}],
        "$defs": {"act": _act(), "message": _message()},
    }


def field_sentences(kind: type) -> dict[str, str]:
    """The sentence under each field of a value, as it stands in the source."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    found: dict[str, str] = {}
    lines = body.body if isinstance(body, ast.ClassDef) else []
    for line, below in pairwise(lines):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and isinstance(below, ast.Expr):
            found[line.target.id] = str(ast.literal_eval(below.value))
    return found


def _check(name: str) -> Schema:
    kind = VALUES[name]
    sentences = field_sentences(kind)
    hints = typing.get_type_hints(kind)
    left_out = ("at_least", "at_most") if name == "tool_not_used" else ()
    keys: dict[str, tuple[Schema, str]] = {"check": ({"const": name}, (kind.__doc__ or "").strip())}
    required = ["check"]
    for field in dataclasses.fields(kind):
        if field.name not in left_out:
            written = _WRITTEN.get(field.name, field.name)
            keys[written] = (_CLOSED.get(field.name) or _of(hints[field.name]), sentences[field.name])
            if field.default is dataclasses.MISSING:
                required.append(written)
    return _object(keys, required=tuple(required))


def _of(hint: Any) -> Schema:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _of(typing.get_args(hint)[0])
    if typing.get_origin(hint) is tuple:
        return _TEXTS
    return {"type": _PLAIN[hint]} if hint in _PLAIN else {}


def _act() -> Schema:
    call: dict[str, tuple[Schema, str]] = {
        "tool": (_TEXT, "The tool's name."),
        "arguments": ({"type": "object"}, "Its arguments."),
        "result": (_TEXT, "What it answers."),
        "succeeded": ({"type": "boolean"}, "Whether it works; true where it is left out."),
    }
    keys: dict[str, tuple[Schema, str]] = {
        "title": (_TEXT, "What a person calls the behaviour."),
        "files": (_FILES, "Files to write."),
        "delete": (_TEXTS, "Files to delete."),
        "calls": ({"type": "array", "items": _object(call, required=("tool",))}, "Tools to call, one per turn."),
        "final_text": (_TEXT, "The agent's last words."),
        "exit_code": ({"type": "integer", "minimum": 0, "maximum": 255}, "How its program ends."),
        "tokens": ({"type": "integer", "minimum": 0}, "Tokens used."),
        "cost_usd": ({"type": "number", "minimum": 0}, "Money spent."),
        "seconds": ({"type": "number", "minimum": 0}, "Time taken."),
    }
    return _object(keys)


def _message() -> Schema:
    role: Schema = {"enum": ["user", "assistant"]}
    return _object({"role": (role, "Who said it."), "text": (_TEXT, "What was said.")}, required=("role", "text"))


def _object(keys: dict[str, tuple[Schema, str]], *, required: tuple[str, ...] = ()) -> Schema:
    properties = {name: {**schema, "description": said} for name, (schema, said) in keys.items()}
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found
