"""The commands of checks: they see the workspace as the agent left it, or are not run.

A command on a workspace with emptied or missing files would answer another question: `! grep -q KEY big.log` succeeds
on an empty file.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence

from demeanor.core.text.wording import count, one_line, printable
from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.trees.tree_io import Keep
from demeanor.core.values.ports import CommandResult, RunCommand
from demeanor.judge.unknowable import insufficient, unknowable

_MOST_LISTED = 3


def run_on(
    run_command: RunCommand, before: Tree, after: Tree, argv: tuple[str, ...], *, timeout: float
) -> CommandResult:
    """Run a command in a temporary copy of a workspace. If something of it was not kept, the check fails, provided that
    the agent is the reason; otherwise raises Unknowable."""
    lost = [
        f"{printable(path)!r}: {not_kept(entry)}"
        for path, entry in sorted(after.entries.items())
        if entry.kind == "file" and entry.content is None and entry.spooled is None
    ]
    more = [f"{count(len(lost) - _MOST_LISTED, 'more file')} not kept"] if len(lost) > _MOST_LISTED else []
    question, left_out = f"what {one_line(' '.join(argv), width=60)!r} does", (*lost[:_MOST_LISTED], *more)
    if lost and not left_too_much(before, after):
        raise unknowable(question, (*left_out, *after.gaps))
    if lost or after.gaps:
        raise insufficient(question, (*left_out, *after.gaps), before.gaps)
    return run_command(after, argv, timeout=timeout)


def left_too_much(before: Tree, after: Tree) -> bool:
    """Whether the agent left more in large files than is kept until its trial is judged. When a trial is judged again,
    large files are missing that were there the first time, so a missing file alone is not the agent's doing."""
    large = ((path, entry) for path, entry in after.entries.items() if entry.kind == "file" and entry.content is None)
    own = sum(entry.size for path, entry in large if not entry.same(before.entries.get(path)))
    return own > Keep().spooled_bytes


def command_words(argv: Sequence[object], *, is_file: Callable[[str], bool]) -> tuple[str, ...]:
    """The words of a command; raises TypeError if it is not given word by word. A single word may contain a space if
    the workspace has a file of that name.
    """
    if not argv:
        raise TypeError("run() needs a command, for example run('pytest', '-q')")
    words = []
    for word in argv:
        if not isinstance(word, str | os.PathLike):
            shown = f"{type(word).__name__}: {one_line(repr(word), width=60)}"
            raise TypeError(f"run() takes each word of a command as text, as in run('cat', 'a.txt'); found a {shown}")
        words.append(str(os.fspath(word)))
    if len(words) == 1 and len(words[0].split()) > 1 and not is_file(words[0]):
        raise TypeError(f"run() takes the words of a command one by one, without a shell: {_as_words(words[0])}")
    return tuple(words)


def _as_words(command: str) -> str:
    """How a command that was given as one text is to be written."""
    try:
        return f"run({', '.join(map(repr, shlex.split(command)))})"
    except ValueError:  # an open quotation mark
        return "run('sh', '-c', …) uses a shell"


def not_kept(entry: Entry) -> str:
    """Why the content of a file is unknown."""
    return f"its {entry.size} bytes were not kept"
