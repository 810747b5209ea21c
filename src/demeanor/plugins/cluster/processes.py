"""A cluster on this machine, started for one run: a scheduler and workers, each in a process of its own.

They end with this process, however it ends. A worker that dies is started again, a few times.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

from demeanor.core.text.codec import encode
from demeanor.core.values.errors import UsageError
from demeanor.plugins.cluster.certificates import write_certificates
from demeanor.plugins.cluster.process import ProcessOptions

_START_SECONDS = 120.0
_MAX_RESTARTS = 5


class ClusterProcesses:
    """The scheduler and the workers of a cluster on this machine."""

    def __init__(self, *, workers: int, slots: int) -> None:
        self.workers = workers
        self._slots = slots
        self._folder = Path()
        self._running: list[asyncio.subprocess.Process] = []
        self._watches: list[asyncio.Task[None]] = []

    @property
    def certs(self) -> Path:
        """The folder with the certificates of this cluster."""
        return self._folder / "certs"

    async def start(self) -> str:
        """Start all processes; returns the address of the scheduler."""
        self._folder = Path(tempfile.mkdtemp(prefix="demeanor-cluster-"))
        write_certificates(self.certs, days=30)
        _, address = await self._spawn(ProcessOptions(role="scheduler", certs=str(self.certs)), "scheduler")
        workers = await asyncio.gather(*(self._worker(address, index) for index in range(self.workers)))
        self._watches = [
            asyncio.create_task(self._restart(address, index, process)) for index, process in enumerate(workers)
        ]
        return address

    async def stop(self) -> None:
        """End all processes, and remove their files."""
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        for process in self._running:
            if process.stdin is not None:
                process.stdin.close()
        for process in self._running:
            try:
                async with asyncio.timeout(2):
                    await process.wait()
            except TimeoutError:  # it may be stopped
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        self._running.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _worker(self, scheduler: str, index: int) -> asyncio.subprocess.Process:
        name = f"worker-{index + 1}"
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        options = ProcessOptions(
            role="worker",
            certs=str(self.certs),
            scheduler=scheduler,
            name=name,
            slots=self._slots,
            folder=str(folder),
        )
        process, _ = await self._spawn(options, name)
        return process

    async def _spawn(self, options: ProcessOptions, name: str) -> tuple[asyncio.subprocess.Process, str]:
        """Start a process and wait until it says its address."""
        log = self._folder / f"{name}.log"
        with log.open("ab") as stderr:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "demeanor.plugins.cluster.process",
                json.dumps(encode(options)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,  # Ctrl-C is for the conductor
            )
        self._running.append(process)
        assert process.stdout is not None  # noqa: S101 - a pipe, see above
        try:
            async with asyncio.timeout(_START_SECONDS):
                line = await process.stdout.readline()
            return process, str(json.loads(line)["address"])
        except (TimeoutError, ValueError, KeyError, TypeError):
            said = log.read_text("utf-8", "replace").strip().splitlines()[-5:]
            raise UsageError(f"the {name} of the cluster does not start:\n  " + "\n  ".join(said)) from None

    async def _restart(self, scheduler: str, index: int, process: asyncio.subprocess.Process) -> None:
        """Start a worker again when it dies."""
        for _ in range(_MAX_RESTARTS):
            await process.wait()
            self._running.remove(process)
            await asyncio.sleep(0.2)
            with contextlib.suppress(UsageError, OSError):
                process = await self._worker(scheduler, index)
