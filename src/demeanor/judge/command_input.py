"""The commands of checks: they see the workspace as the agent left it, or are not run.

A command on a workspace with emptied or missing files would answer another question: `! grep -q KEY big.log` succeeds
on an empty file.
"""

from __future__ import annotations

from demeanor.core.ports import CommandResult, RunCommand
from demeanor.core.text import count, one_line, printable
from demeanor.core.tree import Entry, Tree
from demeanor.judge.unknowable import unknowable

_MOST_LISTED = 3


def run_on(run_command: RunCommand, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
    """Run a command in a temporary copy of a workspace; raises Unknowable if something of it was not kept."""
    lost = [
        f"{printable(path)!r}: {not_kept(entry)}"
        for path, entry in sorted(tree.entries.items())
        if entry.kind == "file" and entry.content is None and entry.spooled is None
    ]
    more = [f"{count(len(lost) - _MOST_LISTED, 'more file')} not kept"] if len(lost) > _MOST_LISTED else []
    if gaps := (*lost[:_MOST_LISTED], *more, *tree.gaps):
        raise unknowable(f"what {one_line(' '.join(argv), width=60)!r} does", gaps)
    return run_command(tree, argv, timeout=timeout)


def not_kept(entry: Entry) -> str:
    """Why the content of a file is unknown."""
    return f"its {entry.size} bytes were not kept"
