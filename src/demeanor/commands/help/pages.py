"""The pages of the documentation that is installed with Demeanor."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from demeanor.cli import docs_folder
from demeanor.core.values.errors import UnknownName

_COMMENT = re.compile(r"<!--.*?-->\n?", re.S)
_TERM = re.compile(r"^\[([^\]]+)\]: glossary\.md\S*\n?", re.M)
_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.S | re.M)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page of the documentation."""

    name: str
    """Its name: that of the file, without the ending."""

    text: str
    """Its text as Markdown, without comments and links to the glossary."""

    @property
    def title(self) -> str:
        """The first heading."""
        return self.text.partition("\n")[0].lstrip("# ")

    def sections(self) -> dict[str, str]:
        """The text of each section of the second level, by its heading."""
        parts = re.split(r"^## +(.+)$", _without_code(self.text), flags=re.M)
        return {heading: text.strip() for heading, text in zip(parts[1::2], parts[2::2], strict=True)}


def pages() -> dict[str, Page]:
    """All pages by name, sorted."""
    return {path.stem: _page(path) for path in sorted(docs_folder().glob("*.md"))}


def page(name: str) -> Page:
    """The page of that name; raises UnknownName."""
    by_name = pages()
    if name not in by_name:
        raise UnknownName("topic", name, by_name)
    return by_name[name]


def _page(path: Path) -> Page:
    text = _COMMENT.sub("", path.read_text("utf-8"))
    return Page(name=path.stem, text=_without_term_links(_TERM.sub("", text), _TERM.findall(text)).strip() + "\n")


def _without_term_links(text: str, terms: list[str]) -> str:
    """The text in which `[term]` is `term`, except in code, where brackets are part of it."""
    if not terms:
        return text
    link = re.compile(rf"\[({'|'.join(map(re.escape, terms))})\](?![(\[:])", re.IGNORECASE)
    parts = _CODE.split(text)  # text and code in turn
    return "".join(part if index % 2 else link.sub(r"\1", part) for index, part in enumerate(parts))


def _without_code(text: str) -> str:
    """The text in which lines of code blocks that begin with `##` are not headings."""
    return re.sub(r"^```.*?^```", lambda block: block[0].replace("\n##", "\n ##"), text, flags=re.S | re.M)
