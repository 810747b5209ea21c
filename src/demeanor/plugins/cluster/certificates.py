"""The certificate of a cluster: whoever has it and its key belongs to the cluster.

Scheduler, workers and conductor authenticate one another by it: a program without it can't connect. There is one for
all of them, because Dask lets each member of a cluster run code on the others, whatever their certificates say.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.installation import install_extra
from demeanor.core.values.errors import BadInput, UsageError

if TYPE_CHECKING:
    from distributed.security import Security

CERTIFICATE, KEY = "cluster.pem", "cluster.key"


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """Write the certificate of a new cluster, valid for a year, into a folder that has none; returns the files."""
    from distributed.security import Security

    for name in (CERTIFICATE, KEY):
        if (folder / name).exists():
            remedy = "name an empty folder; all machines of a cluster need the same certificate"
            raise BadInput(f"{name} exists already", where=folder, remedy=remedy)
    try:
        made = Security.temporary()
    except ImportError:
        raise UsageError(f"certificates need the extra `cluster`\n  → {install_extra('cluster')}") from None
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    certificate = _write(folder / CERTIFICATE, made.tls_client_cert, 0o644)
    return certificate, _write(folder / KEY, made.tls_client_key, 0o600)


def require_certificate(folder: Path) -> None:
    """Raise BadInput if a file is missing."""
    for name in (CERTIFICATE, KEY):
        if not (folder / name).is_file():
            raise BadInput(f"{name} is missing", where=folder, remedy="make a certificate: demeanor cluster certs DIR")


def security(folder: Path) -> Security:
    """Dask's settings for a scheduler and workers with the certificate in a folder."""
    from distributed.security import Security

    certificate, key = str(folder / CERTIFICATE), str(folder / KEY)
    roles = {f"tls_{role}_cert": certificate for role in ("scheduler", "worker", "client")}
    keys = {f"tls_{role}_key": key for role in ("scheduler", "worker", "client")}
    return Security(require_encryption=True, tls_ca_file=certificate, **roles, **keys)


def _write(path: Path, content: str, mode: int) -> Path:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "w") as file:
        file.write(content)
    return path
