"""The situation of a prompt in a session: what the agent found, what it was asked, what it did, and what is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from demeanor.core.trees.git import GitError
from demeanor.core.trees.tree import Tree, changes
from demeanor.core.values.errors import BadInput
from demeanor.core.values.scenario import PriorMessage
from demeanor.core.values.session import PastSession, Round, SeenFile
from demeanor.core.values.trajectory import Concluded, Event, Said
from demeanor.plugins.lab.adopt.edits import UNKNOWN, Content
from demeanor.plugins.lab.adopt.replay import Replay, Step
from demeanor.plugins.lab.adopt.repository import CommitFiles, commit_before, commit_files, with_changes

_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".goosehints", ".clinerules")
"""Files that agents read by themselves."""

_WORD = re.compile(r"[\w./-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Which part of a session becomes an eval, and where its files come from."""

    prompt: int | None = None
    """The number of the prompt; None for the last."""

    turns: bool = False
    """Whether the agent is asked all prompts up to this one, instead of resuming the conversation before it."""

    repo: Path | None = None
    """The folder that the agent worked in, as it is on this machine; None for the one that the session names."""

    commit: str | None = None
    """The commit that was checked out; None for the one that the session names."""

    all_files: bool = False
    """Whether all files of the commit are taken, instead of those that the session touched."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What an eval is made from."""

    session: PastSession
    """The session."""

    prompts: tuple[str, ...]
    """What the agent is asked."""

    messages: tuple[PriorMessage, ...]
    """The conversation before."""

    events: tuple[Event, ...]
    """What the agent did."""

    steps: tuple[Step, ...]
    """Its calls with their effects."""

    files: Mapping[str, bytes]
    """The starting files."""

    after: Mapping[str, bytes | None]
    """The files that the agent changed: their content afterwards, None for deleted ones."""

    origin: str
    """Where the files come from, in a phrase."""

    gaps: tuple[str, ...]
    """What is not known."""

    interrupted: bool = False
    """Whether the user interrupted the agent."""


def situation_of(session: PastSession, choice: Choice) -> Situation:
    """The situation of one prompt; raises BadInput if there is no such prompt, commit or folder."""
    number = len(session.rounds) if choice.prompt is None else choice.prompt
    if not 1 <= number <= len(session.rounds):
        raise BadInput(f"there is no prompt {number}", where="--prompt", remedy=f"1 to {len(session.rounds)}")
    played = session.rounds[:number] if choice.turns else session.rounds[number - 1 : number]
    earlier = () if choice.turns else session.rounds[: number - 1]
    if session.before is not None and session.after is not None:
        files = _from_trees(
            session, _joined(played), session.before, session.after, whole=number == len(session.rounds)
        )
    else:
        files = _replayed(session, earlier, played, choice)
    return replace(
        files,
        prompts=tuple(round_.prompt for round_ in played),
        messages=(*session.earlier, *_messages(earlier)),
        gaps=tuple(dict.fromkeys((*session.gaps, *files.gaps))),
    )


def _messages(rounds: Iterable[Round]) -> list[PriorMessage]:
    """The texts of earlier rounds."""
    messages: list[PriorMessage] = []
    for past in rounds:
        messages.append(PriorMessage(role="user", text=past.prompt))
        said = [event.text for event in past.events if isinstance(event, Said | Concluded) and event.text.strip()]
        if said:
            messages.append(PriorMessage(role="assistant", text=said[-1]))
    return messages


def _joined(rounds: Iterable[Round]) -> Round:
    """Several rounds as one, with turns counted across them."""
    events: list[Event] = []
    seen: list[SeenFile] = []
    prompts: list[str] = []
    stopped = False
    for past in rounds:
        last = max((event.turn for event in events), default=0)
        events += [replace(event, turn=event.turn + last) for event in past.events]
        seen += past.seen
        prompts.append(past.prompt)
        stopped = past.interrupted
    return Round(prompt="\n".join(prompts), events=tuple(events), seen=tuple(seen), interrupted=stopped)


