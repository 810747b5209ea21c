"""A server with the part of S3 that the capture store uses: put, head, list and get."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

_LIST = '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{}</ListBucketResult>'


@contextmanager
def s3_server() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Start a server; yields its URL and its objects by `bucket/key`."""
    objects: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """No output."""

        def do_PUT(self) -> None:
            objects[self._key()] = self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(200)

        def do_HEAD(self) -> None:
            self._answer(200 if self._key() in objects else 404, objects.get(self._key(), b""))

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            if "list-type" in query:
                start = f"{self._key().rstrip('/')}/{query.get('prefix', [''])[0]}"
                keys = [key.partition("/")[2] for key in sorted(objects) if key.startswith(start)]
                found = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in keys)
                self._answer(200, _LIST.format(found).encode())
            else:
                self._answer(200 if self._key() in objects else 404, objects.get(self._key(), b""))

        def _key(self) -> str:
            return unquote(urlsplit(self.path).path).lstrip("/")

        def _answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", '"0"')
            self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", objects
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
