"""From tallies to decisions, pure: every rule of the product, without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.decide.policies import (
        EXPECTED as EXPECTED,
        decide as decide,
        empty_exit_code as empty_exit_code,
        exit_code as exit_code,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "policies": "EXPECTED decide empty_exit_code exit_code",
    },
)
