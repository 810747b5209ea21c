"""Who may ask, and what a browser may do with the answer; over HTTP."""

from __future__ import annotations

import http.client
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from demeanor.web.security import host_allowed, is_loopback
from tests.helpers.dashboard_server import served
from tests.helpers.dashboard_store import DashboardStore

ANY = "0.0.0.0"  # noqa: S104 - the point of these tests


def an_empty_store(root: Path) -> DashboardStore:
    (root / "demeanor.toml").write_text("")
    return DashboardStore(root=root, nights=())


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("127.0.0.1:8765", True), ("localhost:8765", True), ("LOCALHOST", True), ("[::1]:80", True),
        ("10.1.2.3:1", True), ("box.example:80", True), ("evil.example:8765", False), ("evil.example", False),
        ("", False), (None, False),
        ("localhost.evil.example:80", False), ("127.0.0.1.evil.example", False), ("localhost@evil.example", False),
    ],
)  # fmt: skip
def test_a_host_header_must_name_this_machine(header: str | None, allowed: bool):
    """Another name may be that of a malicious page that points to this machine."""
    assert host_allowed(header, ("box.example",)) is allowed


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True), (ANY, False), ("box", False)]
)
def test_which_addresses_only_this_machine_reaches(host: str, loopback: bool):
    """All others need a token."""
    assert is_loopback(host) is loopback


def test_every_answer_has_the_headers_and_a_foreign_host_gets_nothing(tmp_path: Path):
    """Pages, static files, errors and refusals."""
    with served(an_empty_store(tmp_path)) as dashboard:
        for path in ("/", "/static/style.css", "/static/app.js", "/static/icon.svg", "/nope"):
            headers = dashboard.get(path).headers
            assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert "access-control-allow-origin" not in headers
        refused = dashboard.get("/", Host="evil.example")
        assert refused.status == 421
        assert "No runs yet" not in refused.text
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert _status(dashboard.address, method, "/") == 405


def test_beyond_this_machine_a_token_is_needed(tmp_path: Path):
    """The printed link sets a cookie; without link and cookie there is nothing to see."""
    with served(an_empty_store(tmp_path), "--host", ANY) as dashboard:
        address, _, token = dashboard.address.partition("/?token=")
        assert urlsplit(address).hostname == socket.gethostname().lower(), "a link that works on other machines"
        dashboard.address = f"http://127.0.0.1:{urlsplit(address).port}"
        assert len(token) > 20
        for path in ("/", "/static/style.css", "/?token=wrong", "/events"):
            assert dashboard.get(path).status == 401, path
        welcome = dashboard.get(f"/?token={token}")
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert token not in cookie
        assert dashboard.get("/", Cookie=cookie.partition(";")[0]).status == 200
        again = dashboard.get(f"/?token={token}", Cookie=cookie.partition(";")[0])
        assert "Open the dashboard" in again.text, "the token leaves the address bar also where the cookie is known"
        assert dashboard.get("/", Cookie="demeanor=wrong").status == 401


def _status(address: str, method: str, path: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request(method, path)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_server_stops_also_where_the_shell_ignores_interrupts(tmp_path: Path):
    """As in a background job of a script; `served` sends SIGINT and waits for a clean end."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited by the server
    try:
        with served(an_empty_store(tmp_path)) as dashboard:
            assert dashboard.get("/").status == 200
    finally:
        signal.signal(signal.SIGINT, before)
