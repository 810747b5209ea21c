"""Separates the options of a program from its operands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from demeanor.judge.effects.shell import Word


def names(text: str) -> frozenset[str]:
    """The words of a text, for tables of names."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a program, separated."""

    options: tuple[str, ...]
    """The options, without their values: `-r`, `-f`, `--force`; combined letters are separated."""

    operands: tuple[Word, ...]
    """The other arguments."""

    values: tuple[tuple[str, Word], ...]
    """Options with their values."""

    def has(self, *names: str) -> bool:
        """Whether one of these options is given."""
        return any(name in self.options for name in names)

    def value(self, *names: str) -> Word | None:
        """The value of the last of these options; None if none is given."""
        return next((word for name, word in reversed(self.values) if name in names), None)


def separate(words: Sequence[Word], with_value: Iterable[str] = ()) -> Arguments:
    """Separate options from operands; `with_value` are the options that take the next word as their value."""
    takes = set(with_value)
    options: list[str] = []
    operands: list[Word] = []
    values: list[tuple[str, Word]] = []
    rest = iter(words)
    for word in rest:
        text = word.text
        if text == "--":
            operands += rest
        elif text is None or not text.startswith("-") or text == "-":
            operands.append(word)
        elif text.startswith("--"):
            name, equals, value = text.partition("=")
            options.append(name)
            if equals:
                values.append((name, Word(value)))
            elif name in takes:
                values += _next_value(name, rest)
        else:
            _short(text, takes, rest, options, values)
    return Arguments(tuple(options), tuple(operands), tuple(values))


def leading(words: Sequence[Word], with_value: Iterable[str] = ()) -> int:
    """The number of words at the start that are options, or values of these options."""
    takes = set(with_value)
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "--":
            return at + 1
        if text is None or not text.startswith("-") or text == "-":
            return at
        at += 2 if text in takes else 1
    return min(at, len(words))


def _short(
    text: str, takes: set[str], rest: Iterator[Word], options: list[str], values: list[tuple[str, Word]]
) -> None:
    if text in takes:  # also `-name`, which is one option
        options.append(text)
        values += _next_value(text, rest)
        return
    for index, letter in enumerate(text[1:], 1):
        name = f"-{letter}"
        options.append(name)
        if name in takes:
            attached = text[index + 1 :]
            values += [(name, Word(attached))] if attached else _next_value(name, rest)
            return


def _next_value(name: str, rest: Iterator[Word]) -> list[tuple[str, Word]]:
    value = next(rest, None)
    return [(name, value)] if value is not None else []
