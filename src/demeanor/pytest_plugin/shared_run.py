"""One run for all workers of xdist: it is executed by the process that started them, which they ask for results.

The workers collect the same items, and each gets some of them. A worker sends the cells that are to run together and
the one whose result it needs; the first request starts them. Requests arrive at a socket in a folder that only this
user can read. This module is imported by every `pytest -n`, so it imports the rest of Demeanor when it is first asked.
"""

from __future__ import annotations

import contextlib
import pickle
import shutil
import socket
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from demeanor.core.values.trial import Cell
    from demeanor.pytest_plugin.batch import Batch, ItemResult

_LONGEST_FOLDER = 60
"""The path of a socket has at most about 100 characters."""


class CellRequest(NamedTuple):
    """A cell as another process can find it."""

    path: str
    """The file that defines its eval."""

    id: str
    """`eval/subject`."""


class SharedRun:
    """Answers the requests of the workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        usual = tempfile.gettempdir()
        self._folder = Path(tempfile.mkdtemp(prefix="demeanor-", dir=usual if len(usual) < _LONGEST_FOLDER else "/tmp"))  # noqa: S108
        self.address = str(self._folder / "run")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen(64)
        self._cells: dict[str, Cell] = {}
        self._read: set[str] = set()
        self._thread = threading.Thread(target=self._serve, name="demeanor-xdist", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Accept no more requests."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _serve(self) -> None:
        """Start what is asked for. This thread outlives all that it starts, because sandboxes end with their thread."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            try:
                requests, cell = _receive(connection)
                batch = self._start(requests)
            except BaseException as error:  # noqa: BLE001 - raised again in the worker
                _send(connection, _sendable(error))
                continue
            answer = threading.Thread(target=_answer, args=(connection, batch, self._cells[cell]), daemon=True)
            answer.start()

    def _start(self, requests: Sequence[CellRequest]) -> Batch:
        from demeanor.core.values.errors import BadInput
        from demeanor.define import discover
        from demeanor.pytest_plugin.batch import batch_of

        batch = batch_of(self._config)
        for path in dict.fromkeys(request.path for request in requests):
            if path not in self._read:
                self._cells.update({cell.id: cell for cell in batch.plan(discover([path])).cells})
                self._read.add(path)
        unknown = next((request for request in requests if request.id not in self._cells), None)
        if unknown is not None:
            raise BadInput(f"{unknown.id!r} was found by a worker of xdist only", where=unknown.path, key="eval")
        batch.start([self._cells[request.id] for request in requests])
        return batch


def request_result(address: str, together: Sequence[CellRequest], cell: str) -> ItemResult:
    """In a worker: let the cells run, and wait for the result of one of them."""
    from demeanor.core.values.errors import UsageError

    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address)
            _send(connection, (list(together), cell), close=False)
            result: ItemResult | BaseException = _receive(connection)
    except (OSError, EOFError) as error:
        raise UsageError(
            f"the process that runs the evals of all xdist workers can't be reached: {str(error) or 'it has ended'}\n"
            "  → start the workers on this machine (-n 4), or run pytest without xdist"
        ) from None
    if isinstance(result, BaseException):
        raise result
    return result


def _answer(connection: socket.socket, batch: Batch, cell: Cell) -> None:
    result: ItemResult | BaseException
    try:
        result = batch.result(cell)
    except BaseException as error:  # noqa: BLE001 - raised again in the worker
        result = _sendable(error)
    _send(connection, result)


def _sendable(error: BaseException) -> Exception:
    """An error with the same text: not every exception can be pickled."""
    from demeanor.core.values.errors import DemeanorError, UsageError

    return (
        UsageError(str(error)) if isinstance(error, DemeanorError) else RuntimeError(f"{type(error).__name__}: {error}")
    )


def _send(connection: socket.socket, value: object, *, close: bool = True) -> None:
    """Send one value, after which nothing follows."""
    with contextlib.suppress(OSError):  # the other process has ended meanwhile
        connection.sendall(pickle.dumps(value))
        connection.shutdown(socket.SHUT_WR)
    if close:
        connection.close()


def _receive(connection: socket.socket) -> Any:
    with connection.makefile("rb") as file:
        return pickle.load(file)  # noqa: S301 - from a process of the same user and the same run


_KEY: pytest.StashKey[SharedRun] = pytest.StashKey()


def open_run(config: pytest.Config) -> str:
    """The address of the run of all workers."""
    if _KEY not in config.stash:
        config.stash[_KEY] = SharedRun(config)
    return config.stash[_KEY].address


def close_run(config: pytest.Config) -> None:
    """Accept no more requests, if any were expected."""
    if _KEY in config.stash:
        config.stash[_KEY].close()
