"""The arguments of a tool call by meaning: agents name the same thing differently (`command`, `cmd`, `commands`).

An argument's meaning comes from its name. For other names it comes from the schema of the tool as the agent offered it:
its format, the words of its description, or because it is the only text that the tool takes.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from demeanor.core.values.messages import Tool
from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.options import names

_NAMES: Mapping[str, str] = {
    "path": "path filepath filename file absolutepath relativepath relativeworkspacepath targetfile notebookpath paths"
    " filepaths files source sourcepath destination destinationpath oldpath newpath targetpath uri fsPath",
    "command": "command cmd commands commandline cmdline shellcommand bashcommand script chars argv",
    "pattern": "pattern patterns query queries regex regexp searchpattern searchterm searchquery globpattern q",
    "url": "url urls link href website webpage",
    "content": "content contents filetext text newcontent filecontent filecontents newsource code data body inserttext"
    " changes",
    "old": "old oldstring oldstr oldtext search before find original oldcontent searchtext targetcontent",
    "new": "new newstring newstr newtext replace after replacement newcontent replacetext replacewith"
    " replacementcontent",
}
_BY_NAME: Mapping[str, tuple[str, ...]] = {
    name: tuple(meaning for meaning, names in _NAMES.items() if name in names.lower().split())
    for name in {word for names in _NAMES.values() for word in names.lower().split()}
}
_BY_KIND: Mapping[tuple[Kind, str], str] = {
    (Kind.EXECUTE, "code"): "command",
    (Kind.EXECUTE, "input"): "command",
    (Kind.SEARCH, "search"): "pattern",
    (Kind.SEARCH, "find"): "pattern",
    (Kind.SEARCH, "text"): "pattern",
    (Kind.FETCH, "uri"): "url",
    (Kind.FETCH, "source"): "url",
    (Kind.OTHER, "source"): "",
}
"""Names whose meaning depends on what the tool does; empty for none."""
_FOLDERS = names("dirpath directory dir folder root basepath searchpath directorypath")
_WORK_FOLDERS = names("workdir cwd workingdir workingdirectory dirpath directory dir")
_NOT_TEXT = re.compile(
    r"(?:.*id|description|reason|explanation|justification|title|shell|timeout\w*|prompt|instruction|summary|purpose"
    r"|intent|encoding|language|include\w*|exclude\w*|glob|type|mode|format|model|\w*permissions|status|pages|action"
    r"|operation|insertline|viewrange|startline|endline|limit|offset|cellid|celltype|editmode|prefixrule|workdir|cwd|output\w*)"
)
_WORDS: Mapping[str, re.Pattern[str]] = {
    "command": re.compile(r"\b(?:shell|bash|terminal|command(?: line)?)\b", re.I),
    "url": re.compile(r"\burl\b|\bweb (?:page|address)\b", re.I),
    "pattern": re.compile(r"\bregex|\bregular expression|\bglob\b|\bsearch (?:for|term|pattern|query)", re.I),
    "path": re.compile(r"\bpath\b|\bfile ?name\b", re.I),
    "old": re.compile(r"\b(?:text|string|lines?) to (?:replace|find|search)|\bold (?:text|string)", re.I),
    "new": re.compile(r"\breplace(?:ment| it with| with)|\bnew (?:text|string)", re.I),
    "content": re.compile(r"\b(?:content|text) (?:to|of|for)\b|\bto write\b", re.I),
}
_PLAIN_WORDS: Mapping[str, re.Pattern[str]] = {
    "command": re.compile(
        r"\b(?:shell|bash|terminal) (?:command|script)|\bcommand(?: line)? to (?:run|execute)\b"
        r"|\b(?:run|executed?) (?:in|by|with) (?:a |the )?(?:shell|bash|terminal)\b",
        re.I,
    ),
    "path": re.compile(r"\b(?:file|folder|directory) ?(?:path|name)\b|\bpath (?:of|to)\b", re.I),
}
"""Words that leave no doubt about an argument, even if nothing is known about its tool."""
_EXPECTED: Mapping[Kind, tuple[str, ...]] = {
    Kind.READ: ("path",),
    Kind.EDIT: ("path", "content", "old", "new"),
    Kind.DELETE: ("path",),
    Kind.SEARCH: ("pattern", "path"),
    Kind.EXECUTE: ("command",),
    Kind.FETCH: ("url",),
}
_URL = re.compile(r"https?://[^\s\"'<>)\]]+", re.I)
_MAX_DEPTH = 4
_MAX_VALUES = 1000

MEANINGS = tuple(_NAMES)
"""The arguments that `where` finds under any name."""


def expected(kind: Kind, meaning: str) -> bool:
    """Whether a tool of this kind has an argument of this meaning, whatever its name."""
    return meaning in _EXPECTED.get(kind, ())


def values(arguments: Mapping[str, Any], meaning: str, kind: Kind, tool: Tool | None = None) -> tuple[str, ...]:
    """The values with a meaning: one, several for a list, none if the call has no such argument."""
    texts = dict.fromkeys(_found(arguments, meaning, kind, _schema(tool), _MAX_DEPTH))
    if not texts and meaning == "url" and kind is Kind.FETCH:  # a prompt that contains the URL
        texts = dict.fromkeys(_URL.findall(json.dumps(arguments, ensure_ascii=False)))
    if not texts and meaning == "content" and expected(kind, "content"):
        texts = dict.fromkeys(_found(arguments, "new", kind, _schema(tool), _MAX_DEPTH))
    if not texts and expected(kind, meaning):
        name = _only_unknown(arguments, kind, tool)
        texts = dict.fromkeys(_texts(arguments[name], meaning)) if name is not None else {}
    return tuple(texts)[:_MAX_VALUES]


def unknown_names(arguments: Mapping[str, Any], kind: Kind, tool: Tool | None = None) -> tuple[str, ...]:
    """The arguments that contain text and whose meaning is unknown."""
    properties = _schema(tool)
    return tuple(
        name
        for name, value in arguments.items()
        if not _meanings(name, kind, properties) and not _NOT_TEXT.fullmatch(_plain(name)) and _has_text(value)
    )


def described(tool: Tool | None) -> frozenset[str]:
    """The meanings of arguments that a tool's schema states in words, whatever their names are."""
    meanings = {
        meaning
        for name, schema in _schema(tool).items()
        for meaning, words in _PLAIN_WORDS.items()
        if isinstance(schema, Mapping) and not _NOT_TEXT.fullmatch(_plain(name)) and words.search(_description(schema))
    }
    return frozenset(meanings)


