"""Short guides for coding agents, with the help of commands and options taken from the parsers.

Each guide is a file in guide_texts/ with three parts, separated by `---`: a description, the steps, and a reference.
`{command NAME --option …}` is replaced by the help of a command and of some of its options, and `{exit codes}` by the
list of exit codes.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from demeanor.cli import EXIT_CODES, all_commands, parser_of

NAMES = ("create", "run", "fix", "promote")
"""All guides, in the order of use."""

_COMMAND = re.compile(r"^\{command (\S+)((?: --?\S+)*)\}$", re.M)


@dataclass(frozen=True, kw_only=True, slots=True)
class Guide:
    """A guide for one kind of work."""

    name: str
    """The name of its folder: lower case and hyphens, as agents require."""

    description: str
    """What it is for and when to use it; agents select guides by it."""

    steps: str
    """The steps, in markdown."""

    reference: str
    """Commands and options, in markdown."""


@cache
def guides() -> tuple[Guide, ...]:
    """Return all guides."""
    return tuple(_read(name) for name in NAMES)


def _read(name: str) -> Guide:
    text = (files("demeanor.commands.init") / "guide_texts" / f"{name}.md").read_text("utf-8")
    description, steps, reference = text.split("\n---\n")
    return Guide(
        name=f"demeanor-{name}-evals",
        description=description.strip(),
        steps=steps.strip(),
        reference=_expand(reference).strip(),
    )


def _expand(text: str) -> str:
    codes = f"Exit {EXIT_CODES[5:]}."
    return _COMMAND.sub(lambda match: _command(match[1], match[2].split()), text.replace("{exit codes}", codes))


def _command(name: str, options: list[str]) -> str:
    parser = parser_of(name)
    lines = [f"- `{usage(parser)}`: {all_commands()[name]}"]
    lines += [f"  - `{shown}`: {text}" for option in options for shown, text in _option(parser, option)]
    return "\n".join(lines)


def usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage with positional arguments and required options, such as `demeanor bisect EVAL --good REV`."""
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
    """Yield an option with its value, and its help text."""
    action = parser._option_string_actions[name]
    value = "" if action.nargs == 0 else f" {action.metavar or _choices(action) or action.dest.upper()}"
    yield f"{name}{value}", (action.help or "").replace("%%", "%")
