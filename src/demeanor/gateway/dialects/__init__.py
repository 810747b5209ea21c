"""The provider APIs that the gateway supports, one package each, which has the name of its dialect."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from demeanor.core.values.dialects import DIALECT_FACTS
from demeanor.gateway.dialects.dialect import Dialect

DIALECTS: Mapping[str, Dialect] = {
    name: import_module(f"{__name__}.{name.replace('-', '_')}").DIALECT for name in DIALECT_FACTS
}
"""Every dialect by its name."""
