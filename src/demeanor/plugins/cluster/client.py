"""Connects to the scheduler of a cluster: over TLS with certificates on both sides, or not at all."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.core.installation import install_extra
from demeanor.core.text.wording import printable
from demeanor.core.values.errors import UsageError
from demeanor.plugins.cluster.certificates import CERTIFICATE, KEY, require_certificate
from demeanor.plugins.cluster.connection import ClusterConnection

RESOURCE = "demeanor"
"""The Dask resource of which a worker has as many as it makes attempts in parallel."""

_RETRIES_ON = """\
the scheduler at {address} lets other workers repeat the tasks of a worker that died, without a trace \
(allowed-failures = {found})
  → start it with DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=0 in its environment"""


def require_distributed() -> None:
    """Raise UsageError if the extra is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise UsageError(f"a cluster needs the extra `cluster`\n  → {install_extra('cluster')}")


async def connect(address: str, certs: Path) -> ClusterConnection:
    """A connection to a scheduler that answers; raises UsageError."""
    require_certificate(certs)
    try:
        connection = ClusterConnection(address, certificate=certs / CERTIFICATE, key=certs / KEY)
        await listed_workers(connection)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(
            f"the scheduler at {address} can't be reached: {error}\n"
            "  → check the address, that it uses TLS, and that its certificate is the same: "
            "demeanor cluster check"
        ) from None
    return connection


async def require_no_retries(connection: ClusterConnection, address: str) -> None:
    """Raise UsageError if the scheduler would repeat tasks in silence."""
    import dask

    setting = await connection.run_on_scheduler(dask.config.get, "distributed.scheduler.allowed-failures")
    if setting != 0:
        raise UsageError(_RETRIES_ON.format(address=address, found=printable(str(setting))))


async def listed_workers(connection: ClusterConnection) -> Mapping[str, Mapping[str, Any]]:
    """The workers that the scheduler knows, by address; raises OSError."""
    identity = await connection.ask(op="identity", n_workers=-1)
    try:
        return {
            printable(address): {
                "name": printable(str(worker.get("name", address))),
                "resources": {str(name): int(number) for name, number in worker["resources"].items()},
                "nthreads": max(0, int(worker["nthreads"])),
            }
            for address, worker in identity["workers"].items()
        }
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise ConnectionError(f"its list of workers can't be read: {error}") from None


def slots_of(worker: Mapping[str, Any], most: int | None) -> int:
    """How many attempts a worker makes in parallel: as many as it declares, or has threads, but no more than `most`."""
    slots = _slots(worker["resources"], int(worker["nthreads"]))
    return min(slots, most or slots)


def declared_slots(state: Any) -> int:
    """The same, as the worker itself knows it; `state` is that of Dask's worker."""
    return _slots(state.total_resources, state.nthreads)


def _slots(resources: Mapping[str, float], threads: int) -> int:
    declared = int(resources.get(RESOURCE, 0))
    return min(declared, threads) if declared else threads


def require_certificates(address: str, certs: str) -> None:
    """Raise UsageError if no certificates are named for an existing cluster."""
    if not certs:
        raise UsageError(
            f"the scheduler at {address} needs certificates\n"
            "  → name their folder as `certs` of [executor.cluster] in demeanor.toml; see demeanor cluster certs"
        )
