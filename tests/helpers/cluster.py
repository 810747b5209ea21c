"""A real cluster on this machine, started as a team starts one: with `dask scheduler` and `dask worker`.

Most of its processes are forked from one that has imported Dask and the product, which takes a second of CPU time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from demeanor.plugins.cluster.certificates import CERTIFICATE, KEY, write_certificate
from tests.helpers import preloaded
from tests.helpers.network import PrivateNetwork
from tests.helpers.processes import command_line, with_environ
from tests.helpers.project import share_probes

PATIENCE = 300.0
"""Seconds after which a test gives up waiting; it only guards against hanging."""


_IDLE = {
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
"""Let processes that wait use next to no CPU time: a dozen of them run beside the tests."""


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited too long: {what}"
        time.sleep(0.05)


def processes_with(text: str) -> dict[int, str]:
    """The processes whose environment contains a text, with their command lines."""
    return {pid: command_line(pid).replace("\0", " ") for pid in with_environ(text)}


class Cluster:
    """A scheduler and workers; each of them logs to a file."""

    def __init__(self, folder: Path, network: PrivateNetwork | None = None) -> None:
        """With a network, the scheduler is in its middle, and a worker in the namespace with its name, if any."""
        self.network = network
        self.folder = folder
        self.certs = folder / "certs"
        self.address = ""
        self.running: dict[str, subprocess.Popen[bytes] | preloaded.Started] = {}
        write_certificate(self.certs)
        share_probes(folder, folder.parent)

    def start_scheduler(self, *, failures: int = 0, preload: str = "", **env: str) -> None:
        """Start the scheduler and wait until it listens; `preload` is Python code that it runs first."""
        file = self.folder / "scheduler.json"
        self._start(
            "scheduler",
            ["distributed.cli.dask_scheduler", "--host", self._host(""), "--port", "0", "--no-dashboard",
             "--protocol", "tls", "--scheduler-file", str(file), *self._tls()],
            {
                "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(failures),
                "DASK_DISTRIBUTED__SCHEDULER__REUSE_BROADCAST_COMM": "True",
                **env,
            },
            preload,
        )  # fmt: skip
        wait_for(lambda: file.is_file() and file.read_text().strip().endswith("}"), "the scheduler")
        self.address = json.loads(file.read_text())["address"]

    def start_worker(
        self, name: str, *, preload: str = "", nanny: bool = False, before: Sequence[str] = (), **env: str
    ) -> None:
        """Start a worker, see `wait_for_workers`; `preload` is Python code that it runs first, `before` a command that
        starts it."""
        home = self.folder / name
        home.mkdir()
        self._start(
            name,
            ["distributed.cli.dask_worker", self.address, "--name", name, "--nthreads", "1", "--resources",
             "demeanor=1", "--nanny" if nanny else "--no-nanny", "--no-dashboard", "--local-directory", str(home),
             "--host", self._host(name), *self._tls()],
            env,
            preload,
            before=before,
            fresh=nanny or bool(before),
        )  # fmt: skip

    def wait_for_workers(self) -> None:
        """Wait until all workers that were started are connected; they start at the same time."""
        for name in self.running:
            if name != "scheduler":
                wait_for(lambda name=name: "Registered to:" in self.log(name), f"{name}: {self.log(name)}")

    def pid(self, name: str) -> int:
        """The process that was started: the worker, or its nanny."""
        return self.running[name].pid

    def log(self, name: str) -> str:
        """What a process has printed."""
        return (self.folder / f"{name}.log").read_text("utf-8", "replace")

    def stop(self) -> None:
        """Kill everything."""
        for process in self.running.values():
            with suppress(ProcessLookupError):  # a test may have killed it
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _place(self, name: str) -> str:
        """The namespace of a process: its own, or the middle."""
        return name if self.network and name in self.network.names else ""

    def _host(self, name: str) -> str:
        return self.network.address(self._place(name)) if self.network else "127.0.0.1"

    def _tls(self) -> list[str]:
        certificate, key = str(self.certs / CERTIFICATE), str(self.certs / KEY)
        return ["--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key]

    def _start(
        self,
        name: str,
        words: list[str],
        env: dict[str, str],
        preload: str,
        *,
        before: Sequence[str] = (),
        fresh: bool = False,
    ) -> None:
        (self.folder / "tmp").mkdir(exist_ok=True)
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "TMPDIR": str(self.folder / "tmp"), **_IDLE}
        with (self.folder / f"{name}.log").open("wb") as log:
            if not fresh:
                self.running[name] = preloaded.start(
                    *(words[0], words[1:]), cwd=self.folder, env={**base, **env}, out=log.fileno(), err=log.fileno(),
                    server="cluster", preload=preload, session=True,
                    namespaces=self.network.pid(self._place(name)) if self.network else None,
                )  # fmt: skip
                return
            inside = self.network.enter(self._place(name)) if self.network else []
            code = self.folder / f"{name}-code"
            code.mkdir()
            (code / "sitecustomize.py").write_text(preload)
            self.running[name] = subprocess.Popen(
                [*inside, *before, sys.executable, "-m", *words], env={**base, "PYTHONPATH": str(code), **env},
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
