"""What docs/errors.md says about each error, void cause and exit code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from demeanor.commands.help.pages import page

_NAMES = ("code", "cause")
"""The first columns of the tables whose rows are explained."""


def explanations() -> dict[str, str]:
    """What the page about errors says, by name: a section each, and a row of a table each."""
    sections = page("errors").sections()
    explained = {name: text for name, text in sections.items() if re.fullmatch(r"[a-z-]+", name)}
    for heading, text in sections.items():
        for name, row in _rows(text) if heading not in explained else ():
            explained[name] = f"{explained[name]}\n\n{row}" if name in explained else row
    return explained


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """The rows of the tables in a section: the name in the first column, and the other columns as a list."""
    labels: Sequence[str] = ()
    for line in text.splitlines():
        if line.startswith(("|---", "| ---")):
            continue
        if not line.startswith("| "):
            labels = ()
        elif not labels:
            labels = _cells(line)
        elif labels[0] in _NAMES:
            name, *rest = _cells(line)
            pairs = zip(labels[1:], rest, strict=True)
            yield name.strip("`"), "\n".join(f"- {label.rstrip('?')}: {value}" for label, value in pairs)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
