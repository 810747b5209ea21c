"""Markdown that is safe to show on a web page, whatever an agent, a provider or an author wrote.

Text from outside is always shown as code, in a fence that it can't close. So it can't become a link, an image, a
mention, HTML or the end of a table cell. Our own sentences are plain: these files are also read in mails and terminals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from demeanor.core.text.wording import one_line, printable
from demeanor.core.values.exit_code import ExitCode

EXIT_SIGNS = {ExitCode.ACCEPTED: "✅", ExitCode.REJECTED: "❌"}
_UNDECIDED_SIGN = "⚠️"
_INTERPRETED = re.compile(r"[<>&`*\[\]|\\@#~$]|://|www\.|\b_|_\b|^([-+=]|\d+[.)])")


def escape(text: str) -> str:
    """As `html.escape`, without the names of all characters, which that module imports."""
    for character, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        text = text.replace(character, name)
    return text


def headline(text: str, exit_code: ExitCode) -> str:
    """A heading that starts with a sign for the outcome."""
    return f"## {EXIT_SIGNS.get(exit_code, _UNDECIDED_SIGN)} {text}"


def inline_code(text: str, *, width: int | None = None) -> str:
    """`text` as code on one line, cut at `width` characters, with a fence that is longer than any in the text; empty if
    the text is. In a table, `table_row` escapes the borders in it."""
    flat = " ".join(printable(text).split()) if width is None else one_line(text, width=width)
    fence = "`" * (1 + max(map(len, re.findall("`+", flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return flat and f"{fence}{pad}{flat}{pad}{fence}"


def prose(text: str, *, width: int = 300) -> str:
    """A sentence of our own, as it is; as code if it quotes something that Markdown or a code host would interpret."""
    flat = one_line(text, width=width)
    return inline_code(flat) if _INTERPRETED.search(flat) else flat


def html_code(text: str, *, width: int = 300) -> str:
    """`text` as code inside of an HTML element, where markdown is not interpreted."""
    return f"<code>{escape(one_line(text, width=width))}</code>"


def code_block(text: str) -> str:
    """`text` as a code block, with a fence that is longer than any in the text."""
    safe = printable(text)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", safe)), default=0))
    return f"{fence}text\n{safe}\n{fence}"


def table_row(cells: Sequence[str]) -> str:
    """One row of a table. A border in a cell is escaped."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def fit(parts: Sequence[str], limit: int, *, remedy: str) -> list[str]:
    """The first parts that fit into `limit` bytes; if some don't, a last line with their number and the `remedy`."""
    kept: list[str] = []
    for index, part in enumerate(parts):
        limit -= len(part.encode()) + 2
        if limit < 0:
            return [*kept, f"… and {len(parts) - index} more {remedy}"]
        kept.append(part)
    return kept
