"""Make an eval from a session: clean it, find the situation, write the file, and validate it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from demeanor.commands.validate.workflow import validate
from demeanor.core.redaction.redactor import Redactor, without_digits
from demeanor.core.redaction.values import redacted
from demeanor.core.text.wording import one_line
from demeanor.core.trees.file_set import write_files
from demeanor.core.values.errors import BadInput, DemeanorError
from demeanor.core.values.session import PastSession, Round
from demeanor.core.values.trajectory import Aside, Called, Concluded, Event, Said, Thought
from demeanor.plugins.lab.adopt.eval_file import eval_text
from demeanor.plugins.lab.adopt.report import Adopted, AdoptReport
from demeanor.plugins.lab.adopt.rules import facts_of
from demeanor.plugins.lab.adopt.situation import Choice, Situation, situation_of
from demeanor.plugins.lab.adopt.source import identifier
from demeanor.runner import Catalog, TaskOptions, choose_evals

_MOST_BYTES = 4 << 20
_MARK = "‹redacted:"


def adopt(
    session: PastSession,
    choice: Choice,
    *,
    redactor: Redactor,
    folder: Path,
    source: str,
    checks: Sequence[int] = (),
    name: str | None = None,
    out: Path | None = None,
) -> Adopted:
    """The eval of a session, not written yet. `checks` are the numbers of the facts that were wrong; `out` is the file
    to write, by default in `folder`."""
    steady = redactor.steady
    situation = _without_secrets(situation_of(cleaned(session, steady), choice), steady)
    facts = facts_of(situation)
    for number in checks:
        if not 1 <= number <= len(facts):
            raise BadInput(f"there is no fact {number}", where="--check", remedy=f"choose from 1 to {len(facts)}")
    if name is not None and identifier(name) != name:
        raise BadInput(f"{name!r} is not the name of a function", where="--name", remedy=f"such as {identifier(name)}")
    own = name or identifier(situation.prompts[-1])
    made = eval_text(situation, facts, sorted(set(checks)), name=own, source=_origin(situation, source))
    path = out or folder / f"eval_{own}.py"
    files: dict[Path, str | bytes] = {path: made.text}
    files |= {path.parent / f"{own}_files" / file: content for file, content in sorted(made.template.items())}
    secrets = sum(
        (content if isinstance(content, str) else content.decode("utf-8", "replace")).count(_MARK)
        for content in files.values()
    )
    return Adopted(
        name=own,
        source=source,
        situation=situation,
        facts=facts,
        chosen=tuple(sorted(set(checks))),
        files=files,
        gaps=made.gaps,
        secrets=secrets,
    )


def write_adopted(adopted: Iterable[Adopted]) -> None:
    """Write the files of some evals, all or none; an existing file of an eval is never overwritten."""
    files: dict[Path, str | bytes] = {}
    for read in adopted:
        for path in read.files:
            taken = path.parent if path.parent.name == f"{read.name}_files" else path
            if path.exists() or path in files or (taken is not path and taken.exists()):
                raise BadInput(
                    "exists already, and is not overwritten", where=taken, remedy="choose another --output or --name"
                )
        files |= read.files
    write_files(files)


def adopt_and_validate(catalog: Catalog, adopted: Adopted) -> AdoptReport:
    """Write an eval and validate it; if it can't even be loaded, nothing stays."""
    write_adopted([adopted])
    try:
        evals = choose_evals(catalog.config, paths=[str(adopted.path)])
    except DemeanorError:
        for path in adopted.files:
            path.unlink(missing_ok=True)
        raise
    report = validate(catalog, evals, base=None, strict=False, options=TaskOptions(static=True), show=lambda text: None)
    return AdoptReport(adopted=adopted, validation=report)


def _without_secrets(situation: Situation, redactor: Redactor) -> Situation:
    """The situation with the secrets in its files replaced: these were read after the session was cleaned."""
    files = {path: redactor.data(content) for path, content in situation.files.items()}
    after = {path: None if content is None else redactor.data(content) for path, content in situation.after.items()}
    if (size := sum(map(len, files.values()))) > _MOST_BYTES:
        raise BadInput(
            f"the starting files have {size >> 20} MiB, more than {_MOST_BYTES >> 20} MiB",
            where="files",
            remedy="leave out --all-files, or remove large files from the repository first",
        )
    return replace(situation, files=files, after=after)


def _origin(situation: Situation, source: str) -> str:
    """The docstring of the file: what it was made from."""
    own = situation.session.id
    which = f" {own}" if own and own not in source else ""
    return f"Made by `demeanor adopt` from {source}{which}; files: {situation.origin}."


def session_phrase(session: PastSession) -> str:
    """What a session is, in a phrase that can be printed."""
    who = f"a session of {session.agent}" if session.agent else "recorded traffic"
    day = f", {session.started[:10]}" if session.started else ""
    return one_line(f"{who} ({session.model}{day})" if session.model else f"{who}{day}", width=150)


# Remove from a session what must not be in an eval: secrets, and the paths of the machine that it took place on.

_HOME = re.compile(r"/(?:home|Users)/[^/\s\"'`:;,<>|&()\\]+|/root(?=/)")
_DEEPEST = 40


def cleaned(session: PastSession, redactor: Redactor) -> PastSession:
    """The session without secrets; paths are relative to its folder, and home directories are `~`.

    Marks of secrets that were replaced when it was kept lose their digits, which differ from run to run.
    """
    kept = redacted(session, redactor)
    folder = session.folder.rstrip("/")

    def plain(text: str) -> str:
        text = text.encode("utf-8", "replace").decode()  # JSON can contain halves of characters
        if folder:
            text = text.replace(f"{folder}/", "")
            text = re.sub(rf"{re.escape(folder)}(?![\w.-])", ".", text)
        return _HOME.sub("~", without_digits(text))

    return replace(kept, rounds=tuple(_round(round_, plain) for round_ in kept.rounds))


def _round(round_: Round, plain: Callable[[str], str]) -> Round:
    events = tuple(_event(event, plain) for event in round_.events)
    return replace(round_, prompt=plain(round_.prompt), events=events)


def _event(event: Event, plain: Callable[[str], str]) -> Event:
    if isinstance(event, Said | Thought | Concluded):
        return replace(event, text=plain(event.text))
    if isinstance(event, Called):
        result = None if event.result is None else plain(event.result)
        arguments = {name: _value(value, plain, 0) for name, value in event.arguments.items()}
        return replace(event, arguments=arguments, result=result, raw=plain(event.raw))
    if isinstance(event, Aside):
        return replace(event, said=plain(event.said), prompt=plain(event.prompt))
    return event


def _value(value: Any, plain: Callable[[str], str], depth: int) -> Any:
    if isinstance(value, str):
        return plain(value)
    if depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {key: _value(item, plain, depth + 1) for key, item in value.items()}
    return [_value(item, plain, depth + 1) for item in value] if isinstance(value, list | tuple) else value
