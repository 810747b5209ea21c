"""Does a fix overfit the eval? A change whose new text quotes the eval is treated as overfitting.

Quotable are the eval's prompts, the names and contents of its files, and the texts that its checks expect. Text of this
kind that a file did not contain before the change and contains after it is a quotation. A paraphrase is not detected:
"when a number in a settings file is to be raised, look at it first" is accepted. Whether such a sentence helps with
anything but the eval is left to the guard suite and to the person who reads the patch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass

from demeanor.core.values.checks import FunctionCheck, PromptSnapshot
from demeanor.core.values.eval import Eval
from demeanor.core.values.trajectory import usual_kinds
from demeanor.vcs import words_of

_PHRASE_WORDS = 4
"""This many consecutive words of a prompt or a file are a quotation."""
_MIN_TEXT_LENGTH = 8
"""A shorter text of two words or more is a quotation from this many characters on."""
_LONG_WORD = 4
"""A phrase needs two words of at least this length; `in it and the` is too common."""
_MIN_NUMBER_LENGTH = 3
"""A word with a digit is a quotation from this many characters on."""
_FILE_NAME = re.compile(r"[\w./-]*\w\.[A-Za-z]\w{0,9}")
_COMMON_FILES = {"readme.md", "makefile", "package.json", "pyproject.toml"}


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalSource:
    """An eval together with its source text and the names of its template files."""

    eval: Eval
    """The eval."""

    source: str = ""
    """The text of the Python file that defines it; empty when it is not defined in Python."""

    template: tuple[str, ...] = ()
    """The files of its template folder."""

    @property
    def tree(self) -> ast.Module:
        """The parsed source; empty when it can't be parsed."""
        try:
            return ast.parse(self.source)
        except (SyntaxError, ValueError):
            return ast.Module(body=[], type_ignores=[])


def find_quotations(eval_source: EvalSource, *, old: str, new: str) -> tuple[str, ...]:
    """Return what `new` quotes of an eval and `old` does not, for example `file name 'settings.ini'`."""
    before, after = _SearchableText(old), _SearchableText(new)
    quotations: dict[str, str] = {}
    for kind, text in _quotable_texts(eval_source):
        if after.contains(text) and not before.contains(text):
            quotations.setdefault(text, kind)
    return tuple(f"{kind} {text!r}" for text, kind in quotations.items())


class _SearchableText:
    """A text in which words are found regardless of case, line breaks and punctuation."""

    def __init__(self, text: str) -> None:
        self._lower = text.lower()
        self._words = f" {' '.join(words_of(text))} "

    def contains(self, text: str) -> bool:
        if _FILE_NAME.fullmatch(text):
            return bool(re.search(rf"(?<![\w./-]){re.escape(text.lower())}(?![\w-])", self._lower))
        return f" {' '.join(words_of(text))} " in self._words


def _quotable_texts(eval_source: EvalSource) -> Iterator[tuple[str, str]]:
    """Yield every text that identifies an eval, each with its kind."""
    scenario = eval_source.eval.scenario
    for prompt in scenario.prompts:
        yield from (("prompt", phrase) for phrase in _phrases(prompt))
    names = [
        *scenario.files,
        *eval_source.template,
        *(name for text in scenario.prompts for name in _file_names(text)),
    ]
    for name in dict.fromkeys(part for path in names for part in (path, path.rpartition("/")[2])):
        if _FILE_NAME.fullmatch(name) and name.lower() not in _COMMON_FILES:
            yield "file name", name
    for content in scenario.files.values():
        lines = content.decode("utf-8", "replace").splitlines()
        yield from (("file content", phrase) for line in lines for phrase in _phrases(line))
    for text in dict.fromkeys((*_texts_of_declared_checks(eval_source.eval), *_texts_of_functions(eval_source))):
        yield from (("expected text", word) for word in words_of(text) if _is_number(word))
        if _is_specific(text):
            yield "expected text", " ".join(text.split())


def _phrases(text: str) -> Iterator[str]:
    words = words_of(text)
    if 2 <= len(words) < _PHRASE_WORDS and len(text.strip()) >= _MIN_TEXT_LENGTH:
        yield " ".join(words)
    for phrase in (words[at : at + _PHRASE_WORDS] for at in range(len(words) - _PHRASE_WORDS + 1)):
        if sum(len(word) >= _LONG_WORD for word in phrase) >= 2:
            yield " ".join(phrase)
    yield from (word for word in words if _is_number(word))


def _is_number(word: str) -> bool:
    """Whether a word contains a digit and is long enough not to match by chance."""
    return len(word) >= _MIN_NUMBER_LENGTH and any(char.isdigit() for char in word)


def _file_names(text: str) -> Iterator[str]:
    """Yield the file names in a text; short matches such as `e.g` are ignored."""
    return (name for name in _FILE_NAME.findall(text) if len(name) > _LONG_WORD)


def _is_specific(text: str) -> bool:
    """Whether a text is specific to this eval rather than a common word or an identifier."""
    words = words_of(text)
    if text.lower() in usual_kinds() or not words:
        return False
    return len(words) >= 2 and not text.isidentifier() and len(text.strip()) >= _MIN_TEXT_LENGTH


def _texts_of_declared_checks(eval_: Eval) -> Iterator[str]:
    """Yield the texts in checks that are written as data."""
    for check in eval_.checks:
        if isinstance(check, FunctionCheck | PromptSnapshot) or not is_dataclass(check):
            continue
        for field in fields(check):
            value = getattr(check, field.name)
            several = value if isinstance(value, tuple) else (value,)
            yield from (text for text in several if isinstance(text, str))


def _texts_of_functions(eval_source: EvalSource) -> Iterator[str]:
    """Yield the string literals in the author's check functions, and in the module constants that they use."""
    tree = eval_source.tree
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for function in check_functions(eval_source):
        for node in (inner for statement in _without_docstring(function.body) for inner in ast.walk(statement)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.Name) and node.id in constants:
                yield constants[node.id]


def check_functions(eval_source: EvalSource) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of the source that are checks of the eval."""
    names = {check.function.__name__ for check in eval_source.eval.checks if isinstance(check, FunctionCheck)}
    for node in ast.walk(eval_source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in names:
            yield node


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    first = body[0] if body else None
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_docstring else body
