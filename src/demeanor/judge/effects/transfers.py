"""The effects of programs that download, copy trees, or pack and unpack archives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from demeanor.core.trajectory import Kind
from demeanor.judge.effects.effect import Effect, Unclear
from demeanor.judge.effects.options import names, separate
from demeanor.judge.effects.shell import Word
from demeanor.judge.effects.targets import on, unclear

Found: TypeAlias = Iterable[Effect | Unclear]
_TAR_PROGRAMS = re.compile(
    r"--(?:checkpoint-action|to-command|use-compress-program|info-script|new-volume-script|rsh)|-I"
)


def _curl(words: Sequence[Word], _: str | None) -> Found:
    takes = (
        "-o -O -H -X -d -u -A -e -b -c -F -T -m -w -x --output --header --request --data --data-raw --url --max-time"
    )
    takes += (
        " --data-binary --user --retry --connect-timeout --form --write-out -P --directory-prefix --output-document"
    )
    arguments = separate(words, [option for option in takes.split() if option != "-O"])
    urls = [*arguments.operands, *(word for name, word in arguments.values if name == "--url")]
    yield from on(Kind.FETCH, urls or (Word(None),))
    output = arguments.value("-o", "--output")
    if output is not None or arguments.has("-O", "--remote-name", "-J"):
        yield from on(Kind.EDIT, (output or Word(None),))


def _wget(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, names("-O -o -P -t -T -U --output-document --header --directory-prefix --tries"))
    yield from on(Kind.FETCH, arguments.operands or (Word(None),))
    output = arguments.value("-O", "--output-document")
    if not arguments.has("--spider") and (output is None or output.text not in {"-", "/dev/null"}):
        yield from on(Kind.EDIT, (output or Word(None),))


def _tar(words: Sequence[Word], _: str | None) -> Found:
    first = (words[0].text or "") if words else ""
    mode = first if not first.startswith("--") else {"--list": "t", "--create": "c"}.get(first, "x")
    if any(_TAR_PROGRAMS.match(word.text or "") for word in words):
        return unclear("runs a program for the files of an archive")
    removed = on(Kind.DELETE, (Word(None),)) if any(word.text == "--remove-files" for word in words) else []
    return [*on(Kind.READ if "t" in mode else Kind.EDIT, (Word(None),)), *removed]


def _edits_something(_: Sequence[Word], __: str | None) -> Found:
    return on(Kind.EDIT, (Word(None),))


def _gzip(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-S",))
    if arguments.has("-c", "--stdout", "-l", "-t", "--list", "--test"):
        return on(Kind.READ, arguments.operands)
    return [*on(Kind.EDIT, (Word(None),)), *(() if arguments.has("-k") else on(Kind.DELETE, arguments.operands))]


def _rsync(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-e", "--exclude", "--include"))
    yield from on(Kind.READ, arguments.operands[:-1])
    yield from on(Kind.EDIT, arguments.operands[-1:], reach="below")
    if any(option.startswith("--delete") for option in arguments.options):
        yield from on(Kind.DELETE, arguments.operands[-1:], reach="below")
    if arguments.has("--remove-source-files"):
        yield from on(Kind.DELETE, arguments.operands[:-1], reach="below")


TRANSFERS: Mapping[str, Callable[[Sequence[Word], str | None], Found]] = {
    "curl": _curl, "wget": _wget, "rsync": _rsync, "tar": _tar, "unzip": _edits_something, "zip": _edits_something,
    "split": _edits_something, "gzip": _gzip, "gunzip": _gzip, "xz": _gzip, "bzip2": _gzip,
}  # fmt: skip
"""Functions from the arguments and the standard input to effects."""
