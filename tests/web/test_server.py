"""The server itself, with a site that is slow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping

from aiohttp.test_utils import TestClient, TestServer

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
