"""The certificate of a cluster: whoever has it and its key belongs to the cluster.

Scheduler, workers and conductor authenticate one another by it: a program without it can't connect. There is one for
all of them, because Dask lets each member of a cluster run code on the others, whatever their certificates say.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demeanor.core.installation import install_extra
from demeanor.core.values.errors import BadInput, UsageError

if TYPE_CHECKING:
    from distributed.security import Security

CERTIFICATE, KEY, SETTINGS_FILE = "cluster.pem", "cluster.key", "dask.json"

SETTINGS: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-ttl": "120s",
    "distributed.scheduler.reuse-broadcast-comm": True,
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.work-stealing": False,
    "distributed.nanny.pre-spawn-environ": {},
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
}
"""Dask's settings of every cluster: nothing is retried behind our back, nothing is served over HTTP, the environment of
workers is ours, and processes that wait use next to no CPU time."""


def write_certificate(folder: Path) -> tuple[Path, Path, Path]:
    """Write the certificate of a new cluster, valid for a year, into a folder that has none, and Dask's settings: with
    `DASK_CONFIG` set to the folder, `dask scheduler` and `dask worker` have both. Returns the files."""
    from distributed.security import Security

    for name in (CERTIFICATE, KEY, SETTINGS_FILE):
        if (folder / name).exists():
            remedy = "name an empty folder; all machines of a cluster need the same certificate"
            raise BadInput(f"{name} exists already", where=folder, remedy=remedy)
    try:
        made = Security.temporary()
    except ImportError:
        raise UsageError(f"certificates need the extra `cluster`\n  → {install_extra('cluster')}") from None
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    certificate = _write(folder / CERTIFICATE, made.tls_client_cert, 0o644)
    key = _write(folder / KEY, made.tls_client_key, 0o600)
    return certificate, key, _write(folder / SETTINGS_FILE, json.dumps(_dask_settings(folder), indent=2) + "\n", 0o644)


def _dask_settings(folder: Path) -> dict[str, Any]:
    """The settings of a cluster whose machines have its certificate in this folder."""
    pair = {"cert": str(folder / CERTIFICATE), "key": str(folder / KEY)}
    tls = {"ca-file": str(folder / CERTIFICATE), **dict.fromkeys(("scheduler", "worker", "client"), pair)}
    comm = {"default-scheme": "tls", "require-encryption": True, "tls": tls}
    settings: dict[str, Any] = {"distributed": {"comm": comm}}
    for name, value in SETTINGS.items():
        if value == {}:
            continue  # Dask adds the entries of a table in a file to its own
        *tables, last = name.split(".")
        table = settings
        for part in tables:
            table = table.setdefault(part, {})
        table[last] = value
    return settings


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
