"""Handing the gateway into a task's environment."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from demeanor.plugins.harbor.trials.model_route import SOCKET_NAME, accept_listeners


class Session:
    """What a gateway session does with a socket, as far as it matters here."""

    def __init__(self) -> None:
        self.served: list[tuple[str, int]] = []

    async def listen(self, listener: socket.socket) -> None:
        """Take note of it."""
        self.served.append(listener.getsockname())


def hand_in(folder: Path) -> tuple[str, int]:
    """What an environment does when it is up; where it listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(120)
        connection.connect(str(folder / SOCKET_NAME))
        socket.send_fds(connection, [b"!"], [listener.fileno()])
        assert connection.recv(1) == b"!"
        found: tuple[str, int] = listener.getsockname()
        return found


def test_a_socket_that_is_handed_in_is_served_before_the_answer(tmp_path: Path):
    """Several environments of one attempt may come, one after the other."""
    session = Session()

    async def play() -> list[tuple[str, int]]:
        async with accept_listeners(session, tmp_path):  # type: ignore[arg-type]
            return [await asyncio.to_thread(hand_in, tmp_path) for _ in range(2)]

    assert asyncio.run(play()) == session.served


def test_the_way_to_it_may_be_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Longer than the address of a socket can be."""
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    session = Session()

    async def play() -> None:
        async with accept_listeners(session, folder):  # type: ignore[arg-type]
            monkeypatch.chdir(folder)
            await asyncio.to_thread(hand_in, Path())

    asyncio.run(play())
    assert len(session.served) == 1


def test_a_client_that_hangs_up_or_sends_nothing_does_not_disturb_others(tmp_path: Path):
    """The next one is served all the same."""
    session = Session()

    def hang_up() -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(tmp_path / SOCKET_NAME))

    async def play() -> None:
        async with accept_listeners(session, tmp_path):  # type: ignore[arg-type]
            await asyncio.to_thread(hang_up)
            await asyncio.to_thread(hand_in, tmp_path)

    asyncio.run(play())
    assert len(session.served) == 1
