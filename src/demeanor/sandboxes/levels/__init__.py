"""The isolation levels, one module for each value of `--sandbox`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox as BubblewrapSandbox, find_bwrap as find_bwrap
    from demeanor.sandboxes.levels.container import ContainerSandbox as ContainerSandbox
    from demeanor.sandboxes.levels.landlock import LandlockSandbox as LandlockSandbox
    from demeanor.sandboxes.levels.none import NoneSandbox as NoneSandbox

__getattr__ = lazy_names(
    __name__,
    {
        "bubblewrap": "BubblewrapSandbox find_bwrap",
        "container": "ContainerSandbox",
        "landlock": "LandlockSandbox",
        "none": "NoneSandbox",
    },
)
