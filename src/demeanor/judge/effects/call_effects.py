"""Tool call → effects: what the tool does with these arguments, whatever the agent calls it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from demeanor.core.values.messages import Tool
from demeanor.core.values.trajectory import Called, Kind, kind_of
from demeanor.judge.effects.arguments import argv, described, unknown_names, values, working_folder
from demeanor.judge.effects.command_effects import argv_effects, command_effects
from demeanor.judge.effects.effect import Effect, Effects, Unclear
from demeanor.judge.effects.patch import patch_effects

_SUB_COMMANDS: Mapping[Kind, str] = {
    Kind.READ: "view read cat open show get",
    Kind.SEARCH: "list ls search find grep",
    Kind.DELETE: "delete remove delete_file unlink",
    Kind.EDIT: "create write insert append replace str_replace edit update undo_edit rename move create_file"
    " update_file",
}
_BY_SUB_COMMAND = {word: kind for kind, words in _SUB_COMMANDS.items() for word in words.split()}
_SUB_COMMAND_NAMES = ("command", "action", "operation", "mode", "type", "sub_command", "subcommand")
_VERBS: Mapping[Kind, str] = {
    Kind.DELETE: "delete remove rm unlink erase trash destroy purge",
    Kind.EDIT: "write edit create update append insert replace patch modify save move rename put set",
    Kind.SEARCH: "search find grep glob list ls tree query",
    Kind.READ: "read view cat open show get load",
    Kind.FETCH: "fetch download browse http",
    Kind.EXECUTE: "run exec execute shell bash terminal command",
}
_DELEGATES = re.compile(r"(?:\w+_)?(?:agent|task|skill|subagent|workflow|teammate|ask_question|question)s?\b|team_\w+")
_IN_FILES = frozenset({"file", "files", "code", "codebase", "workspace", "directory", "folder", "symbol", "symbols"})
_CHANGES = frozenset({"diff", "patch", "edits", "changes", "replacements"})
_NOT_SHELL = ("code", "chars", "input")


@dataclass(frozen=True, kw_only=True, slots=True)
class CallFacts:
    """A call as checks see it: what it does, and its arguments by meaning."""

    kind: Kind
    """What the tool does with these arguments."""

    arguments: Mapping[str, Any]
    """Its arguments."""

    offered: Tool | None
    """The tool as the agent offered it to the model, if that was recorded."""

    effects: Effects
    """The effects."""


def call_facts(call: Called, tools: Mapping[str, Tool], existed: Callable[[str], bool]) -> CallFacts:
    """What a call does. `tools` are the offered tools; `existed` says whether a file was in the workspace at first."""
    name, arguments, own_kind = _inner(call)
    offered = tools.get(name)
    kind = _kind(name, arguments, own_kind, offered)
    effects = _with_replaced_files(_effects(name, arguments, kind, offered, call.raw), existed)
    return CallFacts(kind=kind, arguments=arguments, offered=offered, effects=effects)


def _inner(call: Called) -> tuple[str, Mapping[str, Any], Kind]:
    """The tool that a call is about: some agents have a tool that calls another one by name."""
    name, inner = call.arguments.get("name"), call.arguments.get("arguments")
    if call.tool in {"tool_call", "call_tool"} and isinstance(name, str) and isinstance(inner, Mapping):
        return name, inner, kind_of(name)
    return call.tool, call.arguments, call.kind


def _kind(name: str, arguments: Mapping[str, Any], kind: Kind, offered: Tool | None) -> Kind:
    """The kind of a tool with these arguments: by its sub-command, else its own, else inferred from what it takes."""
    if kind in {Kind.READ, Kind.EDIT, Kind.DELETE, Kind.OTHER}:
        for key in _SUB_COMMAND_NAMES:
            value = arguments.get(key)
            if isinstance(value, str) and value.lower() in _BY_SUB_COMMAND and len(arguments) > 1:
                return _BY_SUB_COMMAND[value.lower()]
    if kind is not Kind.OTHER or _DELEGATES.fullmatch(_words(name)):
        return kind
    return _inferred(name, arguments, offered)


def _inferred(name: str, arguments: Mapping[str, Any], offered: Tool | None) -> Kind:
    """The kind of an unknown tool: a command is executed, a path with a text is edited, otherwise the verb decides."""
    names_offered = {**dict.fromkeys(offered.schema.get("properties") or {} if offered else {}, ""), **arguments}
    meanings = ("command", "path", "content", "old", "url", "pattern")
    has = {meaning for meaning in meanings if _takes(names_offered, meaning)} | described(offered)
    if "command" in has:
        return Kind.EXECUTE
    if "path" in has and (has & {"content", "old"} or _CHANGES & names_offered.keys()):
        return Kind.EDIT
    verbs = _words(name).split("_")
    said = next((kind for kind, words in _VERBS.items() if set(verbs) & set(words.split())), Kind.OTHER)
    if "path" in has and said in {Kind.DELETE, Kind.EDIT, Kind.SEARCH, Kind.READ}:
        return said
    if "url" in has:
        return Kind.FETCH
    if said is Kind.SEARCH and "pattern" in has and _IN_FILES & set(verbs):
        return said
    return said if said is Kind.EXECUTE else Kind.OTHER


def _takes(arguments: Mapping[str, Any], meaning: str) -> bool:
    samples = {
        name: value if isinstance(value, str | list | Mapping) and value else "text"
        for name, value in arguments.items()
    }
    return bool(values(samples, meaning, Kind.OTHER))


def _words(name: str) -> str:
    """A tool's name in lower case with underscores, without the prefix of its server."""
    last = re.split(r"__|[./:]", name)[-1]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).lower().replace("-", "_")


