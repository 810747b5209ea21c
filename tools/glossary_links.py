"""Links the first use of each glossary term on a page to the glossary.

In the text a term only gets brackets: `[trials]`. A generated block of link definitions at the end of the page holds
the addresses, so that the source stays readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

EVERYDAY = {"news"}
"""Terms that are also ordinary words: they are not linked."""

_TERM = re.compile(r'<a id="([\w-]+)"></a>\*\*([\w ]+)\*\*')
_BLOCK = re.compile(r"\n*<!-- generated: terms -->\n(.*?)<!-- end -->\n?", re.S)
_DEFINITION = re.compile(r"^\[([^\]]+)\]: glossary\.md#[\w-]+$", re.M)
_NOT_PROSE = re.compile(
    r"^```.*?^```"  # a code block
    r"|^#[^\n]*|^\|[^\n]*|^    [^\n]*"  # a heading, a row of a table, indented code
    r"|<!-- generated.*?<!-- end -->|<!--.*?-->|<[^>\n]+>"
    r"|``[^\n]*?``|`[^`\n]*(?:\n[^`\n]+)?`"  # code in a line, or around its end
    r"|!?\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|^\[[^\]]+\]:[^\n]*",  # a link, an image, a definition
    re.S | re.M,
)


def terms(glossary: str) -> dict[str, str]:
    """Term → anchor, for the terms to link; the longest first, so that `key subject` comes before `subject`."""
    found = {match[2]: match[1] for match in _TERM.finditer(glossary) if match[2] not in EVERYDAY}
    return dict(sorted(found.items(), key=lambda one: -len(one[0])))


def link_terms(page: str, known: dict[str, str]) -> str:
    """The page with the first use of each term linked, and no other; a page that is linked already stays as it is."""
    text = _unlinked(page)
    taken = [match.span() for match in _NOT_PROSE.finditer(text)]
    uses: dict[tuple[int, int], str] = {}
    for term, anchor in known.items():
        use = next((span for span in _uses(text, term) if not _overlaps(span, [*taken, *uses])), None)
        if use is not None:
            uses[use] = anchor
    if not uses:
        return text
    for start, end in sorted(uses, reverse=True):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    shown = {" ".join(_unlinked(page)[start:end].split()): anchor for (start, end), anchor in uses.items()}
    lines = "".join(f"[{words}]: glossary.md#{anchor}\n" for words, anchor in sorted(shown.items()))
    return f"{text.rstrip()}\n\n<!-- generated: terms -->\n{lines}<!-- end -->\n"


def _unlinked(page: str) -> str:
    block = _BLOCK.search(page)
    text = _BLOCK.sub("\n", page)
    for words in _DEFINITION.findall(block[1]) if block else ():
        spaced = re.escape(words).replace(r"\ ", r"\s+")
        text = re.sub(rf"\[+({spaced})\]+(?![\[(])", r"\1", text)
    return text


def _uses(text: str, term: str) -> Iterable[tuple[int, int]]:
    words = term.replace(" ", r"\s+")
    plural = rf"{words[:-1]}ies" if term.endswith("y") else rf"{words}s"
    return (match.span() for match in re.finditer(rf"(?<![\w/.@-])(?:{plural}|{words})(?![\w/(-]| to\b)", text, re.I))


def _overlaps(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)
