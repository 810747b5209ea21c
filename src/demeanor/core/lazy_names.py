"""The names that a package offers, imported when they are first used.

`__init__.py` is the door of a package: other packages import what it lists, and nothing else. Importing every module
for one of these names would make each start slow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: its modules, each with the names to import from it, separated by spaces."""
    places = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
