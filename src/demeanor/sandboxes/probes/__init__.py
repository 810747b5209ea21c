"""Probes: hostile actions, tried for real at each isolation level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.sandboxes.probes.cache import ProbeCache as ProbeCache
    from demeanor.sandboxes.probes.result import Probe as Probe
    from demeanor.sandboxes.probes.runner import matrix as matrix, probe as probe

__getattr__ = lazy_names(
    __name__,
    {
        "cache": "ProbeCache",
        "result": "Probe",
        "runner": "matrix probe",
    },
)
