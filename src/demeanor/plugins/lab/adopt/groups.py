"""The sessions of a folder in as few groups as there are things to look at, with an eval of one example of each.

These sessions have no verdicts, so they are grouped as failures are without a passing trial: by what they have in
common, which is the most telling fact about the last prompt. Every session is in exactly one group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.errors import BadInput, DemeanorError
from demeanor.plugins.lab.adopt.report import Adopted
from demeanor.plugins.lab.adopt.rules import FactKind
from demeanor.plugins.lab.adopt.situation import Choice
from demeanor.plugins.lab.adopt.workflow import adopt, session_phrase
from demeanor.runner import read_sessions, session_files

_INTERRUPTED = "the user interrupted the agent"
_NOTHING = "nothing to propose a check from"
_ORDER = (_INTERRUPTED, *(str(kind) for kind in FactKind), _NOTHING)


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionGroup:
    """Sessions that have their most telling fact in common."""

    title: str
    """The fact."""

    sessions: tuple[str, ...]
    """The sessions: file, and what it is."""

    example: Adopted | None
    """The eval of one of them, not written yet; None if there is nothing to check."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupedSessions:
    """All sessions of a folder."""

    groups: tuple[SessionGroup, ...]
    """The groups, the most telling first."""

    skipped: tuple[str, ...]
    """Files without a session, each with the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    """One session that was read."""

    where: str
    adopted: Adopted


def group_sessions(folder: Path, *, redactor: Redactor, evals: Path) -> GroupedSessions:
    """Read all sessions below a folder and group them; the evals are for the folder `evals`. Raises BadInput if there
    is none."""
    readable, skipped = _read_all(folder, redactor, evals)
    if not readable:
        reason = f"; {skipped[0]}" if skipped else ""
        raise BadInput(
            f"there is no session in it{reason}", where=folder, remedy="see where agents keep them: demeanor help adopt"
        )
    by_title: dict[str, list[_Read]] = {}
    for read in readable:
        by_title.setdefault(_title(read.adopted), []).append(read)
    taken = {path.name: _first_line(path) for path in evals.iterdir()} if evals.is_dir() else {}
    groups = [
        SessionGroup(
            title=title,
            sessions=tuple(read.where for read in by_title[title]),
            example=None if title == _NOTHING else _named(_example(by_title[title]), taken),
        )
        for title in _ORDER
        if title in by_title
    ]
    return GroupedSessions(groups=tuple(groups), skipped=tuple(skipped))


def _read_all(folder: Path, redactor: Redactor, evals: Path) -> tuple[list[_Read], list[str]]:
    reads: list[_Read] = []
    skipped: list[str] = []
    for path in session_files(folder):
        try:
            for session in read_sessions(path):
                source = session_phrase(session)
                made = adopt(session, Choice(), redactor=redactor, folder=evals, source=source)
                reads.append(_Read(where=f"{path} ({source})", adopted=made))
        except DemeanorError as error:
            skipped.append(one_line(str(error).partition("\n")[0], width=200))
    return reads, skipped


def _title(adopted: Adopted) -> str:
    if adopted.situation.interrupted:
        return _INTERRUPTED
    return str(adopted.facts[0].kind) if adopted.facts else _NOTHING


def _example(group: Sequence[_Read]) -> Adopted:
    """The session about which least is unknown; of these, the shortest."""
    return min(
        (adopted.adopted for adopted in group),
        key=lambda adopted: (len(adopted.gaps), len(adopted.situation.events), adopted.text),
    )


def _first_line(path: Path) -> str:
    """The first line of a file, which says what an eval was made from; empty for a folder."""
    return (path.read_text("utf-8", "replace").splitlines() or [""])[0] if path.is_file() else ""


def _named(adopted: Adopted, taken: dict[str, str]) -> Adopted:
    """The eval with a name that no other file has, unless it was made from the same session earlier."""
    number, name = 1, adopted.name
    own = adopted.text.splitlines()[0]
    while taken.get(f"eval_{name}.py", own) != own:
        number += 1
        name = f"{adopted.name}_{number}"
    taken[f"eval_{name}.py"] = own
    if name == adopted.name:
        return adopted
    folder = adopted.path.parent
    files: dict[Path, str | bytes] = {}
    for path, content in adopted.files.items():
        if path == adopted.path and isinstance(content, str):
            text = content.replace(f"def {adopted.name}(rig", f"def {name}(rig")
            files[folder / f"eval_{name}.py"] = text.replace(f'files="{adopted.name}_files"', f'files="{name}_files"')
        else:
            files[folder / f"{name}_files" / path.relative_to(folder / f"{adopted.name}_files")] = content
    return replace(adopted, name=name, files=files)


def grouped_text(sessions: GroupedSessions) -> str:
    """The groups as text, each with its sessions and its eval."""
    return "\n".join(_lines(sessions))


def _lines(sessions: GroupedSessions) -> Iterator[str]:
    for group in sessions.groups:
        yield f"{count(len(group.sessions), 'session')}: {group.title}"
        yield from (f"    {one_line(session, width=200)}" for session in group.sessions)
        if group.example is not None:
            gaps = count(len(group.example.gaps), "gap")
            yield f"    → {group.example.path} ({gaps}; {count(len(group.example.facts), 'proposed check')})"
    if sessions.skipped:
        skipped = count(len(sessions.skipped), "file")
        yield f"{skipped} without a session that can be read, such as {sessions.skipped[0]}"
