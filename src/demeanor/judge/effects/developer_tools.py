"""The effects of formatters, linters, task runners, compilers and interpreters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.effect import Effect, Unclear
from demeanor.judge.effects.options import names, separate
from demeanor.judge.effects.shell import Word
from demeanor.judge.effects.targets import kept_copy, on, unclear

Found: TypeAlias = Iterable[Effect | Unclear]
Program: TypeAlias = Callable[[Sequence[Word], str | None], Found]
"""A function from the arguments and the text of the standard input, if it is known, to effects."""

FORMATTERS = names("black isort autopep8 yapf prettier gofmt goimports rustfmt clang-format shfmt")
_WRITE_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "prettier": ("--write", "-w"), "gofmt": ("-w",), "goimports": ("-w",), "shfmt": ("-w",),
    "clang-format": ("-i",), "autopep8": ("-i", "--in-place"), "yapf": ("-i", "--in-place"),
}  # fmt: skip
"""Formatters that print their result, with the options that write it into the files."""
_IN_PLACE = re.compile(r"-[0-9pnlaw]*i(.*)")
_PERL_SUBSTITUTION = re.compile(
    r"(?:\s*+s([/|#,@!])(?:(?!\1)[^\\$@(]|\\.|\((?!\?+\{))*\1(?:(?!\1)[^\\$@]|\\.|\$\d)*\1[gimsx]*+\s*+(?:;|$))+"
)
"""Substitutions that run no code: no flag `e`, no variable but `$1`, no `(?{…})`."""


def format_files(name: str, words: Sequence[Word]) -> Found:
    """The effects of a formatter."""
    arguments = separate(words)
    writes = arguments.has(*_WRITE_OPTIONS[name]) if name in _WRITE_OPTIONS else True
    if not writes or arguments.has("--check", "--diff", "-d", "--check-only", "-c"):
        return on(Kind.READ, arguments.operands, reach="below")
    return on(Kind.EDIT, arguments.operands or (Word(None),), reach="below")


def _ruff(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("--select", "--ignore", "--config", "--output-format"))
    files = arguments.operands[1:] or (Word(None),)
    formats = bool(arguments.operands) and arguments.operands[0].text == "format"
    if formats and arguments.has("--check", "--diff"):
        return on(Kind.READ, files, reach="below")
    return on(Kind.EDIT, files, reach="below") if formats or arguments.has("--fix", "--unsafe-fixes") else ()


def _eslint(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words)
    return on(Kind.EDIT, arguments.operands or (Word(None),), reach="below") if arguments.has("--fix") else ()


def _tasks(harmless: str, *, formats: str = "", every: bool = False) -> Program:
    """A program with sub-commands, of which these touch no file, or format files; `every` argument may be one."""
    harmless_names, formatters = names(harmless), names(formats)

    def effects(words: Sequence[Word], _: str | None) -> Found:
        arguments = separate(words, ("-C", "-f", "--directory", "--file", "--prefix", "--filter", "--dir", "--cwd"))
        texts = [word.text for word in arguments.operands if word.text not in {"run", "run-script"}]
        tasks = [text for text in texts if text is None or not (text.isdigit() or "=" in text)]
        if tasks[:1] and tasks[0] in formatters:
            return () if {"--check", "--diff"} & {word.text for word in words} else on(Kind.EDIT, (Word(None),))
        if not tasks or not set(tasks if every else tasks[:1]) <= harmless_names:
            return unclear("runs a task of the project")
        fixes = any(word.text in {"--fix", "--write"} for word in words)
        return on(Kind.EDIT, (Word(None),)) if fixes else ()

    return effects


def _tsc(words: Sequence[Word], _: str | None) -> Found:
    return () if separate(words).has("--noEmit") else unclear("runs tsc")


def _node(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words)
    if {word.text for word in words[:1]} & {"--check", "-c"}:
        return on(Kind.READ, arguments.operands)
    return () if [word.text for word in words[:1]] == ["--test"] else unclear("runs node")


def _script_on_files(name: str) -> Program:
    """perl and ruby: with `-i` they edit the files that they are given; their script may do more."""

    def effects(words: Sequence[Word], _: str | None) -> Iterator[Effect | Unclear]:
        scripts: list[Word] = []
        files: list[Word] = []
        suffix: str | None = None
        rest = iter(words)
        for word in rest:
            text = word.text or ""
            if not text.startswith("-") or files:
                files.append(word)
                continue
            if match := _IN_PLACE.fullmatch(text):
                suffix = match[1]
            if text.endswith("e") and not text.startswith("-i"):
                scripts += [script for script in [next(rest, None)] if script is not None]
        in_place = suffix is not None and bool(scripts)
        if in_place:
            yield from on(Kind.EDIT, files)
        if in_place and suffix:
            yield from on(Kind.EDIT, [kept_copy(word, suffix) for word in files])
        substitutes = all(_PERL_SUBSTITUTION.fullmatch(script.text or "") for script in scripts)
        if name != "perl" or not (in_place and substitutes):
            yield from unclear(f"runs {name}")

    return effects


_CHECKS = "test tests check lint typecheck type-check test:unit --version -v list ls outdated"
DEVELOPER_TOOLS: Mapping[str, Program] = {
    "ruff": _ruff, "eslint": _eslint, "tsc": _tsc, "node": _node,
    "perl": _script_on_files("perl"), "ruby": _script_on_files("ruby"),
    "npm": _tasks(f"{_CHECKS} t tst"), "pnpm": _tasks(f"{_CHECKS} t"), "yarn": _tasks(_CHECKS), "bun": _tasks("test"),
    "make": _tasks(_CHECKS, every=True), "just": _tasks(_CHECKS),
    "cargo": _tasks("test check clippy tree metadata", formats="fmt"),
    "go": _tasks("test vet version env list doc", formats="fmt"), "mvn": _tasks("test", every=True),
    "gradle": _tasks("test check", every=True), "dotnet": _tasks("test"), "coverage": _tasks("report"),
    "pip": _tasks("list show freeze check"), "pip3": _tasks("list show freeze check"),
}  # fmt: skip
"""Functions from the arguments and the standard input to effects."""
