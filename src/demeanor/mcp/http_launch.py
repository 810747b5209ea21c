"""Starts an agent with its MCP servers over HTTP: `python http_launch.py FILE… -- AGENT…`.

The servers run for as long as the agent, in the same sandbox. Their sockets listen before the agent is started, so that
its first request waits in the socket until the server has loaded. The agent keeps standard input, output and error, and
how it ends is how this program ends. Only the standard library is imported: the agent waits for this program.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

_SERVER = str(Path(__file__).with_name("__main__.py"))
_SECONDS_TO_END = 5
_NOT_FOUND = 127

Server = subprocess.Popen[bytes]


def main(files: list[str], agent: list[str]) -> int:
    """Start the servers and the agent, and return the agent's exit code."""
    servers: list[Server] = []
    signal.signal(signal.SIGTERM, _wait_for_the_agent)
    try:
        for file in files:
            server = _started(file)
            if server is None:
                return 1
            servers.append(server)
        code = _run(agent)
    finally:
        _end(servers)
    if code < 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _run(agent: list[str]) -> int:
    try:
        return subprocess.Popen(agent).wait()
    except OSError as error:
        sys.stderr.write(f"{agent[0]} can't be started: {error.strerror}\n")
        return _NOT_FOUND


def _wait_for_the_agent(number: int, frame: FrameType | None) -> None:
    """Do nothing: the sandbox sends SIGTERM to every process, and the agent may take its time."""


def _started(path: str) -> Server | None:
    """A server whose socket listens already; None, with the reason in its record, if its port is taken."""
    file: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    try:
        listener = socket.create_server(("127.0.0.1", file["port"]), backlog=128)
    except OSError as error:
        why = f"it can't listen at port {file['port']} of 127.0.0.1: {error.strerror}"
        Path(file["log"]).write_text(json.dumps({"failed": why}) + "\n", "utf-8")
        sys.stderr.write(f"the MCP server {file['name']} was not started: {why}\n")
        return None
    quiet = subprocess.DEVNULL
    with listener:
        command = [sys.executable, "-P", "-s", _SERVER, path]
        return subprocess.Popen(command, stdin=listener.fileno(), stdout=quiet, stderr=quiet, start_new_session=True)


def _end(servers: list[Server]) -> None:
    """End each server with all its processes: it may finish its record first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for server in servers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, number)
        for server in servers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(_SECONDS_TO_END)


if __name__ == "__main__":
    split = sys.argv.index("--")
    sys.exit(main(sys.argv[1:split], sys.argv[split + 1 :]))
