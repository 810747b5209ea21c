"""The record of a server: what it was asked and answered, one JSON object per line, and the faults to inject."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor.core.text.codec import decode, encode
from demeanor.core.values.fault import Fault
from demeanor.core.values.mcp_fixture import LISTED, Fixture, McpCall, read_record


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerFile:
    """What a server is told when it is started; a file in HOME."""

    name: str
    """The server's name."""

    log: str
    """The file of its record."""

    seed: int
    """The trial's seed, for faults with a probability."""

    faults: tuple[Fault, ...] = ()
    """The faults of its tools."""

    fixture: Fixture | None = None
    """Its tools; None if a real program is the server."""

    command: tuple[str, ...] = ()
    """The real program of a server over HTTP, with {port}."""

    port: int = 0
    """The port of 127.0.0.1 that the agent connects to; 0 for a server over standard input and output."""

    program_port: int = 0
    """The port of the real program, which fills {port}."""


def read_server_file(path: str) -> ServerFile:
    """Read the file that Demeanor wrote."""
    return decode(ServerFile, json.loads(Path(path).read_text("utf-8")))


@dataclass(slots=True)
class CallRecorder:
    """Writes the record, and counts calls for faults."""

    file: ServerFile
    """What the server was told."""

    earlier: list[McpCall] = field(default_factory=list)
    """The calls so far, also of earlier processes: some agents start their servers for every prompt."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    """Two threads write the record of a relay."""

    def __post_init__(self) -> None:
        """Read the calls of earlier processes."""
        log = Path(self.file.log)
        self.earlier = list(read_record(log.read_text("utf-8"))) if log.exists() else []

    def listed(self) -> None:
        """A client asked for the tools."""
        self._write({LISTED: True})

    def failed(self, why: str) -> None:
        """The server can't work."""
        self._write({"failed": why})

    def called(self, tool: str, arguments: dict[str, Any], **more: Any) -> None:
        """A tool was called and answered."""
        call = McpCall(server=self.file.name, tool=tool, arguments=arguments, **more)
        with self.lock:
            self.earlier.append(call)
        self._write(encode(call))

    def fault(self, tool: str) -> Fault | None:
        """The fault of the next call of a tool, if any."""
        name = f"{self.file.name}.{tool}"
        number = 1 + sum(1 for call in self.earlier if call.tool == tool)
        rules = (fault for fault in self.file.faults if fault.tool == name)
        return next((fault for fault in rules if fault.hits(number, self.file.seed)), None)

    def _write(self, line: Any) -> None:
        content = json.dumps(line).encode() + b"\n"
        with self.lock:
            handle = os.open(self.file.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(handle, content)
            finally:
                os.close(handle)
