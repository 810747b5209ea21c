"""The workers of a cluster as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from demeanor.core.text.wording import count
from demeanor.render import Screen, paint, table, text_column

if TYPE_CHECKING:
    from demeanor.plugins.cluster.check import CheckedWorker


def workers_text(workers: Sequence[CheckedWorker], screen: Screen) -> str:
    """A table of the workers, and why some of them are not used."""
    columns = [
        text_column("worker", [worker.name for worker in workers], screen),
        text_column("used", ["yes" if not worker.problem else "no" for worker in workers], screen),
        text_column("slots", [str(worker.slots) for worker in workers], screen),
        text_column("host", [worker.report.host for worker in workers], screen, rank=4),
        text_column("demeanor", [worker.report.version for worker in workers], screen, rank=2),
        text_column("python", [worker.report.python for worker in workers], screen, rank=3),
        text_column("cores", [str(worker.report.cores or "") for worker in workers], screen, rank=5),
        text_column("sandbox", [worker.report.sandbox or "-" for worker in workers], screen, rank=1),
        text_column("agents", [_agents(worker) for worker in workers], screen, rank=1),
        text_column("keys", [_keys(worker) for worker in workers], screen, rank=1),
        text_column("clock", [f"{worker.clock_skew:+.0f} s" for worker in workers], screen, rank=2),
    ]
    lines = table(columns, screen)
    reasons = [
        Text(screen.safe(f"{worker.name} is not used: {worker.problem}")) for worker in workers if worker.problem
    ]
    reasons += [
        Text(screen.safe(f"{worker.name}: {name} does not start in its sandbox: {why}"))
        for worker in workers
        for name, why in worker.broken.items()
    ]
    used = [worker for worker in workers if not worker.problem]
    slots = sum(worker.slots for worker in used)
    total = Text(f"{len(used)} of {count(len(workers), 'worker')} can be used, {count(slots, 'slot')}", "bold")
    return paint([*lines, *reasons, total], screen)


def workers_json(workers: Sequence[CheckedWorker]) -> str:
    """The workers as JSON."""
    rows = [
        {
            "name": worker.name,
            "address": worker.address,
            "used": not worker.problem,
            "problem": worker.problem,
            "slots": worker.slots,
            "host": worker.report.host,
            "demeanor": worker.report.version,
            "python": worker.report.python,
            "cores": worker.report.cores,
            "sandbox": worker.report.sandbox,
            "agents": dict(worker.report.agents),
            "missing": dict(worker.report.missing),
            "broken": dict(worker.broken),
            "keys": dict(worker.report.keys),
            "clock_skew_seconds": round(worker.clock_skew, 3),
        }
        for worker in workers
    ]
    return json.dumps(rows, indent=2) + "\n"


def _agents(worker: CheckedWorker) -> str:
    versions = [
        f"{name} broken" if name in worker.broken else f"{name} {version}".strip()
        for name, version in worker.report.agents.items()
    ]
    return ", ".join([*versions, *(f"{name} missing" for name in worker.report.missing)]) or "-"


def _keys(worker: CheckedWorker) -> str:
    return ", ".join(f"{name} {'yes' if there else 'no'}" for name, there in worker.report.keys.items()) or "-"
