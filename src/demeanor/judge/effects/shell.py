"""Reads a shell command: text → simple commands, in order. Bounded, since commands are hostile input.

tree-sitter parses it (grammar of bash). Its run time grows with the square of the length for some inputs, so the length
is limited. The text of a here-document with a quoted delimiter is taken out before parsing, because agents write large
files that way; the syntax tree then has to confirm that it really was a here-document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_TEXT = 1_000_000
"""The maximum length of a command with its here-documents, in characters."""

MAX_CODE = 8_000
"""The maximum length of a command without them, in bytes; parsing takes at most about half a second."""

MAX_DEPTH = 60
"""The maximum depth of the syntax tree."""

_MAX_COMMANDS = 500
_MAX_DOCUMENTS = 50
_HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"])([A-Za-z0-9_.-]+)\2")
_PLACEHOLDER = "demeanor-here-document-{}"
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPE_IN_QUOTES = re.compile(r'\\([\n$`"\\])')
_DYNAMIC = {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
_ANSI_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_NESTED = {"command_substitution", "process_substitution"}


class UnreadableCommand(Exception):
    """The text is not a shell command that can be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command."""

    text: str | None
    """Its value; None if it is known only when the command runs."""

    glob: bool = False
    """Whether it contains an unquoted `*`, `?` or `[`."""

    source: str | None = None
    """For a text in double quotes with variables: the text, in which they stand as they are written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Redirect:
    """A redirection."""

    operator: str
    """Such as `>`, `>>`, `<`, `<<`."""

    word: Word
    """The file; for a here-document or here-string, its text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SimpleCommand:
    """A program with its arguments and redirections."""

    words: tuple[Word, ...] = ()
    """The program and its arguments; empty for a redirection alone."""

    redirects: tuple[Redirect, ...] = ()
    """The redirections."""

    scope: tuple[int, ...] = ()
    """The subshells around it, from the outside in; `cd` applies within its own."""

    is_function: bool = False
    """Whether the command itself defines a function of this name before."""


@lru_cache(maxsize=256)
def read_shell(text: str) -> tuple[SimpleCommand, ...]:
    """The simple commands in a text, in order; raises UnreadableCommand."""
    if len(text) > MAX_TEXT:
        raise UnreadableCommand(f"the command is longer than {MAX_TEXT} characters")
    code, documents = _without_here_documents(text)
    data = code.encode(errors="replace")
    if len(data) > MAX_CODE:
        raise UnreadableCommand(f"the command is longer than {MAX_CODE} bytes")
    if "\0" in code:
        raise UnreadableCommand("the command contains a null character")
    tree = _parser().parse(data)
    if tree.root_node.has_error:
        raise UnreadableCommand("the command can't be parsed")
    reader = _TreeWalker(documents)
    commands = tuple(reader.statements(tree.root_node, (), 0))
    if len(reader.documents_read) != len(documents):
        raise UnreadableCommand("the command can't be parsed: a here-document is not where it seems to be")
    return commands


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _without_here_documents(text: str) -> tuple[str, list[str]]:
    """The text with a placeholder for each here-document with a quoted delimiter, and these documents."""
    lines = text.split("\n")
    kept: list[str] = []
    documents: list[str] = []
    at = searches = 0
    while at < len(lines):
        kept.append(lines[at])
        matches = list(_HEREDOC.finditer(lines[at]))
        at += 1
        for tabs, _, delimiter in (match.groups() for match in matches):
            searches += 1
            if searches > _MAX_DOCUMENTS:
                raise UnreadableCommand(f"the command has more than {_MAX_DOCUMENTS} here-documents")
            ends = (n for n in range(at, len(lines)) if (lines[n].lstrip("\t") if tabs else lines[n]) == delimiter)
            end = next(ends, None)
            if end is None:
                break
            kept += [_PLACEHOLDER.format(len(documents)), lines[end]]
            documents.append("".join(f"{line.lstrip(chr(9)) if tabs else line}\n" for line in lines[at:end]))
            at = end + 1
    return "\n".join(kept), documents


@dataclass
class _TreeWalker:
    """Walks through a syntax tree."""

    documents: list[str]
    documents_read: set[int] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    _scopes: int = 0
    _commands: int = 0

    def statements(self, node: Node, scope: tuple[int, ...], depth: int) -> Iterator[SimpleCommand]:
        """The simple commands below a node, in the order of the text."""
        if depth > MAX_DEPTH:
            raise UnreadableCommand("the command is nested too deeply")
        if node.type in {"command", "declaration_command", "unset_command", "test_command"}:
            yield from self._command(node, (), scope, depth)
        elif node.type == "redirected_statement":
            yield from self._redirected(node, scope, depth)
        else:
            if node.type in {"subshell", *_NESTED}:
                self._scopes += 1
                scope = (*scope, self._scopes)
            if node.type == "function_definition" and (name := node.child_by_field_name("name")):
                self.functions.add(_source(name))
            for child in node.children:
                yield from self.statements(child, scope, depth + 1)

    def _redirected(self, node: Node, scope: tuple[int, ...], depth: int) -> Iterator[SimpleCommand]:
        body = node.child_by_field_name("body")
        redirects: list[Redirect] = []
        rest: list[SimpleCommand] = []
        for child in node.children_by_field_name("redirect"):
            own, nested = self._redirect(child, scope, depth + 1)
            redirects += own
            rest += nested
        if body is not None and body.type == "command":
            yield from self._command(body, tuple(redirects), scope, depth + 1)
        else:
            if body is not None:
                yield from self.statements(body, scope, depth + 1)
            yield self._counted(SimpleCommand(redirects=tuple(redirects), scope=scope))
        yield from rest

    def _command(
        self, node: Node, outer: tuple[Redirect, ...], scope: tuple[int, ...], depth: int
    ) -> Iterator[SimpleCommand]:
        words: list[Word] = []
        redirects: list[Redirect] = []
        rest: list[SimpleCommand] = []
        for child in node.children:
            if child.type.endswith("_redirect"):
                own, nested = self._redirect(child, scope, depth + 1)
                redirects += own
                rest += nested
                continue
            yield from self._nested(child, scope, depth + 1)
            if child.type != "variable_assignment" or node.type != "command":
                words.append(_word(child, depth))
        if words or redirects or outer:
            is_function = bool(words) and words[0].text in self.functions
            every = (*redirects, *outer)
            yield self._counted(
                SimpleCommand(words=tuple(words), redirects=every, scope=scope, is_function=is_function)
            )
        yield from rest

    def _redirect(self, node: Node, scope: tuple[int, ...], depth: int) -> tuple[list[Redirect], list[SimpleCommand]]:
        """A redirection, with the commands in it; the rest of the line after `<<EOF` is inside of its node."""
        redirects: list[Redirect] = []
        nested: list[SimpleCommand] = []
        operator, word = "", Word(None)
        for child in node.children:
            if child.type == "heredoc_body":
                word = self._document(child)
                nested += self._nested(child, scope, depth + 1)
            elif child.type.endswith("_redirect"):
                own, commands = self._redirect(child, scope, depth + 1)
                redirects += own
                nested += commands
            elif child.type in {"heredoc_start", "heredoc_end", "file_descriptor"}:
                continue
            elif not child.is_named and not operator:
                operator = _source(child)
            elif child.is_named and node.type == "heredoc_redirect":
                nested += self.statements(child, scope, depth + 1)
            elif child.is_named:
                word = _word(child, depth)
                nested += self._nested(child, scope, depth + 1)
        return [Redirect(operator=operator, word=word), *redirects], nested

    def _document(self, body: Node) -> Word:
        source = _source(body).strip()
        for number, document in enumerate(self.documents):
            if source == _PLACEHOLDER.format(number):
                self.documents_read.add(number)
                return Word(document)
        plain = not any(child.type in _DYNAMIC for child in body.children)
        return Word(_source(body)) if plain else Word(None)

    def _nested(self, node: Node, scope: tuple[int, ...], depth: int) -> Iterator[SimpleCommand]:
        """The commands of substitutions inside a word."""
        if depth > MAX_DEPTH:
            raise UnreadableCommand("the command is nested too deeply")
        if node.type in _NESTED:
            yield from self.statements(node, scope, depth + 1)
            return
        for child in node.children:
            yield from self._nested(child, scope, depth + 1)

    def _counted(self, command: SimpleCommand) -> SimpleCommand:
        self._commands += 1
        if self._commands > _MAX_COMMANDS:
            raise UnreadableCommand(f"the command runs more than {_MAX_COMMANDS} programs")
        return command


def _source(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _word(node: Node, depth: int) -> Word:
    """The value of a word, as far as it is known before the command runs."""
    if depth > MAX_DEPTH:
        raise UnreadableCommand("the command is nested too deeply")
    text = _source(node)
    if node.type in _DYNAMIC or node.type == "variable_assignment":
        return Word(None)
    if node.type == "raw_string":
        return Word(text[1:-1])
    if node.type == "ansi_c_string":
        return Word(_ESCAPE.sub(lambda match: _ANSI_ESCAPES.get(match[1], match[0]), text[2:-1]))
    if node.type in {"string", "translated_string"}:
        static = not any(child.type in _DYNAMIC for child in node.children)
        plain = _ESCAPE_IN_QUOTES.sub(_unescaped, text[text.index('"') + 1 : -1])
        return Word(plain) if static else Word(None, source=plain)
    if node.type == "concatenation" or (node.type == "command_name" and node.child_count == 1):
        return _joined([_word(child, depth + 1) for child in node.children], text)
    if "{" in text and ("," in text or ".." in text):  # a brace expansion is several words
        return Word(None)
    plain = _ESCAPE.sub("", text)
    return Word(_ESCAPE.sub(_unescaped, text), glob=any(sign in plain for sign in "*?["))


def _joined(words: list[Word], source: str) -> Word:
    texts = [word.text for word in words]
    if None in texts or ("{" in source and "," in source):
        return Word(None)
    return Word("".join(text for text in texts if text is not None), glob=any(word.glob for word in words))


def _unescaped(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]
