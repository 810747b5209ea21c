"""The effects of programs that download, copy trees, or pack and unpack archives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.effect import Effect, Unclear
from demeanor.judge.effects.options import names, separate
from demeanor.judge.effects.shell import Word
from demeanor.judge.effects.targets import on, unclear

Found: TypeAlias = Iterable[Effect | Unclear]
_TAR_PROGRAMS = re.compile(
    r"--(?:checkpoint-action|to-command|use-compress-program|info-script|new-volume-script|rsh)|-I"
)


_CURL_OPTIONS = names(
    "-o -H -X -d -u -A -e -b -c -F -T -m -w -x -r -K -E --output --header --request --data --data-raw --data-binary"
    " --data-urlencode --data-ascii --json --form --form-string --upload-file --url --max-time --user --retry"
    " --retry-delay --retry-max-time --connect-timeout --write-out --proto --proxy --user-agent --referer --cookie"
    " --cookie-jar --range --limit-rate --resolve --interface --config --cacert --cert --key --max-redirs --ciphers"
)
_CURL_DATA = names("-d --data --data-binary --data-urlencode --data-ascii --json -F --form")
_SENT_FILE = re.compile(r"(?:[^@=]*=)?[@<]([^;,]+)")


def _curl(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, _CURL_OPTIONS)
    urls = [*arguments.operands, *(word for name, word in arguments.values if name == "--url")]
    yield from on(Kind.FETCH, urls or (Word(None),))
    for name, word in arguments.values:
        if name in {"-T", "--upload-file"}:
            yield from on(Kind.READ, (word,))
        elif name in _CURL_DATA and (sent := _SENT_FILE.fullmatch(word.text or "")):
            yield from on(Kind.READ, (Word(sent[1]),))
    output = arguments.value("-o", "--output")
    if output is not None or arguments.has("-O", "--remote-name", "-J"):
        yield from on(Kind.EDIT, (output or Word(None),))


def _wget(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, names("-O -o -P -t -T -U --output-document --header --directory-prefix --tries"))
    yield from on(Kind.FETCH, arguments.operands or (Word(None),))
    yield from on(Kind.READ, [word for name, word in arguments.values if name in {"--post-file", "--body-file"}])
    output = arguments.value("-O", "--output-document")
    if not arguments.has("--spider") and (output is None or output.text not in {"-", "/dev/null"}):
        yield from on(Kind.EDIT, (output or Word(None),))


def _tar(words: Sequence[Word], _: str | None) -> Found:
    if any(_TAR_PROGRAMS.match(word.text or "") for word in words):
        yield from unclear("runs a program for the files of an archive")
        return
    first = (words[0].text or "") if words else ""
    dashed = words if first.startswith("-") else [Word(f"-{first}"), *words[1:]]
    arguments = separate(dashed, names("-f -C -T -X -b --file --directory --files-from --exclude --transform"))
    archive = arguments.value("-f", "--file")
    if arguments.has("-c", "-r", "-u", "-A", "--create", "--append", "--update"):
        elsewhere = arguments.has("-C", "--directory", "-T", "--files-from")
        packed = (Word(None),) if elsewhere else arguments.operands
        yield from on(Kind.READ, packed, reach="below")
        yield from on(Kind.EDIT, () if archive is None else (archive,))
        yield from on(Kind.DELETE, packed if arguments.has("--remove-files") else (), reach="below")
        return
    yield from on(Kind.READ, (archive or Word("-"),))
    if not arguments.has("-t", "--list", "-O", "--to-stdout", "-d", "--diff", "--compare"):
        yield from on(Kind.EDIT, (Word(None),))


def _unzip(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-d", "-x"))
    shows = arguments.has("-l", "-t", "-v", "-Z", "-p", "-c")
    return [*on(Kind.READ, arguments.operands[:1]), *([] if shows else on(Kind.EDIT, (Word(None),)))]


def _zip(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-x", "-i", "-b", "-n", "-t", "-P"))
    archive, files = arguments.operands[:1], () if arguments.has("-d") else arguments.operands[1:]
    removed = files if arguments.has("-m") else ()
    effects = [*on(Kind.READ, files, reach="below"), *on(Kind.EDIT, archive or (Word(None),))]
    return [*effects, *on(Kind.DELETE, removed, reach="below")]


def _edits_something(_: Sequence[Word], __: str | None) -> Found:
    return on(Kind.EDIT, (Word(None),))


def _gzip(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-S",))
    if arguments.has("-c", "--stdout", "-l", "-t", "--list", "--test"):
        return on(Kind.READ, arguments.operands)
    return [*on(Kind.EDIT, (Word(None),)), *(() if arguments.has("-k") else on(Kind.DELETE, arguments.operands))]


def _rsync(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, names("-e -f --exclude --include --exclude-from --files-from --rsh --filter --chmod"))
    yield from on(Kind.READ, arguments.operands[:-1], reach="below")
    if arguments.has("-n", "--dry-run", "--list-only"):
        return
    yield from on(Kind.EDIT, arguments.operands[-1:], reach="below")
    if any(option.startswith("--delete") for option in arguments.options):
        yield from on(Kind.DELETE, arguments.operands[-1:], reach="below")
    if arguments.has("--remove-source-files"):
        yield from on(Kind.DELETE, arguments.operands[:-1], reach="below")


TRANSFERS: Mapping[str, Callable[[Sequence[Word], str | None], Found]] = {
    "curl": _curl, "wget": _wget, "rsync": _rsync, "tar": _tar, "unzip": _unzip, "zip": _zip,
    "split": _edits_something, "csplit": _edits_something, "gzip": _gzip, "gunzip": _gzip, "xz": _gzip, "bzip2": _gzip,
}  # fmt: skip
"""Functions from the arguments and the standard input to effects."""
