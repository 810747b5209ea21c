"""The folder of the documentation that is installed with Demeanor, and the JSON schemas in it."""

from __future__ import annotations

from pathlib import Path

from demeanor.core.values.errors import StoreError

_SCHEMA = ".schema.json"


def docs_folder() -> Path:
    """The folder in the installed package, or in the repository for an editable installation."""
    package = Path(__file__).parents[1]
    for folder in (package / "docs", package.parents[1] / "docs"):
        if (folder / "errors.md").is_file():
            return folder
    raise StoreError(f"{package / 'docs'}: the documentation is missing\n  → install Demeanor again")


def schemas() -> dict[str, Path]:
    """The files of all JSON schemas by name, sorted."""
    return {path.name.removesuffix(_SCHEMA): path for path in sorted(docs_folder().glob(f"*{_SCHEMA}"))}
