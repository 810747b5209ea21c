"""Cassettes that a worker gets with the requests for attempts, instead of reading them from a folder."""

from __future__ import annotations

from pathlib import Path

from demeanor.core.values.errors import CassetteError, CassetteUnreadable
from demeanor.gateway.cassette import BadCassette, Cassette, CassetteFolder, read_cassette


class ReceivedCassettes(CassetteFolder):
    """The cassettes of the trials that a worker is to replay. `folder` is where the conductor found them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._texts: dict[str, tuple[bytes | None, str]] = {}

    def put(self, trial: str, text: bytes | None, problem: str) -> None:
        """Keep the cassette of a trial, or the reason why there is none."""
        self._texts[trial] = text, problem

    def read(self, eval: str, subject: str, number: int) -> tuple[Path, Cassette]:  # noqa: A002
        """The cassette of a trial and its file, as the conductor knows it; raises CassetteError."""
        text, problem = self._texts[f"{eval}/{subject}/{number}"]
        path = self.path(eval, subject, number)
        if text is None:
            raise CassetteError(problem)
        try:
            return path, read_cassette(text)
        except BadCassette as error:
            raise CassetteUnreadable(f"{path}: can't be read: {error}") from None
