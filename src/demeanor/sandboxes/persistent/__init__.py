"""A persistent sandbox: a container-like sandbox in which programs run for as long as a whole task lasts.

factory.py creates sandboxes from a spec (spec.py). client.py is one of them: it sends requests to its supervisor, and
each request is answered over its own socket. On the other side, in small programs of their own, are
supervisor/persistent.py, which sets up the root file system (rootfs.py, idmap.py), and supervisor/exec.py, which
handles one request inside, with tar streams of files (archive.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.sandboxes.persistent.client import PersistentSandbox as PersistentSandbox
    from demeanor.sandboxes.persistent.factory import (
        PersistentOptions as PersistentOptions,
        PersistentSandboxes as PersistentSandboxes,
    )
    from demeanor.sandboxes.persistent.spec import ExecRequest as ExecRequest

__getattr__ = lazy_names(
    __name__,
    {
        "client": "PersistentSandbox",
        "factory": "PersistentOptions PersistentSandboxes",
        "spec": "ExecRequest",
    },
)
