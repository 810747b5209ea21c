"""Words of a command → effects on the files that they name."""

from __future__ import annotations

from collections.abc import Iterable

from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.effect import Effect, Reach, Unclear
from demeanor.judge.effects.shell import Word

DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/urandom", "/dev/random", "-")


def on(kind: Kind, words: Iterable[Word], *, reach: Reach = "exact", text: str | None = None) -> list[Effect]:
    """An effect of a kind on each of these files; devices and the standard input are not files."""
    return [
        Effect(kind=kind, target=word.text, reach="glob" if word.glob else reach, text=text)
        for word in words
        if word.text not in DEVICES and not (word.text or "").startswith("/dev/fd/")
    ]


def unclear(why: str) -> list[Unclear]:
    """One part with unknown effects."""
    return [Unclear(why=why)]


def kept_copy(word: Word, suffix: str) -> Word:
    """The copy of a file that `sed -i.bak` and `perl -i.bak` keep; `*` in the suffix stands for its name."""
    return Word(None if word.text is None or "*" in suffix else f"{word.text}{suffix}", word.glob)
