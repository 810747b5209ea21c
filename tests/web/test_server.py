"""The server itself, with a site that is slow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping

import pytest
from aiohttp.test_utils import TestClient, TestServer

from demeanor.core.values.errors import DemeanorError, StoreError, StoreUnavailable
from demeanor.web.server import ServerOptions, make_app


class SlowSite:
    """A site whose pages wait until they are released."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def page(self, name: str, parts: Mapping[str, str], query: Mapping[str, str]) -> str:
        """A page that takes as long as a query of the database."""
        self.asked.set()
        return f"released: {self.released.wait(60)}"

    def changes(self) -> str:
        """Nothing changes."""
        return "same"

    def add_note(self, fields: Mapping[str, str]) -> str:
        """Nothing is written."""
        raise NotImplementedError


def test_a_slow_page_does_not_stall_other_readers():
    """Queries run in threads: while one page waits for the database, the server answers others."""
    site = SlowSite()

    async def read() -> tuple[int, bool, str]:
        async with TestClient(TestServer(make_app(site, ServerOptions()))) as client:
            slow = asyncio.ensure_future(client.get("/"))
            while not site.asked.is_set():
                await asyncio.sleep(0.01)
            style = await client.get("/static/style.css")
            waiting = not slow.done()
            site.released.set()
            return style.status, waiting, await (await slow).text()

    assert asyncio.run(read()) == (200, True, "released: True")


class BrokenSite(SlowSite):
    """A site whose store does not work."""

    def __init__(self, error: DemeanorError) -> None:
        super().__init__()
        self._error = error

    def page(self, name: str, parts: Mapping[str, str], query: Mapping[str, str]) -> str:
        """No page."""
        raise self._error


@pytest.mark.parametrize(("kind", "status"), [(StoreError, 500), (StoreUnavailable, 503)])
def test_the_place_of_the_store_is_shown_in_the_terminal_only(
    kind: type[DemeanorError], status: int, capsys: pytest.CaptureFixture[str]
):
    """A path or the address of a database means nothing to a reader, who may be on another machine."""

    async def read() -> tuple[int, str]:
        site = BrokenSite(kind("/home/ann/results/demeanor.db: malformed\n  → restore it"))
        async with TestClient(TestServer(make_app(site, ServerOptions()))) as client:
            answer = await client.get("/")
            return answer.status, await answer.text()

    found, text = asyncio.run(read())
    assert found == status
    assert "/home/ann" not in text
    assert "terminal of" in text
    assert "/home/ann/results/demeanor.db: malformed" in capsys.readouterr().err
