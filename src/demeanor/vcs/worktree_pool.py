"""A pool of checked-out and built commits, so that a commit that is needed again is not built again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType

from demeanor.config import Config
from demeanor.vcs.checkout import Checkout, checked_out


class Worktrees:
    """At most `most` built worktrees, all of which are removed at the end."""

    def __init__(
        self, config: Config, environ: Mapping[str, str], *, most: int, log: Callable[[str], None] = lambda line: None
    ) -> None:
        self.built = 0
        """How many were built so far."""
        self._config = config
        self._environ = environ
        self._most = most
        self._log = log
        self._open: dict[str, tuple[Checkout, ExitStack]] = {}

    def __enter__(self) -> Worktrees:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as stack_of_all:
            for _, stack in self._open.values():
                stack_of_all.push(stack)
            self._open.clear()

    @property
    def at_hand(self) -> frozenset[str]:
        """The commits that are built already."""
        return frozenset(self._open)

    def get(self, commit: str, *, worth: Callable[[str], float]) -> Checkout:
        """Return a commit's worktree; if the pool is full, remove the one with the lowest `worth`.

        Raises BuildFailed.
        """
        if commit not in self._open:
            while len(self._open) >= self._most:
                _, stack = self._open.pop(min(self._open, key=worth))
                stack.close()
            with ExitStack() as stack:
                place = stack.enter_context(checked_out(self._config, commit, environ=self._environ, log=self._log))
                self._open[commit] = (place, stack.pop_all())
            self.built += 1
        return self._open[commit][0]
