"""Is a prompt mended, or does it only know its exam? New text that quotes an eval is taken for the latter.

An eval gives itself away by what it asks for, by its files' names and texts, and by what it expects. Words of that kind
which were not there before and now stand in a prompt are found here. A paraphrase is not: "when a settings file is to
get another number, look at it first" passes, and whether it helps with anything but the eval is for the guard suite and
for a reader of the patch to tell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass

from demeanor.commands.fix.text_search import words_of
from demeanor.core.checks import FunctionCheck, PromptSnapshot
from demeanor.core.eval import Eval
from demeanor.core.trajectory import usual_kinds

_ROW = 4
"""So many words in a row are a quotation of what an eval asks, or of a file it lays out."""
_SHORTEST = 8
"""An expected text of two words or more is a quotation if it has so many characters."""
_LONG = 4
"""Two of the words in a row are at least so long; `in it and the` quotes nobody."""
_NUMBER = 3
"""A word with a digit in it is one from so many characters on."""
_FILE = re.compile(r"[\w./-]*\w\.[A-Za-z]\w{0,9}")
_TOO_COMMON = {"readme.md", "makefile", "package.json", "pyproject.toml"}


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalSource:
    """An eval that is to be mended for, with what its value does not tell."""

    eval: Eval
    """The eval."""

    source: str = ""
    """The text of the Python file that it is written in; empty where it is written in no such file."""

    template: tuple[str, ...] = ()
    """The files of its template folder."""

    @property
    def tree(self) -> ast.Module:
        """Its source, parsed; empty where that can't be."""
        try:
            return ast.parse(self.source)
        except (SyntaxError, ValueError):
            return ast.Module(body=[], type_ignores=[])


def quotations(eval_source: EvalSource, *, old: str, new: str) -> tuple[str, ...]:
    """What `new` quotes of an eval and `old` does not, each told as a person would find it."""
    before, after = _Said(old), _Said(new)
    found: dict[str, str] = {}
    for kind, quoted in _telltales(eval_source):
        if after.says(quoted) and not before.says(quoted):
            found.setdefault(quoted, kind)
    return tuple(f"{kind} {quoted!r}" for quoted, kind in found.items())


class _Said:
    """A text that can be asked what it says."""

    def __init__(self, text: str) -> None:
        self._lower = text.lower()
        self._words = f" {' '.join(words_of(text))} "

    def says(self, quoted: str) -> bool:
        words = " ".join(words_of(quoted))
        if _FILE.fullmatch(quoted):
            return bool(re.search(rf"(?<![\w./-]){re.escape(quoted.lower())}(?![\w-])", self._lower))
        return f" {words} " in self._words


def _telltales(eval_source: EvalSource) -> Iterator[tuple[str, str]]:
    """What gives an eval away, with what it is."""
    scenario = eval_source.eval.scenario
    for prompt in scenario.prompts:
        yield from (("of what it asks:", row) for row in _rows(prompt))
    names = [
        *scenario.files,
        *eval_source.template,
        *(name for text in scenario.prompts for name in _named(text)),
    ]
    for name in dict.fromkeys(part for path in names for part in (path, path.rpartition("/")[2])):
        if _FILE.fullmatch(name) and name.lower() not in _TOO_COMMON:
            yield "of its files: the name", name
    for content in scenario.files.values():
        lines = content.decode("utf-8", "replace").splitlines()
        yield from (("of its files:", row) for line in lines for row in _rows(line))
    for text in dict.fromkeys((*_declared(eval_source.eval), *_written(eval_source))):
        yield from (("of what it expects:", word) for word in words_of(text) if _number(word))
        if _telling(text):
            yield "of what it expects:", " ".join(text.split())


def _rows(text: str) -> Iterator[str]:
    words = words_of(text)
    if 2 <= len(words) < _ROW and len(text.strip()) >= _SHORTEST:
        yield " ".join(words)
    for row in (words[at : at + _ROW] for at in range(len(words) - _ROW + 1)):
        if sum(len(word) >= _LONG for word in row) >= 2:
            yield " ".join(row)
    yield from (word for word in words if _number(word))


def _number(word: str) -> bool:
    """A word with a digit in it is rarely said by chance."""
    return len(word) >= _NUMBER and any(sign.isdigit() for sign in word)


def _named(text: str) -> Iterator[str]:
    """The files that a text names; `e.g` is none."""
    return (name for name in _FILE.findall(text) if len(name) > _LONG)


def _telling(text: str) -> bool:
    """Whether a text is of this eval, and not a word that anybody uses."""
    words = words_of(text)
    if text.lower() in usual_kinds() or not words:
        return False
    return len(words) >= 2 and not text.isidentifier() and len(text.strip()) >= _SHORTEST


def _declared(one: Eval) -> Iterator[str]:
    """The texts of checks that are data."""
    for check in one.checks:
        if isinstance(check, FunctionCheck | PromptSnapshot) or not is_dataclass(check):
            continue
        for field in fields(check):
            value = getattr(check, field.name)
            several = value if isinstance(value, tuple) else (value,)
            yield from (text for text in several if isinstance(text, str))


def _written(eval_source: EvalSource) -> Iterator[str]:
    """The texts in the author's own function, and in the names of the file that it uses."""
    tree = eval_source.tree
    names = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in functions(eval_source):
        for part in (inner for statement in _without_docstring(node.body) for inner in ast.walk(statement)):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value
            elif isinstance(part, ast.Name) and part.id in names:
                yield names[part.id]


def functions(eval_source: EvalSource) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that are checks of an eval, as they are written."""
    checks = {check.function.__name__ for check in eval_source.eval.checks if isinstance(check, FunctionCheck)}
    for node in ast.walk(eval_source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in checks:
            yield node


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    first = body[0] if body else None
    spoken = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if spoken else body
