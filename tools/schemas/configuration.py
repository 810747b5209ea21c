"""The JSON schema of demeanor.toml, for editors that complete and check keys while you type.

It comes from the readers, run on a table that describes (describing_table.py), and from the docstrings of the values
that they make.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

from demeanor.agents import BUILT_IN, RecipeAgent, adapter
from demeanor.agents.acp import AcpAgent
from demeanor.agents.command import KEYS as EVENT_KEYS, CommandAgent
from demeanor.agents.native import BuiltinAgent
from demeanor.agents.overrides import Overrides
from demeanor.agents.program import AgentProgram
from demeanor.agents.python import PythonAgent
from demeanor.agents.recipe import Setup
from demeanor.config import BuildRules, Config, FixRules, Limit, ReplayRules
from demeanor.config.config import JudgeRules, read_settings
from demeanor.config.tables import SCOPES, EvidenceRules, GateRules, NightRules, StatisticsRules
from demeanor.core.values.gateway_limits import GatewayLimits
from demeanor.core.values.sandbox_spec import Ceilings
from demeanor.gateway.models import Price
from demeanor.gateway.models.registry import ModelSource, read_model, read_provider
from demeanor.runner.engines import engine_class, installed_engines
from demeanor.runner.executors import executor_module, installed_executors

from .describing_table import STRING, Schema, SchemaTable
from .field_docs import field_docs, without_links

_DOCUMENTED: Mapping[str, Sequence[type]] = {
    "": [Config],
    "limits": [Ceilings, GatewayLimits],
    **{f"budgets.{scope}": [Limit] for scope in SCOPES},
    "nightly": [NightRules],
    "gate": [GateRules],
    "evidence": [EvidenceRules],
    "statistics": [StatisticsRules],
    "fix": [FixRules],
    "judge": [JudgeRules],
    "build": [BuildRules],
    "replay": [ReplayRules],
    "agents.*": [AgentProgram, Overrides, RecipeAgent, Setup, CommandAgent, AcpAgent, PythonAgent, BuiltinAgent],
    "agents.*.events": [],
    "models.*": [ModelSource],
    "models.*.price": [Price],
}
"""The classes whose fields document the keys of a table, by its path."""

_DOCS: Mapping[str, str] = {
    "budgets.trial": "The budget of one trial.",
    "budgets.eval": "The budget of all trials of one eval.",
    "budgets.run": "The budget of the whole run.",
    "executor.on": "A number of workers to start on this machine, the `tls://HOST:PORT` of a scheduler, or a place of "
    "an installed package (default: attempts run in the process of the command).",
    "replay.replace.*.pattern": "A regular expression.",
    "replay.replace.*.with": "Its replacement.",
    "agents.*.adapter": "How the agent is started and its log is read (default: the name of the table).",
    "agents.*.also": "Models that the agent may request besides its subject's, such as a small one for titles.",
    "agents.*.exit_codes": "Exit codes that mean success (default: `[0]`).",
    "agents.*.program": "The program and its leading arguments (default: the installed one).",
    "agents.*.version": "The version that must be installed.",
    "agents.*.ignore_exit_code": "Whether the exit code does not tell if the agent succeeded.",
    "agents.*.output": "`text` (default): its output is the final answer; `jsonl`: one JSON object per line.",
    "agents.*.session_files": "Files in its HOME that have the JSON lines, in place of the output.",
    "agents.*.events": "The paths of its events in a JSON line.",
    "agents.*.events.tool": "The name of the tool that is called.",
    "agents.*.events.arguments": "The arguments of the call.",
    "agents.*.events.id": "The id that joins a call and its result.",
    "agents.*.events.result": "The result of a call.",
    "agents.*.events.failed": "True if the tool failed.",
    "agents.*.events.text": "Text that the agent writes.",
    "agents.*.events.thought": "Reasoning of the model.",
    "providers.*.base_url": "Its URL; well-known providers have a default.",
    "providers.*.dialect": "The dialect it supports.",
    "providers.*.dialects": "The dialects it supports, if there are several.",
    "providers.*.key_env": "The environment variable with its key.",
    "providers.*.key": "The key itself, for a server of your own.",
    "providers.*.headers": "Additional headers.",
    "providers.*.concurrency": "Parallel requests over all trials (default: no limit).",
    "providers.*.requests_per_minute": "Requests per minute over all trials (default: no limit).",
    "providers.*.connect_timeout": "Seconds after which it counts as unreachable (default: 15).",
    "providers.*.stall_after": "Seconds without a byte after which it counts as stalled (default: 300).",
}
"""The keys that no class documents, by path."""

_ABSENT = re.compile(r"; (?:None|empty) (?:if|for) .*\.$")
"""How classes describe an absent value, which files do not have."""

_EVENT: Schema = {"$ref": "#/$defs/event"}
_EVENT_PATH: Schema = {
    "anyOf": [
        {**STRING, "description": "A path in the line, such as `item.name` or `parts[0].text`."},
        {
            "type": "object",
            "properties": {
                "path": {**STRING, "description": "A path in the line, such as `item.name`."},
                "when": {"type": "object", "description": "Conditions: path → the value or values that it must have."},
            },
            "additionalProperties": False,
        },
    ]
}


def config_schema() -> Schema:
    """The schema, in JSON Schema 2020-12."""
    table = SchemaTable()
    read_settings(table, Path("demeanor.toml"))
    found = table.schema
    keys = found["properties"]
    keys["models"] = _by_name(_described(read_model))
    keys["providers"] = _by_name(_described(lambda one: read_provider("openai", one, {}, need_key=False)))
    adapters = {name: _adapter(name) for name in BUILT_IN}
    keys["agents"] = {
        "type": "object",
        "properties": {name: _named(name) for name in BUILT_IN},
        "additionalProperties": {"$ref": "#/$defs/agent", "required": ["adapter"]},
    }
    documented = dict(_DOCUMENTED)
    for name in installed_engines():
        keys[name], rules = _plugin_table(engine_class(name).read_config)
        documented |= dict(_documented_by(name, rules))
    for name in installed_executors():
        keys["executor"]["properties"][name], rules = _plugin_table(executor_module(name).read_config)
        documented |= dict(_documented_by(f"executor.{name}", rules))
    _document(found, "", documented)
    for schema in adapters.values():
        _document(schema, "agents.*", documented)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "demeanor.toml",
        "description": "The configuration of Demeanor. Every key is optional.",
        **found,
        "$defs": {"agent": _agent(adapters), "event": _EVENT_PATH, **_shared(adapters)},
    }


def _by_name(schema: Schema) -> Schema:
    """The schema of a table whose keys are names."""
    return {"type": "object", "additionalProperties": schema}


def _described(read: Callable[[SchemaTable], object]) -> Schema:
    table = SchemaTable()
    read(table)
    return table.schema


def _plugin_table(read: Callable[[SchemaTable], object]) -> tuple[Schema, type]:
    """The schema of the table of an engine or an executor, and the class of what is read from it."""
    table = SchemaTable()
    rules = read(table)
    table.finish()
    return {**table.schema, "description": (inspect.getdoc(type(rules)) or "").partition("\n")[0]}, type(rules)


def _documented_by(path: str, rules: type) -> Iterator[tuple[str, Sequence[type]]]:
    """The classes that document the keys of such a table, and of the tables by name in it, by path."""
    yield path, [kind for kind in rules.__mro__ if is_dataclass(kind)]
    for key, hint in get_type_hints(rules).items() if is_dataclass(rules) else ():
        kinds = [kind for kind in get_args(hint) if isinstance(kind, type)]
        yield from ((f"{path}.{key}.*", [kind]) for kind in kinds if is_dataclass(kind))


def _adapter(name: str) -> Schema:
    """The schema of an agent's table with this adapter."""
    table = SchemaTable()
    table.texts("also")
    table.text("adapter")
    adapter(name).read(name, table)
    table.finish()
    found = table.schema
    if "events" in found["properties"]:
        found["properties"]["events"] = {
            "type": "object",
            "properties": {key: {"anyOf": [_EVENT, {"type": "array", "items": _EVENT}]} for key in EVENT_KEYS},
            "additionalProperties": False,
            "required": ["tool"],
        }
    return found


