"""A cluster on this machine: `python -m demeanor.plugins.cluster.local_cluster` runs Dask's `LocalCluster`.

It is a program of its own, because a scheduler runs code for whoever connects to it. It prints the address of the
scheduler as one line of JSON, and ends with all workers when its standard input is closed: also when the process that
started it is killed. A worker that dies is started again.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from demeanor.core.values.errors import UsageError
from demeanor.plugins.cluster.certificates import SETTINGS, security, write_certificate
from demeanor.plugins.cluster.spec import ClusterSpec

_HOST = "127.0.0.1"
_STOP_SECONDS = 2.0


class LocalClusterProcess:
    """The program, started for one run or for several runs of one command."""

    def __init__(self, spec: ClusterSpec) -> None:
        self._spec = spec
        self._folder = Path(tempfile.mkdtemp(prefix="demeanor-cluster-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.certs = self._folder / "certs"
        """The folder with the certificate of this cluster."""

    def start(self) -> str:
        """Start it; returns the address of the scheduler. Raises UsageError."""
        from demeanor.plugins.cluster.client import RESOURCE

        write_certificate(self.certs)
        slots = self._spec.slots or 1
        options = {
            "n_workers": self._spec.workers,
            "threads_per_worker": slots,
            "resources": {RESOURCE: slots},
            "local_directory": str(self._folder),
        }
        words = [sys.executable, "-m", __spec__.name, str(self.certs), json.dumps(options)]
        log = self._folder / "log"
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,  # Ctrl-C is for the conductor
            )
        assert self._process.stdout is not None  # noqa: S101 - a pipe, see above
        try:
            return str(json.loads(self._process.stdout.readline())["address"])
        except ValueError:
            last = log.read_text("utf-8", "replace").strip().splitlines()[-5:]
            raise UsageError("the cluster on this machine does not start:\n  " + "\n  ".join(last)) from None

    def stop(self) -> None:
        """End it, and remove its files."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:  # it may be stopped
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def main() -> None:
    """Run until standard input is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(_serve(Path(sys.argv[1]), json.loads(sys.argv[2])))


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)  # workers notice, and the fork servers of their sandboxes notice that


async def _serve(certs: Path, options: dict[str, Any]) -> None:
    import dask
    from distributed import LocalCluster

    dask.config.set(SETTINGS)
    async with LocalCluster(
        asynchronous=True,
        security=security(certs),
        host=_HOST,
        dashboard_address=None,
        memory_limit=0,
        **options,
    ) as cluster:
        sys.stdout.write(json.dumps({"address": cluster.scheduler_address}) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
