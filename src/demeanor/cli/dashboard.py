"""The dashboard beside a run, for `--serve`: a process of its own, which ends with the run."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def dashboard_beside(args: argparse.Namespace, results: Path) -> Iterator[None]:
    """Serve the dashboard for the duration of the block, if `--serve` is given; it prints its own address.

    It is in another session, so that Ctrl-C reaches only the run. It ends when its standard input is closed, which
    happens even if this process is killed.
    """
    if not args.serve:
        yield
        return
    command = [sys.executable, "-m", "demeanor", "serve", "--port", "0", "--with-stdin", "--results", str(results)]
    command += ["--config", str(args.config)] if args.config else []
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
    finally:
        if server.stdin is not None:
            server.stdin.close()
        server.wait()
