"""Start a server, by its path: `python __main__.py FILE [-- COMMAND…]`.

Standard input is the client, or the listening socket of a server over HTTP (http_launch.py).
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from demeanor.mcp.probe import first_message
from demeanor.mcp.record import CallRecorder, ServerFile, read_server_file


def main() -> int:
    """Serve the fixture of the file, or relay to the command."""
    file = read_server_file(sys.argv[1])
    record = CallRecorder(file)
    try:
        if file.port:
            return _serve_http(file, record)
        if file.fixture is None:
            from demeanor.mcp.relay import Relay

            return Relay(record).run(sys.argv[3:])
        first = first_message(0, 1)
        from demeanor.mcp.server import serve

        serve(file.fixture, record, first)
    except Exception as error:
        record.failed(f"{type(error).__name__}: {error}")
        raise
    return 0


def _serve_http(file: ServerFile, record: CallRecorder) -> int:
    listener = socket.socket(fileno=0)
    if file.fixture is None:
        from demeanor.mcp.http_relay import HttpRelay

        return HttpRelay(record, listener).run()
    from demeanor.mcp.server import serve_http

    serve_http(file.fixture, record, listener)
    return 0


if __name__ == "__main__":
    sys.exit(main())
