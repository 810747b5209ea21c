"""A Dockerfile's text as instructions: continuations, comments, flags, JSON forms and here-documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from demeanor.core.errors import BadInput

_DIRECTIVE = re.compile(r"#\s*([A-Za-z][\w-]*)\s*=\s*(.*?)\s*$")
_CONTINUED = re.compile(r"(?:^|[^\\])\\[ \t]*$")
_FLAG = re.compile(r"--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|$)")
_HEREDOC = re.compile(r"\d*<<(-?)(['\"]?)([A-Za-z_][\w.]*)\2$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Heredoc:
    """Lines that belong to an instruction."""

    name: str
    """The line that ends it."""

    content: str
    """Its lines, each with its end."""

    indented: bool = False
    """Whether tabs at the beginning of its lines are left out (`<<-`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Instruction:
    """One instruction."""

    line: int
    """Where it begins, from 1."""

    name: str
    """What it is, in capitals."""

    value: str
    """What follows, without flags, on one line."""

    flags: Mapping[str, str] = field(default_factory=dict)
    """`--name=value`, in front of it."""

    heredocs: tuple[Heredoc, ...] = ()
    """Its here-documents."""

    @property
    def words(self) -> tuple[str, ...] | None:
        """The words of a JSON form; None for any other form."""
        if not self.value.startswith("["):
            return None
        try:
            found = json.loads(self.value)
        except ValueError:
            return None
        return tuple(found) if isinstance(found, list) and all(isinstance(word, str) for word in found) else None


def parse(text: str, *, where: str = "Dockerfile") -> tuple[Instruction, ...]:
    """The instructions of a Dockerfile; raises BadInput with the line of what is none."""
    lines = text.removeprefix("\ufeff").splitlines()
    _check_directives(lines, where)
    return tuple(_instructions(lines, where))


def _check_directives(lines: list[str], where: str) -> None:
    """Comments at the top that change how the rest is read."""
    for number, line in enumerate(lines, 1):
        found = _DIRECTIVE.match(line)
        if not found:
            return
        if found[1].lower() == "escape" and found[2] != "\\":
            raise refusal(where, number, "# escape=", "another escape character than \\ can't be honoured")


def _instructions(lines: list[str], where: str) -> Iterator[Instruction]:
    at = 0
    while at < len(lines):
        begin, whole, at = _logical_line(lines, at)
        if whole:
            instruction = _instruction(whole, begin + 1, where)
            heredocs, at = _heredocs(instruction, lines, at, where)
            yield replace(instruction, heredocs=heredocs)


def _logical_line(lines: list[str], at: int) -> tuple[int, str, int]:
    """Where the next line with something on it begins, all of it on one line, and where the one after it begins."""
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


def _instruction(whole: str, line: int, where: str) -> Instruction:
    name, *follows = whole.split(maxsplit=1)
    if not re.fullmatch(r"[A-Za-z]+", name):
        raise BadInput(f"no instruction: {name[:40]!r}", where=f"{where}:{line}")
    rest, flags = follows[0] if follows else "", {}
    while found := _FLAG.match(rest):
        flags[found[1]] = found[2] or ""
        rest = rest[found.end() :]
    return Instruction(line=line, name=name.upper(), value=rest.strip(), flags=flags)


def _heredocs(instruction: Instruction, lines: list[str], at: int, where: str) -> tuple[tuple[Heredoc, ...], int]:
    """The here-documents that an instruction begins, and where the next line is."""
    if instruction.name not in ("RUN", "COPY", "ADD") or instruction.words is not None:
        return (), at
    found = []
    for word in instruction.value.split():
        begins = _HEREDOC.match(word)
        if not begins:
            continue
        content: list[str] = []
        while True:
            if at >= len(lines):
                raise BadInput(f"the here-document {begins[3]} has no end", where=f"{where}:{instruction.line}")
            line = lines[at]
            at += 1
            if (line.lstrip("\t") if begins[1] else line) == begins[3]:
                break
            content.append(f"{line}\n")
        found.append(Heredoc(name=begins[3], content="".join(content), indented=bool(begins[1])))
    return tuple(found), at


def refusal(where: str, line: int, what: str, why: str, remedy: str | None = None) -> BadInput:
    """An error for what can't be honoured."""
    return BadInput(why, where=f"{where}:{line}", key=what, remedy=remedy)
