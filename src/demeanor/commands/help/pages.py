"""The documentation that is installed with Demeanor: pages and JSON schemas."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import demeanor
from demeanor.core.errors import StoreError, UnknownName

_COMMENT = re.compile(r"<!--.*?-->\n?", re.S)
_TERM = re.compile(r"^\[[^\]]+\]: glossary\.md\S*\n?", re.M)
_TERM_LINK = re.compile(r"\[([^\]\n]+)\](?![(\[:])")
_SCHEMA = ".schema.json"


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
    return {path.stem: _page(path) for path in sorted(_folder().glob("*.md"))}


def page(name: str) -> Page:
    """The page of that name; raises UnknownName."""
    found = pages()
    if name not in found:
        raise UnknownName("topic", name, found)
    return found[name]


def schemas() -> dict[str, Path]:
    """The files of all JSON schemas by name, sorted."""
    return {path.name.removesuffix(_SCHEMA): path for path in sorted(_folder().glob(f"*{_SCHEMA}"))}


def _page(path: Path) -> Page:
    text = _TERM.sub("", _COMMENT.sub("", path.read_text("utf-8")))
    return Page(name=path.stem, text=_TERM_LINK.sub(r"\1", text).strip() + "\n")


def _without_code(text: str) -> str:
    """The text in which lines of code blocks that begin with `##` are no headings."""
    return re.sub(r"^```.*?^```", lambda block: block[0].replace("\n##", "\n ##"), text, flags=re.S | re.M)


def _folder() -> Path:
    """The folder in the installed package, or in the repository for an editable installation."""
    package = Path(demeanor.__file__).parent
    for folder in (package / "docs", package.parents[1] / "docs"):
        if (folder / "errors.md").is_file():
            return folder
    raise StoreError(f"{package / 'docs'}: the documentation is missing\n  → install Demeanor again")