def _agent(adapters: Mapping[str, Schema]) -> Schema:
    """The schema of any agent's table: one branch for each adapter."""
    return {
        "type": "object",
        "properties": {
            "adapter": {"anyOf": [{"enum": list(adapters)}, STRING], "description": _DOCS["agents.*.adapter"]}
        },
        "allOf": [
            {
                "if": {"properties": {"adapter": {"const": name}}, "required": ["adapter"]},
                "then": {"$ref": f"#/$defs/adapter-{name}"},
            }
            for name in adapters
        ],
    }


def _shared(adapters: Mapping[str, Schema]) -> dict[str, Schema]:
    """The adapters by their names in `$defs`; a key that is the same for several of them is written once."""
    forms: dict[str, list[Schema]] = {}
    for schema in adapters.values():
        for key, value in schema["properties"].items():
            forms.setdefault(key, []).append(value)
    usual = {key: max(values, key=values.count) for key, values in forms.items() if len(values) > 1}
    found: dict[str, Schema] = {f"key-{key}": value for key, value in usual.items()}
    for name, schema in adapters.items():
        keys = {
            key: {"$ref": f"#/$defs/key-{key}"} if value == usual.get(key) else value
            for key, value in schema["properties"].items()
        }
        found[f"adapter-{name}"] = {**schema, "properties": keys}
    return found


def _named(name: str) -> Schema:
    """The schema of a table with the name of an adapter, which is its adapter unless it says otherwise."""
    return {
        "$ref": "#/$defs/agent",
        "if": {"not": {"required": ["adapter"]}},
        "then": {"$ref": f"#/$defs/adapter-{name}"},
    }


def _document(schema: Schema, path: str, documented: Mapping[str, Sequence[type]]) -> None:
    """Add a description to every key of a table and of the tables in it."""
    docs = {name: doc for kind in reversed(documented.get(path, ())) for name, doc in field_docs(kind).items()}
    for key, found in schema.get("properties", {}).items():
        below = f"{path}.{key}" if path else key
        text = _DOCS.get(below) or _ABSENT.sub(".", without_links(docs.get(key, found.get("description", ""))))
        if "$ref" not in found:
            schema["properties"][key] = {**found, "description": text}
        _document(found, below, documented)
    for form in (schema.get("additionalProperties"), schema.get("items"), *schema.get("anyOf", ())):
        if isinstance(form, dict) and "$ref" not in form:
            _document(form, path if form in schema.get("anyOf", ()) else f"{path}.*", documented)
