"""The effects of git's commands on the working tree and the network."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import replace

from demeanor.core.trajectory import Kind
from demeanor.judge.effects.effect import Effect, Unclear
from demeanor.judge.effects.options import leading, names, separate
from demeanor.judge.effects.patch import patch_effects
from demeanor.judge.effects.shell import Word
from demeanor.judge.effects.targets import on, unclear

_OPTIONS = ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
_READS = names("show log diff blame cat-file annotate whatchanged shortlog range-diff format-patch")
_SEARCHES = names("ls-files ls-tree grep")
_ONLY_REPOSITORY = names(
    "status add commit branch tag config remote rev-parse rev-list describe reflog notes init push symbolic-ref"
    " show-ref for-each-ref merge-base name-rev count-objects fsck gc hash-object write-tree update-index update-ref"
    " verify-commit verify-tag version help var check-ignore check-attr stage credential ls-remote"
)
_CHANGES_TREE = names("merge rebase pull cherry-pick revert am checkout-index read-tree")
_FETCHES = names("fetch pull clone ls-remote")


def git(words: Sequence[Word], stdin: str | None) -> Iterable[Effect | Unclear]:
    """The effects of `git …`. Commands that change only the repository itself have none."""
    start = leading(words, _OPTIONS)
    folder = separate(words[:start], _OPTIONS).value("-C", "--work-tree")
    for found in _git(words, start, stdin) if start < len(words) else ():
        if isinstance(found, Unclear) or found.target is None or folder is None or found.kind is Kind.FETCH:
            yield found
        else:
            target = None if folder.text is None else posixpath.join(folder.text, found.target)
            yield replace(found, target=target)


def _git(words: Sequence[Word], start: int, stdin: str | None) -> Iterable[Effect | Unclear]:
    command, rest = words[start].text, words[start + 1 :]
    if any((word.text or "").startswith(("alias.", "core.pager=", "core.editor=")) for word in words[:start]):
        yield from unclear("runs git with a configured program")
    arguments = separate(rest, ("-m", "-e", "-s", "-b", "-B", "-n", "-C", "-S", "-G", "-o", "--source", "--format"))
    operands = arguments.operands
    if command in _FETCHES:
        yield from on(Kind.FETCH, operands[:1] or (Word(None),))
    if command in _READS:
        yield from on(Kind.READ, [word for word in operands if _is_file(word)])
    elif command in _SEARCHES:
        pattern = operands[0].text if command == "grep" and operands else None
        yield from on(Kind.SEARCH, (operands[1:] if command == "grep" else operands) or (Word("."),), text=pattern)
    elif command == "rm":
        if not arguments.has("--cached", "-n", "--dry-run"):
            yield from on(Kind.DELETE, operands, reach="below" if arguments.has("-r") else "exact")
    elif command == "clean":
        plain = separate(rest, ("-e", "--exclude"))
        if not plain.has("-n", "--dry-run"):
            yield from on(Kind.DELETE, plain.operands or (Word(None),), reach="below")
    elif command == "mv":
        yield from on(Kind.EDIT, operands, reach="below")
    elif command == "apply":
        if not arguments.has("--check", "--stat", "--numstat", "--summary"):
            known = list(patch_effects(stdin)) if stdin is not None else []
            yield from known or on(Kind.EDIT, (Word(None),))
    else:
        yield from _on_working_tree(command, rest)


def _on_working_tree(command: str | None, rest: Sequence[Word]) -> Iterable[Effect | Unclear]:
    """Commands that replace files of the working tree by other versions."""
    arguments = separate(rest, ("-b", "-B", "--source", "-s", "-m"))
    operands = arguments.operands
    if command == "stash":
        shows = operands[:1] and operands[0].text in {"list", "show", "drop", "clear"}
        yield from () if shows else on(Kind.EDIT, (Word(None),))
    elif command == "restore":
        if not arguments.has("--staged") or arguments.has("--worktree", "-W"):
            yield from on(Kind.EDIT, operands, reach="below")
    elif command in {"checkout", "switch"}:
        if arguments.has("-b", "-B", "-c", "--orphan"):
            return
        after = [index for index, word in enumerate(rest) if word.text == "--"]
        files = rest[after[0] + 1 :] if after else ()
        yield from on(Kind.EDIT, files or (Word(None),), reach="below")
    elif command == "reset":
        yield from on(Kind.EDIT, (Word(None),)) if arguments.has("--hard", "--merge", "--keep") else ()
    elif command == "rebase" and arguments.has("-x", "--exec"):
        yield from unclear("runs a program for each commit")
    elif command == "clone" or command in _CHANGES_TREE:
        yield from on(Kind.EDIT, operands[1:2] if command == "clone" and operands[1:] else (Word(None),), reach="below")
    elif command not in _ONLY_REPOSITORY and command not in _FETCHES:
        yield from unclear(f"runs git {command or '…'}")


def _is_file(word: Word) -> bool:
    """Whether an operand can be a file, not a revision: `HEAD:src/a.py` and `a.py` are, `HEAD~2` and `main` are not."""
    return word.text is None or "." in word.text.rpartition("/")[2].lstrip(".") or ":" in word.text