def _from_trees(session: PastSession, round_: Round, before: Tree, after: Tree, *, whole: bool) -> Situation:
    """The situation of a stored trial, whose files are known exactly."""
    entries = {path: entry for path, entry in before.visible().items() if entry.kind == "file"}
    files = {path: content for path, entry in entries.items() if (content := entry.read()) is not None}
    gaps = [f"{path}: it was too large to store" for path in entries if path not in files]
    gaps += [
        f"{path} is a link or an empty folder: create it in a `setup`" for path in before.visible() - entries.keys()
    ]
    if not whole:
        gaps.append("the files after this prompt are not known, only those at the end of the trial")
    changed: dict[str, bytes | None] = {}
    for change in changes(before, after) if whole else ():
        content = change.after.read() if change.after is not None and change.after.kind == "file" else None
        if change.after is not None and content is None:
            gaps.append(f"{change.path}: what the agent made of it was not stored")
        elif change.after is not None or change.path in files:
            changed[change.path] = content
    replay = Replay(session.folder, files.get, set(files))
    replay.play(round_)
    return Situation(
        session=session,
        prompts=(),
        messages=(),
        events=round_.events,
        steps=tuple(replay.steps),
        files=files,
        after=changed,
        origin="the starting files of the trial",
        gaps=tuple(gaps),
        interrupted=round_.interrupted,
    )


def _replayed(session: PastSession, earlier: tuple[Round, ...], played: tuple[Round, ...], choice: Choice) -> Situation:
    snapshot = played[0].snapshot
    committed, origin, gaps = _committed(session, snapshot, choice)
    paths = committed.paths() if committed else set()

    @cache
    def base(path: str) -> Content:
        if committed is None:
            return UNKNOWN
        return committed.read([path]).get(path)

    replay = Replay(session.folder, base, paths)
    for past in () if snapshot else earlier:  # a snapshot has what earlier rounds did
        replay.play(past)
    joined = _joined(played)
    replay.play(joined)
    _touch_more(replay, paths, [*earlier, *played], everything=choice.all_files)
    start = {path: content for path, content in sorted(replay.start.items()) if content is not None}
    after = replay.after()
    gaps += replay.gaps
    gaps += [f"{path}: its content when the session began is not known" for path, c in start.items() if c is UNKNOWN]
    return Situation(
        session=session,
        prompts=(),
        messages=(),
        events=joined.events,
        steps=tuple(replay.steps),
        files={path: content for path, content in start.items() if isinstance(content, bytes)},
        after={path: content for path, content in after.items() if content is None or isinstance(content, bytes)},
        origin=origin,
        gaps=tuple(gaps),
        interrupted=joined.interrupted,
    )


def _touch_more(replay: Replay, paths: set[str], rounds: Iterable[Round], *, everything: bool) -> None:
    """Also take what agents read by themselves, what the prompts name, and with `everything` all other files."""
    words = {word.strip(".,").removeprefix("./") for past in rounds for word in _WORD.findall(past.prompt)}
    for path in sorted(paths):
        if everything or path in words or path.partition("/")[0] in _INSTRUCTIONS:
            replay.touch(path)


def _committed(session: PastSession, snapshot: str, choice: Choice) -> tuple[CommitFiles | None, str, list[str]]:
    """The files of the commit that the session began with, where they come from, and what is uncertain about them."""
    folder = choice.repo or (Path(session.folder) if session.folder and Path(session.folder).is_dir() else None)
    if folder is None:
        gap = "the repository of the session is not known; give its folder with --repo"
        return None, "what the session shows", [gap]
    if choice.repo is not None and not choice.repo.is_dir():
        raise BadInput("there is no such folder", where=f"--repo {choice.repo}", remedy="name the repository's folder")
    named = choice.commit or snapshot or session.commit
    commit = named or (commit_before(folder, session.started) if session.started else None)
    if commit is None:
        return None, "what the session shows", ["the commit of the session is not known; give it with --commit"]
    try:
        files = commit_files(folder, commit)
    except GitError as error:
        if choice.commit or choice.repo:
            remedy = "give another --commit, or the --repo that has it"
            raise BadInput(f"can't be read from {folder}: {error}", where=f"commit {commit}", remedy=remedy) from None
        return None, "what the session shows", [f"the commit {commit} of the session can't be read: {error}"]
    short, gaps = files.commit[:12], list[str]()
    if not named:
        gaps.append(
            f"the files are those of {short}, the newest commit before the session began, because the session does not"
            " name its commit: confirm it with --commit"
        )
    origin = f"commit {short}"
    if session.changes and not snapshot:
        try:
            files, origin = with_changes(files, session.changes), f"commit {short} with the uncommitted changes"
        except GitError as error:
            gaps.append(f"the uncommitted changes of the session do not apply to {short}: {error}")
    return files, origin, gaps
