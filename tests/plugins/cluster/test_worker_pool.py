from __future__ import annotations

from typing import Any

from demeanor.plugins.cluster.cluster_run import ClusterRun
from demeanor.plugins.cluster.messages import RunSetup
from demeanor.plugins.cluster.spec import ClusterSpec
from demeanor.plugins.cluster.worker_link import WorkerLink
from demeanor.plugins.cluster.worker_pool import WorkerPool


def test_a_worker_on_which_attempts_break_three_times_in_a_row_is_left_out() -> None:
    """Its disk may be full; one that breaks now and then is used on."""
    setup = RunSetup(run="r", version="1", python="3.12", root="/", sandbox="none", seed=1)
    client: Any = None
    changes: list[tuple[int, int]] = []
    pool = WorkerPool(
        client,
        ClusterRun(setup=setup, spec=ClusterSpec(workers=2)),
        None,
        changed=lambda workers, slots: changes.append((workers, slots)),
        abort=lambda reason: None,
    )
    link = WorkerLink(client, "tls://w:1", name="w", slots=2)
    link.usable = True
    for problem in ("full", "full", "", "full", "full"):
        pool.count(link, problem)
    assert link.usable
    pool.count(link, "No space left on device")
    assert not link.usable
    assert pool.notes == [
        "the worker w (tls://w:1) is not used any more: 3 attempts in a row broke: No space left on device"
    ]
    assert changes == [(0, 0)]
