"""Parses a Dockerfile into instructions: continuation lines, comments, flags, JSON forms and here-documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from demeanor.core.text.wording import shortened
from demeanor.core.values.errors import BadInput

_DIRECTIVE = re.compile(r"#\s*([A-Za-z][\w-]*)\s*=\s*(.*?)\s*$")
_CONTINUED = re.compile(r"(?:^|[^\\])\\[ \t]*$")
_FLAG = re.compile(r"--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|$)")
_HEREDOC = re.compile(r"\d*<<(-?)(['\"]?)([A-Za-z_][\w.]*)\2$")
_SPACED = re.compile(r"(?<!\S)(\d*<<)[ \t]+((['\"]?)([A-Za-z_][\w.]*)\3)(?!\S)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Heredoc:
    """A here-document of an instruction."""

    name: str
    """Its delimiter."""

    content: str
    """Its lines, with line ends."""

    indented: bool = False
    """Whether leading tabs are removed (`<<-`)."""

    quoted: bool = False
    """Whether its delimiter is quoted, so that variables are not replaced."""

    @property
    def text(self) -> str:
        """Its content, without the tabs that are removed."""
        if not self.indented:
            return self.content
        return "".join(line.lstrip("\t") for line in self.content.splitlines(keepends=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class Instruction:
    """One instruction."""

    line: int
    """The number of its first line."""

    name: str
    """Its name, in capitals."""

    value: str
    """Its arguments without flags, on one line."""

    flags: Mapping[str, str] = field(default_factory=dict)
    """Its flags (`--name=value`)."""

    heredocs: tuple[Heredoc, ...] = ()
    """Its here-documents."""

    @property
    def words(self) -> tuple[str, ...] | None:
        """The words of a JSON form; None for any other form."""
        if not self.value.startswith("["):
            return None
        try:
            data = json.loads(self.value)
        except ValueError:
            return None
        return tuple(data) if isinstance(data, list) and all(isinstance(word, str) for word in data) else None


def parse(text: str, *, where: str = "Dockerfile") -> tuple[Instruction, ...]:
    """The instructions of a Dockerfile; raises BadInput, with the line, for invalid text."""
    lines = text.removeprefix("\ufeff").splitlines()
    _check_directives(lines, where)
    return tuple(_instructions(lines, where))


def _check_directives(lines: list[str], where: str) -> None:
    """Check the parser directives: comments at the top that change how the rest is parsed."""
    for number, line in enumerate(lines, 1):
        match = _DIRECTIVE.match(line)
        if not match:
            return
        if match[1].lower() == "escape" and match[2] != "\\":
            raise refusal(where, number, "# escape=", "only the escape character \\ is supported")


def _instructions(lines: list[str], where: str) -> Iterator[Instruction]:
    at = 0
    while at < len(lines):
        begin, text, at = _logical_line(lines, at)
        if text:
            instruction = _instruction(_without_space(text, lines, at), begin + 1, where)
            heredocs, at = _heredocs(instruction, lines, at, where)
            yield replace(instruction, heredocs=heredocs)


def _without_space(text: str, lines: list[str], at: int) -> str:
    """A line with `<<EOF` in place of `<< EOF`, which means the same if one of the lines from `at` ends the
    here-document; `$(( 1 << N ))` is none.
    """
    return _SPACED.sub(lambda match: match[1] + match[2] if match[4] in islice(lines, at, None) else match[0], text)


def _logical_line(lines: list[str], at: int) -> tuple[int, str, int]:
    """The index of the next non-empty line, its text with continuation lines joined, and the index after it."""
    begin = at
    pieces: list[str] = []
    while at < len(lines):
        line = lines[at]
        at += 1
        if _is_comment(line) or not line.strip():  # also within a continued line
            continue
        if not pieces:
            begin = at - 1
        if not _CONTINUED.search(line):
            pieces.append(line)
            break
        pieces.append(line.rstrip()[:-1])
    return begin, "".join(pieces).strip(), at


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _instruction(text: str, line: int, where: str) -> Instruction:
    name, *arguments = text.split(maxsplit=1)
    if not re.fullmatch(r"[A-Za-z]+", name):
        raise BadInput(f"not an instruction: {shortened(name, 40)!r}", where=f"{where}:{line}")
    rest, flags = arguments[0] if arguments else "", {}
    while match := _FLAG.match(rest):
        flags[match[1]] = match[2] or ""
        rest = rest[match.end() :]
    return Instruction(line=line, name=name.upper(), value=rest.strip(), flags=flags)


def _heredocs(instruction: Instruction, lines: list[str], at: int, where: str) -> tuple[tuple[Heredoc, ...], int]:
    """The here-documents of an instruction, and the index of the line after them."""
    if instruction.name not in ("RUN", "COPY", "ADD") or instruction.words is not None:
        return (), at
    heredocs = []
    for word in instruction.value.split():
        opening = _HEREDOC.match(word)
        if not opening:
            continue
        content: list[str] = []
        while True:
            if at >= len(lines):
                raise BadInput(f"the here-document {opening[3]} is not terminated", where=f"{where}:{instruction.line}")
            line = lines[at]
            at += 1
            if (line.lstrip("\t") if opening[1] else line) == opening[3]:
                break
            content.append(f"{line}\n")
        heredocs.append(
            Heredoc(name=opening[3], content="".join(content), indented=bool(opening[1]), quoted=bool(opening[2]))
        )
    return tuple(heredocs), at


def refusal(where: str, line: int, what: str, why: str, remedy: str | None = None) -> BadInput:
    """An error for an instruction that is not supported."""
    return BadInput(why, where=f"{where}:{line}", key=what, remedy=remedy)
