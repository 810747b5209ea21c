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
    from demeanor.sandboxes.supervisor.archive import unpack_untrusted as unpack_untrusted

_MODULES = {
    "host.bwrap_args": "PORT can_read paths_to_bind",
    "host.certificates": "certificate_variables",
    "host.container_cli": "EngineName",
    "host.disk_space": "is_full require_space",
    "host.level": "SandboxLevel",
    "host.runtime": "SandboxRuntime in_thread",
    "supervisor.archive": "unpack_untrusted",
}


def __getattr__(name: str) -> Any:
    from demeanor.core.lazy_names import lazy_names  # not in a container, whose init is a program of this package alone

    return lazy_names(__name__, _MODULES)(name)