def working_folder(arguments: Mapping[str, Any]) -> str:
    """The folder in which a command starts; empty if the call does not say."""
    folders = [value for name, value in arguments.items() if _plain(name) in _WORK_FOLDERS and isinstance(value, str)]
    return folders[0] if folders else ""


def argv(arguments: Mapping[str, Any]) -> list[str] | None:
    """The command as a list of a program and its arguments, if it is given as one."""
    for name, value in arguments.items():
        if _plain(name) in {"command", "cmd", "argv"} and isinstance(value, list) and value:
            return value if all(isinstance(word, str) for word in value) else None
    return None


def _found(
    arguments: Mapping[str, Any], meaning: str, kind: Kind, properties: Mapping[str, Any], depth: int
) -> Iterator[str]:
    for name, value in arguments.items():
        if meaning in _meanings(name, kind, properties):
            yield from _texts(value, meaning, singular=_plain(name) in {"command", "cmd", "argv"})
        if isinstance(value, list) and depth:
            for item in value[:_MAX_VALUES]:
                if isinstance(item, Mapping):
                    yield from _found(item, meaning, kind, _item_properties(properties.get(name)), depth - 1)
        elif isinstance(value, Mapping) and depth:
            yield from _found(value, meaning, kind, _properties(properties.get(name)), depth - 1)


def _meanings(name: str, kind: Kind, properties: Mapping[str, Any]) -> tuple[str, ...]:
    plain = _plain(name)
    if plain in _FOLDERS:
        return ("path",) if kind is not Kind.EXECUTE else ()
    if (kind, plain) in _BY_KIND:
        return tuple(filter(None, (_BY_KIND[kind, plain],)))
    if plain in _BY_NAME:
        return _BY_NAME[plain]
    if _NOT_TEXT.fullmatch(plain):
        return ()
    schema = properties.get(name)
    if not isinstance(schema, Mapping):
        return ()
    if schema.get("format") in {"uri", "url"}:
        return ("url",)
    said = [
        meaning for meaning, words in _WORDS.items() if expected(kind, meaning) and words.search(_description(schema))
    ]
    return tuple(said[:1])


def _description(schema: Mapping[str, Any]) -> str:
    return f"{schema.get('title') or ''} {schema.get('description') or ''}"[:2000]


def _only_unknown(arguments: Mapping[str, Any], kind: Kind, tool: Tool | None) -> str | None:
    """The argument that must be it because the tool takes no other text."""
    unknown = unknown_names(arguments, kind, tool)
    taken = unknown_names(dict.fromkeys(_schema(tool), "text"), kind, tool) if tool is not None else unknown
    others = [name for name in arguments if _meanings(name, kind, _schema(tool))]
    return unknown[0] if len(unknown) == 1 and len(taken) <= 1 and not others else None


def _texts(value: Any, meaning: str, *, singular: bool = False) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        if meaning == "command" and singular:
            yield from _script_of(value)
            yield shlex.join(value)
        else:
            yield from value


def _script_of(words: list[str]) -> Iterator[str]:
    """The script in `["bash", "-lc", script]`."""
    if len(words) >= 3 and words[0].rpartition("/")[2] in {"sh", "bash", "zsh"} and re.fullmatch(r"-\w*c", words[1]):
        yield words[2]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def _has_text(value: Any) -> bool:
    return isinstance(value, str | list | Mapping) and bool(value)


def _schema(tool: Tool | None) -> Mapping[str, Any]:
    return _properties(tool.schema) if tool is not None else {}


def _properties(schema: Any) -> Mapping[str, Any]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _item_properties(schema: Any) -> Mapping[str, Any]:
    return _properties(schema.get("items")) if isinstance(schema, Mapping) else {}