def _effects(name: str, arguments: Mapping[str, Any], kind: Kind, offered: Tool | None, raw: str) -> Effects:
    if kind is Kind.EXECUTE:
        return _executed(arguments, kind, offered)
    if kind is Kind.EDIT and (patched := _patched(arguments, raw)):
        return Effects(known=patched)
    if kind in {Kind.READ, Kind.EDIT, Kind.DELETE, Kind.SEARCH}:
        return Effects(known=tuple(_on_files(arguments, kind, offered)))
    if kind is Kind.FETCH:
        urls = values(arguments, "url", kind, offered)
        return Effects(known=tuple(Effect(kind=kind, target=url) for url in urls) or (Effect(kind=kind),))
    names_file = values(arguments, "path", kind, offered) or "path" in described(offered)
    if kind is Kind.OTHER and names_file and not _DELEGATES.fullmatch(_words(name)):
        return Effects(known=(Effect(kind=kind),), unclear=(Unclear(why=f"calls {name}, whose effects are unknown"),))
    return Effects(known=(Effect(kind=kind),))


def _on_files(arguments: Mapping[str, Any], kind: Kind, offered: Tool | None) -> Iterator[Effect]:
    paths: tuple[str | None, ...] = values(arguments, "path", kind, offered) or (None,)
    texts = values(arguments, "pattern" if kind is Kind.SEARCH else "content", kind, offered)
    text = "\n".join(texts) if texts or not unknown_names(arguments, kind, offered) else None
    for path in paths:
        yield Effect(kind=kind, target=path, text=text, reach="below" if kind is Kind.DELETE else "exact")


def _executed(arguments: Mapping[str, Any], kind: Kind, offered: Tool | None) -> Effects:
    """The effects of a command: those of its programs, after that of executing it."""
    whole = Effect(kind=kind)
    folder = working_folder(arguments)
    words = argv(arguments)
    commands = values(arguments, "command", kind, offered)
    if words is not None:
        collected = [argv_effects(words, folder)]
    elif any(isinstance(arguments.get(name), str) and arguments[name] for name in _NOT_SHELL):
        collected = [Effects(unclear=(Unclear(why="runs code that is not a shell command"),))]
    elif not commands and unknown_names(arguments, kind, offered):
        collected = [Effects(unclear=(Unclear(why="no argument is known to be the command"),))]
    else:
        collected = [command_effects(command, folder) for command in commands]
    certain, unclear, step = [whole], list[Unclear](), 0
    for effects in collected:
        certain += [replace(effect, step=step + effect.step) for effect in effects.known]
        unclear += [replace(part, step=step + part.step) for part in effects.unclear]
        step = max([step, *(effect.step for effect in certain), *(part.step for part in unclear)])
    runs = [Effect(kind=kind, step=step)]  # a command is executed until its last step
    return Effects(known=(*certain, *runs), unclear=tuple(unclear))


def _patched(arguments: Mapping[str, Any], raw: str) -> tuple[Effect, ...]:
    texts = [value for value in arguments.values() if isinstance(value, str)] or [raw]
    named = [value for name, value in arguments.items() if name in {"patch", "diff"} and isinstance(value, str)]
    for text in texts:
        if "*** Begin Patch" in text or (text in named and "\n+++ " in f"\n{text}"):
            return tuple(patch_effects(text))
    return ()


def _with_replaced_files(effects: Effects, existed: Callable[[str], bool]) -> Effects:
    """The effects, with a deletion for every file of the starting workspace that another file was moved onto."""
    moved = [effect for effect in effects.known if effect.replaces and effect.target and existed(effect.target)]
    deleted = tuple(replace(effect, kind=Kind.DELETE, replaces=False) for effect in moved)
    return replace(effects, known=(*effects.known, *deleted))
