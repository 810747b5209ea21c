"""The executor `cluster`: what the entry point names. Dask is imported only if a cluster is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from demeanor.config import Table
from demeanor.core.installation import install_extra
from demeanor.core.values.executor_spec import BuildPlace, ExecutorSpec
from demeanor.plugins.cluster.spec import SILENCE, ClusterSpec
from demeanor.runner import EngineStatus

if TYPE_CHECKING:
    from demeanor.core.values.ports import Executor
    from demeanor.runner import ExecutorRun

PLACES = "a number of workers to start here, such as 4, the tls://HOST:PORT of a scheduler"


def read_config(table: Table) -> ClusterSpec:
    """The settings in `[executor.cluster]`."""
    certs = table.text("certs")
    return ClusterSpec(
        slots=table.whole("slots", least=1, most=1000),
        certs=str(Path(table.where).parent / certs) if certs else "",
        silence=table.number("silence", least=1) or SILENCE,
        allow_different=table.flag("allow_different"),
        build=cast("BuildPlace", table.choice("build", get_args(BuildPlace), "conductor")),
    )


def at(place: str, settings: ExecutorSpec | None) -> ClusterSpec | None:
    """The cluster at a place; None if it is not one of a cluster."""
    spec = settings if isinstance(settings, ClusterSpec) else ClusterSpec()
    return spec.at(place)


def make(spec: ExecutorSpec, run: ExecutorRun) -> Executor:
    """The executor of a run; raises UsageError if something is missing."""
    from demeanor.plugins.cluster.client import require_certificates, require_distributed

    require_distributed()
    assert isinstance(spec, ClusterSpec)  # noqa: S101 - see `at`
    if not spec.is_here:
        require_certificates(spec.scheduler, spec.certs)
    from demeanor.plugins.cluster.dask_executor import dask_executor

    return dask_executor(spec, run)


@contextmanager
def shared(spec: ExecutorSpec) -> Iterator[ExecutorSpec]:
    """The same cluster for several runs: one that is to be started here is started once."""
    from demeanor.plugins.cluster.client import require_distributed
    from demeanor.plugins.cluster.local_cluster import LocalClusterProcess

    assert isinstance(spec, ClusterSpec)  # noqa: S101 - see `at`
    if spec.scheduler:
        yield spec
        return
    require_distributed()
    cluster = LocalClusterProcess(spec)
    try:
        yield replace(spec, scheduler=cluster.start(), certs=str(cluster.certs), started_here=True)
    finally:
        cluster.stop()


def status(*, used: bool) -> EngineStatus:
    """Whether the extra `cluster` is installed, which is needed only if a cluster is used."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        versions = {name: version(name) for name in ("distributed", "cryptography")}
    except PackageNotFoundError as error:
        detail = f"{'[executor] selects a cluster' if used else 'optional'}; {error.name} is not installed"
        return EngineStatus(state="broken" if used else "ok", detail=detail, remedy=install_extra("cluster"))
    detail = ", ".join(f"{name} {number}" for name, number in versions.items())
    return EngineStatus(state="ok", detail=detail, remedy="check its workers: demeanor cluster check" if used else "")
