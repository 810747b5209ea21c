"""Isolates agents from the host, as far as each level guarantees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from demeanor.sandboxes.host.bwrap_args import PORT as PORT, can_read as can_read, paths_to_bind as paths_to_bind
    from demeanor.sandboxes.host.certificates import certificate_variables as certificate_variables
    from demeanor.sandboxes.host.container_cli import EngineName as EngineName
    from demeanor.sandboxes.host.disk_space import is_full as is_full, require_space as require_space
    from demeanor.sandboxes.host.level import SandboxLevel as SandboxLevel
    from demeanor.sandboxes.host.runtime import SandboxRuntime as SandboxRuntime, in_thread as in_thread
    from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox as BubblewrapSandbox, find_bwrap as find_bwrap
    from demeanor.sandboxes.levels.container import ContainerSandbox as ContainerSandbox
    from demeanor.sandboxes.levels.landlock import LandlockSandbox as LandlockSandbox
    from demeanor.sandboxes.levels.none import NoneSandbox as NoneSandbox
    from demeanor.sandboxes.persistent.client import PersistentSandbox as PersistentSandbox
    from demeanor.sandboxes.persistent.factory import (
        PersistentOptions as PersistentOptions,
        PersistentSandboxes as PersistentSandboxes,
    )
    from demeanor.sandboxes.persistent.spec import ExecRequest as ExecRequest
    from demeanor.sandboxes.probes.cache import ProbeCache as ProbeCache
    from demeanor.sandboxes.probes.result import Probe as Probe
    from demeanor.sandboxes.probes.runner import matrix as matrix, probe as probe
    from demeanor.sandboxes.supervisor.archive import unpack_untrusted as unpack_untrusted

_MODULES = {
    "host.bwrap_args": "PORT can_read paths_to_bind",
    "host.certificates": "certificate_variables",
    "host.container_cli": "EngineName",
    "host.disk_space": "is_full require_space",
    "host.level": "SandboxLevel",
    "host.runtime": "SandboxRuntime in_thread",
    "levels.bubblewrap": "BubblewrapSandbox find_bwrap",
    "levels.container": "ContainerSandbox",
    "levels.landlock": "LandlockSandbox",
    "levels.none": "NoneSandbox",
    "persistent.client": "PersistentSandbox",
    "persistent.spec": "ExecRequest",
    "persistent.factory": "PersistentOptions PersistentSandboxes",
    "probes.cache": "ProbeCache",
    "probes.result": "Probe",
    "probes.runner": "matrix probe",
    "supervisor.archive": "unpack_untrusted",
}


def __getattr__(name: str) -> Any:
    from demeanor.core.lazy_names import lazy_names  # not in a container, whose init is a program of this package alone

    return lazy_names(__name__, _MODULES)(name)
