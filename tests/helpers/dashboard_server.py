"""`demeanor serve` as a user starts it, and pages as a parser sees them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from tests.helpers.dashboard_store import DashboardStore, make_dashboard_store

_VOID = {"meta", "link", "input", "wbr", "br"}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a server answered."""

    status: int
    """The HTTP status."""

    text: str
    """The body."""

    headers: Mapping[str, str]
    """The headers, with names in lower case."""


class ParsedPage(HTMLParser):
    """The elements of a page; a wrong nesting is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """The text of the page on one line."""
        return " ".join(" ".join(self.words).split())

    def links(self) -> list[str]:
        """The addresses of all links."""
        return [attributes.get("href") or "" for tag, attributes in self.elements if tag == "a"]


class Dashboard:
    """A running server."""

    def __init__(self, address: str, store: DashboardStore, process: int = 0) -> None:
        self.address = address.rstrip("/")
        self.store = store
        self.process = process

    def get(self, path: str, **headers: str) -> Answer:
        """Ask for a page."""
        request = urllib.request.Request(f"{self.address}{path}", headers=headers)  # noqa: S310 - our own server
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as found:
                return _answer(found.status, found)
        except urllib.error.HTTPError as error:
            return _answer(error.code, error)

    def page(self, path: str) -> ParsedPage:
        """A page that must exist."""
        found = self.get(path)
        assert found.status == 200, (path, found.status, found.text[:2000])
        return ParsedPage(found.text)

    def page_of_404(self, path: str) -> str:
        """The text of a page that says that something does not exist."""
        found = self.get(path)
        assert found.status == 404
        return ParsedPage(found.text).text


def _answer(status: int, found: object) -> Answer:
    body = found.read().decode("utf-8")  # type: ignore[attr-defined]
    headers = {name.lower(): value for name, value in found.headers.items()}  # type: ignore[attr-defined]
    return Answer(status=status, text=body, headers=headers)


@contextmanager
def served(store: DashboardStore, *words: str, **env: str) -> Iterator[Dashboard]:
    """`demeanor serve` on a free port, for the duration of the block."""
    command = [sys.executable, "-m", "demeanor", "serve", "--port", "0", *words]
    environ = {"PATH": os.environ["PATH"], "HOME": str(store.root), **env}
    process = subprocess.Popen(command, cwd=store.root, env=environ, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        yield Dashboard(found[0], store, process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=120)
        assert "Traceback" not in rest, rest
    assert process.returncode == 0, rest


def shared_store(base: Path) -> DashboardStore:
    """The generated store, made once for all processes of a test run that share the folder `base`."""
    import fcntl

    with (base / "dashboard.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        root = base / "dashboard"
        if not (root / "ready").exists():
            made = make_dashboard_store(root)
            (root / "ready").write_text("\n".join(made.nights))
        return DashboardStore(root=root, nights=tuple((root / "ready").read_text().split()))
