"""`demeanor explain`: explain an error, a void cause or an exit code."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence

from demeanor.core.exit_code import ExitCode

_NAMES = ("code", "cause")
"""The first columns of the tables whose rows are explained."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="the name of an error (bad-input), of a void cause (rate_limit), or an exit code (3); default: list them",
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Print what docs/errors.md says about it."""
    from demeanor.core.errors import UnknownName
    from demeanor.render.pager import show_markdown

    found = explanations()
    if args.name is None:
        print("\n".join(found))
        return ExitCode.ACCEPTED
    if args.name not in found:
        raise UnknownName("error, void cause or exit code", args.name, found)
    show_markdown(f"# {args.name}\n\n{found[args.name]}\n")
    return ExitCode.ACCEPTED


def explanations() -> dict[str, str]:
    """What the page about errors says, by name: a section each, and a row of a table each."""
    from demeanor.commands.help.pages import page

    sections = page("errors").sections()
    found = {name: text for name, text in sections.items() if re.fullmatch(r"[a-z-]+", name)}
    for heading, text in sections.items():
        for name, row in _rows(text) if heading not in found else ():
            found[name] = f"{found[name]}\n\n{row}" if name in found else row
    return found


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """The rows of the tables in a section: the name in the first column, and the other columns as a list."""
    labels: Sequence[str] = ()
    for line in text.splitlines():
        if not line.startswith("| "):
            labels = ()
        elif not labels:
            labels = _cells(line)
        elif labels[0] in _NAMES and not line.startswith("| ---"):
            name, *rest = _cells(line)
            pairs = zip(labels[1:], rest, strict=True)
            yield name.strip("`"), "\n".join(f"- {label.rstrip('?')}: {value}" for label, value in pairs)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
