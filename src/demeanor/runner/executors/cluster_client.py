"""Connects to the scheduler of a cluster: over TLS with certificates on both sides, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demeanor.core.installation import install_extra
from demeanor.core.values.errors import UsageError
from demeanor.runner.executors.certificates import CertificateFolder

if TYPE_CHECKING:
    from distributed import Client

RESOURCE = "demeanor"
"""The Dask resource of which a worker has as many as it makes attempts in parallel."""

_CONNECT_SECONDS = 30
_RETRIES_ON = """\
the scheduler at {address} lets other workers repeat the tasks of a worker that died, without a trace \
(allowed-failures = {found})
  → start it with DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=0 in its environment"""


def require_distributed() -> None:
    """Raise UsageError if the extra is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise UsageError(f"a cluster needs the extra `cluster`\n  → {install_extra('cluster')}") from None


async def connect(address: str, certs: Path) -> Client:
    """A connected client; raises UsageError."""
    import dask
    from distributed import Client
    from distributed.security import Security

    folder = CertificateFolder(folder=certs)
    folder.require("client")
    security = Security(**folder.security("client"))
    with dask.config.set({"distributed.comm.timeouts.connect": f"{_CONNECT_SECONDS}s"}):
        client: Any = Client(
            address, security=security, asynchronous=True, set_as_default=False, timeout=_CONNECT_SECONDS
        )
        try:
            await client
        except (OSError, TimeoutError, ValueError) as error:
            await client.close(timeout=1)
            raise UsageError(
                f"the scheduler at {address} can't be reached: {error}\n"
                "  → check the address, that it uses TLS, and that its certificates are of the same authority: "
                "demeanor cluster check"
            ) from None
    return client


async def require_no_retries(client: Client, address: str) -> None:
    """Raise UsageError if the scheduler would repeat tasks in silence."""
    import dask

    found = await client.run_on_scheduler(dask.config.get, "distributed.scheduler.allowed-failures")
    if found != 0:
        raise UsageError(_RETRIES_ON.format(address=address, found=found))


async def listed_workers(client: Client) -> Mapping[str, Mapping[str, Any]]:
    """The workers that the scheduler knows, by address."""
    identity: Mapping[str, Any] = await client.scheduler.identity(n_workers=-1)
    found: Mapping[str, Mapping[str, Any]] = identity["workers"]
    return found


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
            "  → name their folder as `certs` of [executor] in demeanor.toml; demeanor cluster certs DIR makes them"
        )
