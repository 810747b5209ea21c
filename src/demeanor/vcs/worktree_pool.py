"""Several commits checked out and built at once, so that one that is visited again need not be built again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType

from demeanor.config.config import Config
from demeanor.vcs.checkout import Checkout, checked_out


class Worktrees:
    """Built worktrees, at most so many; all of them go at the end, whatever happened."""

    def __init__(
        self, config: Config, environ: Mapping[str, str], *, most: int, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self.built = 0
        """How many were built so far."""
        self._config = config
        self._environ = environ
        self._most = most
        self._tell = tell
        self._kept: dict[str, tuple[Checkout, ExitStack]] = {}

    def __enter__(self) -> Worktrees:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as all_of_them:
            for _, stack in self._kept.values():
                all_of_them.push(stack)
            self._kept.clear()

    @property
    def at_hand(self) -> frozenset[str]:
        """The commits that need not be built."""
        return frozenset(self._kept)

    def get(self, commit: str, *, worth: Callable[[str], float]) -> Checkout:
        """A commit's worktree. Where there are too many, the one that is `worth` least is given up for it.

        Raises BuildFailed.
        """
        if commit not in self._kept:
            while len(self._kept) >= self._most:
                _, stack = self._kept.pop(min(self._kept, key=worth))
                stack.close()
            with ExitStack() as stack:
                place = stack.enter_context(checked_out(self._config, commit, environ=self._environ, tell=self._tell))
                self._kept[commit] = (place, stack.pop_all())
            self.built += 1
        return self._kept[commit][0]
