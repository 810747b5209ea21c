"""Replay the calls of a session on its files: what they were when a prompt was given, and what became of them.

Nothing is executed. A content that the session does not show, and that no commit has, stays unknown and becomes a gap.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from demeanor.config import path_problem
from demeanor.core.text.wording import one_line
from demeanor.core.values.session import Round
from demeanor.core.values.trajectory import Called, Kind
from demeanor.judge import CallFacts, call_facts, values
from demeanor.plugins.lab.adopt.edits import MISMATCH, UNKNOWN, Content, file_changes

_ON_FILES = frozenset({Kind.READ, Kind.EDIT, Kind.DELETE})


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A call of the session with its effects."""

    call: Called
    """The call."""

    facts: CallFacts
    """What it does."""

    done: bool
    """Whether it was carried out, as far as is known."""


def relative(path: str, folder: str) -> str | None:
    """A path of the session, relative to its folder; None if it is outside, or not a path of a workspace."""
    if path.startswith("/"):
        if not folder or not f"{path}/".startswith(f"{folder.rstrip('/')}/"):
            return None
        path = path[len(folder.rstrip("/")) :].lstrip("/")
    normal = posixpath.normpath(path) if path else ""
    return None if path.startswith("~") or path_problem(normal) or not _is_unicode(normal) else normal


def _is_unicode(path: str) -> bool:
    """Whether a file can have this name: JSON can contain halves of characters."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class Replay:
    """The files of a session while its calls are replayed."""

    def __init__(self, folder: str, base: Callable[[str], Content], paths: set[str]) -> None:
        """`base` is the content of a file when the session began; `paths` are all files that are known to exist."""
        self._folder = folder
        self._base = base
        self._paths = paths
        self._now: dict[str, Content] = {}
        self._changed: set[str] = set()
        self._elsewhere = ": it is not in the repository" if paths else ""
        self.start: dict[str, Content] = {}
        """The files that were touched, as they were when the current round began."""
        self.steps: list[Step] = []
        """The calls of the current round."""
        self.gaps: dict[str, None] = {}
        """What is not known about the current round."""

    def after(self) -> dict[str, Content]:
        """The files that the current round changed, as they are now."""
        return {path: self._get(path) for path in sorted(self._changed) if self._get(path) != self.start.get(path)}

    def play(self, round_: Round) -> None:
        """Replay a round; it becomes the current one."""
        self.start = {path: self._get(path) for path in self.start}
        self._changed, self.steps, self.gaps = set(), [], {}
        for event in round_.events:
            if isinstance(event, Called):
                for seen in round_.seen:
                    if seen.call == event.id and (path := relative(seen.path, self._folder)):
                        self._see(path, None if seen.text is None else seen.text.encode("utf-8", "surrogatepass"))
                self._call(event)

    def touch(self, path: str) -> None:
        """Note a file that matters, with its content."""
        if path not in self.start:
            self.start[path] = self._get(path)

    def _get(self, path: str) -> Content:
        return self._now[path] if path in self._now else self._base(path)

    def _see(self, path: str, content: Content) -> None:
        if path not in self._changed:
            self._now[path] = self.start[path] = content

    def _call(self, call: Called) -> None:
        facts = call_facts(call, {}, lambda path: path in self._paths)
        done = call.succeeded is not False and call.permission != "deny"
        self.steps.append(Step(call=call, facts=facts, done=done))
        for effect in facts.effects.known:
            if effect.kind in _ON_FILES and effect.target and (path := relative(effect.target, self._folder)):
                for own in self._below(path) or ([path] if effect.kind is not Kind.DELETE else []):
                    self.touch(own)
        if not done:
            return
        self._note_unknown_reads(call, facts)
        if facts.effects.unclear and facts.kind is Kind.EXECUTE:
            self.gaps[f"what this command changed is not known: {_command(facts)}"] = None
        for target, content in file_changes(call, facts, self._read):
            self._change(target, content)

    def _note_unknown_reads(self, call: Called, facts: CallFacts) -> None:
        """A file that was read must have existed, even if the commit does not have it. Failed calls are left out."""
        how = "was read" if call.succeeded else "was perhaps read"
        for effect in facts.effects.of((Kind.READ,)):
            path = relative(effect.target or "", self._folder)
            if path and effect.reach == "exact" and self._get(path) is None and path not in self._changed:
                self.gaps[f"{path} {how}, and its content is not known{self._elsewhere}"] = None

    def _read(self, target: str) -> Content:
        path = relative(target, self._folder)
        return self._get(path) if path else UNKNOWN

    def _change(self, target: str, content: Content) -> None:
        path = relative(target, self._folder)
        if path is None:
            self.gaps[f"{one_line(target)} is outside the folder of the session, so it is left out"] = None
            return
        own = self._below(path) if content is None else [path]
        if not own:
            self.gaps[f"{path} was deleted, and its content is not known{self._elsewhere}"] = None
        for own_path in own:
            self.touch(own_path)
            if content is MISMATCH:
                self._forget(own_path)
                continue
            if content is UNKNOWN and self.start[own_path] is not UNKNOWN:
                self.gaps[f"{own_path}: what the agent made of it is not known"] = None
            self._now[own_path] = content
            self._changed.add(own_path)

    def _forget(self, path: str) -> None:
        """The file had another content than the commit: it had changes that are not known."""
        self._now[path] = UNKNOWN
        if path in self._changed:
            self.gaps[f"{path}: what the agent made of it is not known"] = None
        else:
            self.start[path] = UNKNOWN
        self._changed.add(path)

    def _below(self, path: str) -> list[str]:
        """The known files that a path stands for: itself, or the files in the folder."""
        paths = {other for other in (*self._paths, *self._now) if other == path or other.startswith(f"{path}/")}
        return sorted(file for file in paths if self._now.get(file, UNKNOWN) is not None)


def _command(facts: CallFacts) -> str:
    return one_line(" ".join(values(facts.arguments, "command", facts.kind, facts.offered)), width=80)


def calls_on(steps: list[Step] | tuple[Step, ...], kind: Kind, folder: str) -> Iterator[tuple[int, str]]:
    """Position and path of every certain effect of a kind that was carried out."""
    for position, step in enumerate(steps):
        for effect in step.facts.effects.of((kind,)) if step.done else ():
            if effect.target and effect.reach != "glob" and (path := relative(effect.target, folder)):
                yield position, path
