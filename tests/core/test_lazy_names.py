"""The doors of packages: what `__init__.py` lists is there, for people, type checkers and the interpreter alike."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "demeanor"
DOORS = sorted(
    ".".join(path.parent.relative_to(PACKAGE.parent).parts)
    for path in PACKAGE.rglob("__init__.py")
    if "lazy_names(" in path.read_text("utf-8")
)


def names_for_type_checkers(package: str) -> dict[str, str]:
    """Name → module, as the imports under TYPE_CHECKING have them."""
    tree = ast.parse((PACKAGE.parent / Path(*package.split(".")) / "__init__.py").read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: node.module or ""
        for node in imports
        for alias in node.names
        if (node.module or "").startswith(f"{package}.")
    }


def test_there_are_doors() -> None:
    """Otherwise the test below would test nothing."""
    assert "demeanor.decide" in DOORS
    assert len(DOORS) > 5


@pytest.mark.parametrize("package", DOORS)
def test_a_door_offers_what_it_lists(package: str) -> None:
    """Each name is that of its module, and is not hidden by a module of the same name."""
    listed = names_for_type_checkers(package)
    assert listed
    door = importlib.import_module(package)
    for name, module in listed.items():
        value = getattr(importlib.import_module(module), name)
        assert getattr(door, name) is value, name
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = door.no_such_name
