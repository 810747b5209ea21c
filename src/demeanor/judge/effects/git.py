"""The effects of git's commands on the working tree and the network."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import replace

from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.effect import Effect, Unclear
from demeanor.judge.effects.options import leading, names, separate
from demeanor.judge.effects.patch import patch_effects
from demeanor.judge.effects.shell import Word
from demeanor.judge.effects.targets import on, unclear

_OPTIONS = ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
_READS = names("show log diff blame cat-file annotate whatchanged shortlog range-diff format-patch")
_READ_OPTIONS = ("-n", "-S", "-G", "-L", "-O", "-o", "--output", "--output-directory", "--format", "--since", "--until")
_PATCH = ("-p", "--patch", "-u", "-U", "--unified", "-L", "-c", "--cc", "--word-diff", "--patch-with-stat")
_HISTORY = names("log shortlog whatchanged")
_SUMMARY = names(
    "--stat --shortstat --name-only --name-status --numstat --summary --dirstat --raw --quiet -s --no-patch --check"
)
_SEARCHES = names("ls-files ls-tree grep")
_ONLY_REPOSITORY = names(
    "status add commit branch tag config remote rev-parse rev-list describe reflog notes init push symbolic-ref"
    " show-ref for-each-ref merge-base name-rev count-objects fsck gc hash-object write-tree update-index update-ref"
    " verify-commit verify-tag version help var check-ignore check-attr stage credential ls-remote"
)
_CHANGES_TREE = names("merge rebase pull cherry-pick revert am checkout-index read-tree")
_NEW_BRANCH = ("-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan")
_HARMLESS_SETTINGS = names("core.pager=cat core.pager=less core.pager= core.editor=true core.editor=:")
_FETCHES = names("fetch pull clone ls-remote")
_ONLY_SHOWS = {
    "rm": ("--cached", "-n", "--dry-run"),
    "clean": ("-n", "--dry-run"),
    "apply": ("--check", "--stat", "--numstat", "--summary"),
}
"""Command → options with which it leaves the working tree alone."""


def git(words: Sequence[Word], stdin: str | None) -> Iterable[Effect | Unclear]:
    """The effects of `git …`. Commands that change only the repository itself have none."""
    start = leading(words, _OPTIONS)
    folder = separate(words[:start], _OPTIONS).value("-C", "--work-tree")
    for effect in _git(words, start, stdin) if start < len(words) else ():
        if isinstance(effect, Unclear) or effect.target is None or folder is None or effect.kind is Kind.FETCH:
            yield effect
        else:
            target = None if folder.text is None else posixpath.join(folder.text, effect.target)
            yield replace(effect, target=target)


def _git(words: Sequence[Word], start: int, stdin: str | None) -> Iterable[Effect | Unclear]:
    command, rest = words[start].text, words[start + 1 :]
    settings = [word.text or "" for word in words[:start] if word.text not in _HARMLESS_SETTINGS]
    if any(text.startswith(("alias.", "core.pager=", "core.editor=")) for text in settings):
        yield from unclear("runs git with a configured program")
    arguments = separate(rest, ("-e", "--exclude") if command == "clean" else ())
    operands = arguments.operands
    if arguments.has(*_ONLY_SHOWS.get(command or "", ())):
        return
    if command in _FETCHES:
        yield from on(Kind.FETCH, operands[:1] or (Word(None),))
    if command in _READS:
        yield from _shown(command, rest)
    elif command in _SEARCHES:
        yield from _searched(command, rest)
    elif command == "rm":
        yield from on(Kind.DELETE, operands, reach="below" if arguments.has("-r") else "exact")
    elif command == "clean":
        yield from on(Kind.DELETE, operands or (Word(None),), reach="below")
    elif command == "mv":
        yield from on(Kind.EDIT, operands, reach="below")
    elif command == "apply":
        edits = list(patch_effects(stdin)) if stdin is not None else []
        yield from edits or on(Kind.EDIT, (Word(None),))
    else:
        yield from _on_working_tree(command, rest)


def _shown(command: str, rest: Sequence[Word]) -> Iterable[Effect | Unclear]:
    """Commands that show the content of files, which they need not name."""
    named, files = _at_dashes(rest)
    arguments = separate(named, _READ_OPTIONS)
    if output := arguments.value("--output"):
        yield from on(Kind.EDIT, (output,))
    if command in {"blame", "annotate"}:
        files = files or arguments.operands[-1:]
    elif command == "cat-file":
        files = files or () if arguments.has("-t", "-s", "-e") else [_in_revision(word) for word in arguments.operands]
    elif (command in _HISTORY or _SUMMARY & set(arguments.options)) and not arguments.has(*_PATCH):
        return
    elif not files:
        by_name = arguments.has("--no-index")
        files = [_in_revision(word) for word in arguments.operands if by_name or _is_file(word)] or (Word(None),)
    yield from on(Kind.READ, files, reach="below")
    if command == "format-patch" and not arguments.has("--stdout"):
        yield from on(Kind.EDIT, (arguments.value("-o", "--output-directory") or Word(None),), reach="below")


def _searched(command: str, rest: Sequence[Word]) -> Iterable[Effect | Unclear]:
    named, files = _at_dashes(rest)
    pattern: str | None = None
    if command == "grep":
        arguments = separate(named, ("-e", "-f", "-A", "-B", "-C", "-m", "--max-depth", "--threads", "--max-count"))
        word, operands = arguments.value("-e"), arguments.operands
        if word is None and operands:
            word, operands = operands[0], operands[1:]
        pattern = word.text if word is not None else None
        if arguments.has("-O", "--open-files-in-pager"):
            yield from unclear("runs a program for the results of git grep")
    else:
        operands = separate(named, ("-x", "-X", "--exclude", "--exclude-from", "--with-tree")).operands
        operands = operands[1:] if command == "ls-tree" else operands
    yield from on(Kind.SEARCH, files or operands or (Word("."),), text=pattern)


def _at_dashes(words: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
    """The words before and after `--`."""
    at = next((index for index, word in enumerate(words) if word.text == "--"), len(words))
    return words[:at], words[at + 1 :]


def _on_working_tree(command: str | None, rest: Sequence[Word]) -> Iterable[Effect | Unclear]:
    """Commands that replace files of the working tree by other versions."""
    arguments = separate(rest, (*_NEW_BRANCH, "--source", "-s", "-m"))
    operands = arguments.operands
    if command == "stash":
        shows = operands[:1] and operands[0].text in {"list", "show", "drop", "clear"}
        yield from () if shows else on(Kind.EDIT, (Word(None),))
        yield from on(Kind.READ, (Word(None),)) if shows and arguments.has("-p", "--patch") else ()
    elif command == "restore":
        if not arguments.has("--staged", "-S") or arguments.has("--worktree", "-W"):
            yield from on(Kind.EDIT, operands, reach="below")
    elif command == "switch" and arguments.has("--orphan"):
        yield from on(Kind.DELETE, (Word(None),), reach="below")
    elif command in {"checkout", "switch"}:
        files = _at_dashes(rest)[1]
        if not arguments.has(*_NEW_BRANCH) or files or operands:  # a new branch without a start changes no file
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
    """Whether an operand can be a file, not a revision: `HEAD:src/a.py` and `a.py` are, `HEAD~2` and `v1.2` are not."""
    if word.text is None or ":" in word.text:
        return True
    _, dot, ending = word.text.rpartition("/")[2].lstrip(".").rpartition(".")
    is_range = ".." in word.text.replace("../", "")
    return not is_range and bool(dot) and not ending.isdigit()


def _in_revision(word: Word) -> Word:
    """The file in `HEAD:src/a.py`."""
    return Word(word.text.rpartition(":")[2] or None) if word.text and ":" in word.text else word
