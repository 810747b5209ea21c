"""Short guides for coding agents. What they say of commands and options is taken from the parsers themselves.

A guide is written as a file of guides/: a description, what to do, and what to look up, divided by lines of `---`.
`{command NAME --option …}` stands for the help of a command and of some of its options, `{exit codes}` for theirs.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from demeanor.commands.registry import COMMANDS, EXIT_CODES, make_parser

NAMES = ("create", "run", "fix", "promote")
"""All guides, in the order in which they are needed."""

_COMMAND = re.compile(r"^\{command (\S+)((?: --?\S+)*)\}$", re.M)


@dataclass(frozen=True, kw_only=True, slots=True)
class Guide:
    """How to do one thing."""

    name: str
    """What its folder is called: lower case and hyphens, as agents demand."""

    description: str
    """What it is for and when to use it; agents choose by it."""

    steps: str
    """What to do, in markdown."""

    reference: str
    """What to look up: commands and options, in markdown."""


@cache
def guides() -> tuple[Guide, ...]:
    """All guides."""
    return tuple(_read(name) for name in NAMES)


def _read(name: str) -> Guide:
    text = (files("demeanor.commands.skills") / "guides" / f"{name}.md").read_text("utf-8")
    description, steps, reference = text.split("\n---\n")
    return Guide(
        name=f"demeanor-{name}-evals",
        description=description.strip(),
        steps=steps.strip(),
        reference=_filled(reference).strip(),
    )


def _filled(text: str) -> str:
    codes = f"Exit {EXIT_CODES[5:]}."
    return _COMMAND.sub(lambda found: _command(found[1], found[2].split()), text.replace("{exit codes}", codes))


def _command(name: str, options: list[str]) -> str:
    parser = parser_of(name)
    lines = [f"- `{usage(parser)}`: {COMMANDS[name]}"]
    lines += [f"  - `{shown}`: {said}" for option in options for shown, said in _option(parser, option)]
    return "\n".join(lines)


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of one command; KeyError where there is none."""
    (commands,) = make_parser(name)._subparsers._group_actions  # type: ignore[union-attr]
    found: argparse.ArgumentParser = commands.choices[name]  # type: ignore[index]
    return found


def usage(parser: argparse.ArgumentParser) -> str:
    """`demeanor bisect EVAL --good REV`: what must be said, and what may be said without an option's name."""
    words = [parser.prog]
    for action in parser._actions:
        if action.option_strings and not action.required:
            continue
        shown = action.metavar if isinstance(action.metavar, str) else _choices(action) or action.dest
        shown = {"?": f"[{shown}]", "*": f"[{shown} …]"}.get(str(action.nargs), shown)
        words.append(f"{action.option_strings[0]} {shown}" if action.option_strings else shown)
    return " ".join(words)


def _choices(action: argparse.Action) -> str:
    return "|".join(map(str, action.choices)) if action.choices else ""


def _option(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, str]]:
    """An option as it is written, and what its help says."""
    action = parser._option_string_actions[name]
    value = "" if action.nargs == 0 else f" {action.metavar or _choices(action) or action.dest.upper()}"
    yield f"{name}{value}", (action.help or "").replace("%%", "%")
