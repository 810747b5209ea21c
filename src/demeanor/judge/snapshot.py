"""Prompt snapshots: compare the agent's system prompt and tools with a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from demeanor.core.text.line_diff import DiffWork, diff_lines, opcodes
from demeanor.core.text.wording import count, opening, without_secrets
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.values.checks import PromptSnapshot
from demeanor.core.values.eval import Eval
from demeanor.core.values.evidence import Evidence

_UPDATE = "`demeanor run --update-snapshots` updates it"


def compare_snapshot(file: Path, asked: str) -> None:
    """Raise AssertionError if `asked` differs from the file, or if there is no file."""
    try:
        snapshot = file.read_text("utf-8")
    except FileNotFoundError:
        raise AssertionError(f"the snapshot {file.name} does not exist; {_UPDATE}") from None
    if snapshot != asked:
        difference = unified_diff(snapshot, asked, ("snapshot", "sent now"))
        raise AssertionError(f"the agent's prompt or tools differ from {file.name}; {_UPDATE}\n{difference}")


def write_snapshots(eval: Eval, evidence: Evidence) -> None:  # noqa: A002 - the term of the domain
    """Write what the agent sent to the eval's snapshot files; nothing if it is unknown."""
    subject = evidence.trial.rpartition("/")[0].removeprefix(f"{eval.name}/")
    for check in eval.checks:
        if isinstance(check, PromptSnapshot) and evidence.asked is not None:
            file = check.file_of(subject)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, evidence.asked)


# Diffs that show the words that differ, however long their lines are.

_WIDTH = 200
"""Longer lines are shortened to the places that differ."""

_CONTEXT = 4
"""Words shown on both sides of a difference."""

_PLACES = 3
"""Places of one line that are shown."""

_LONGEST = 80
"""Characters of one difference that are shown."""

_WORD = re.compile(r"\S+\s*|\s+")


def unified_diff(before: str, after: str, names: tuple[str, str], *, lines: int = 40) -> str:
    """A unified diff of two texts; changed lines that are too long are shortened to the words that differ."""
    work = DiffWork()
    changed = [line.removesuffix("\n") for line in diff_lines(before.splitlines(), after.splitlines(), work, context=2)]
    if not changed and before != after:
        return f"only line ends differ: {names[0]} ends with {before[-1:]!r}, {names[1]} with {after[-1:]!r}"
    shown = [f"--- {names[0]}", f"+++ {names[1]}", *_shortened(changed, work)] if changed else []
    return opening("\n".join(shown), lines=lines, width=3 * _WIDTH)


def changed_words(old: str, new: str, work: DiffWork | None = None) -> tuple[str, str]:
    """Two lines that differ, shortened to the places where they differ if they are long."""
    if max(len(old), len(new)) < _WIDTH:
        return old, new
    words, others = _WORD.findall(without_secrets(old)), _WORD.findall(without_secrets(new))
    places = _places(words, others, work or DiffWork())
    more = f" (and {count(len(places) - _PLACES, 'more difference')})" if len(places) > _PLACES else ""
    shown = [_shown(words[a:b], others[c:d]) for a, b, c, d in places[:_PLACES]]
    return tuple(  # type: ignore[return-value]
        _joined(
            side, [(place[2 * at], place[2 * at + 1], text[at]) for place, text in zip(places, shown, strict=False)]
        )
        + more
        for at, side in enumerate((words, others))
    )


def _shortened(lines: list[str], work: DiffWork) -> Iterator[str]:
    """The lines of a diff; each removed line is paired with the added line that replaces it."""
    at = 0
    while at < len(lines):
        removed = _run(lines, at, "-")
        added = _run(lines, at + removed, "+")
        pairs = [
            changed_words(lines[at + i][1:], lines[at + removed + i][1:], work) for i in range(min(removed, added))
        ]
        rest = lines[at + len(pairs) : at + removed], lines[at + removed + len(pairs) : at + removed + added]
        yield from [*(f"-{old}" for old, _ in pairs), *rest[0], *(f"+{new}" for _, new in pairs), *rest[1]]
        at += removed + added
        if not removed + added:
            yield lines[at]
            at += 1


def _run(lines: list[str], start: int, sign: str) -> int:
    """The number of lines from `start` that begin with `sign`."""
    return next((at - start for at in range(start, len(lines)) if not lines[at].startswith(sign)), len(lines) - start)


def _places(old: list[str], new: list[str], work: DiffWork) -> list[tuple[int, int, int, int]]:
    """Where two lists of words differ, as ranges of both; differences that are close together are one."""
    places: list[tuple[int, int, int, int]] = []
    for kind, a, b, c, d in opcodes(old, new, work):
        if kind == "equal":
            continue
        if places and a - places[-1][1] <= 2 * _CONTEXT:
            places[-1] = (places[-1][0], b, places[-1][2], d)
        else:
            places.append((a, b, c, d))
    return places


def _common(words: Sequence[str], other: Sequence[str]) -> int:
    """The length of the common beginning."""
    pairs = zip(words, other, strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(words), len(other)))


def _shown(old: list[str], new: list[str]) -> tuple[str, str]:
    """Both sides of one difference; within very long words, the characters that differ."""
    before, after = "".join(old), "".join(new)
    if max(len(before), len(after)) <= _LONGEST:
        return before, after
    start = max(0, _common(before, after) - _CONTEXT)
    cut = "…" if start else ""
    return tuple(  # type: ignore[return-value]
        cut + text[start : start + _LONGEST] + ("…" if len(text) > start + _LONGEST else "") for text in (before, after)
    )


def _joined(words: list[str], places: list[tuple[int, int, str]]) -> str:
    """The places with the words around them; `…` stands for everything that is left out."""
    output, last, cut = "", 0, False
    for start, end, text in places:
        before, after = ("".join(part) for part in (words[max(last, start - _CONTEXT) : start], words[end:][:_CONTEXT]))
        output += "…" if start - _CONTEXT > last or len(before) > _LONGEST // 2 else ""
        output += before[-_LONGEST // 2 :] + text + after[: _LONGEST // 2]
        last, cut = end + _CONTEXT, len(after) > _LONGEST // 2
    return output + ("…" if last < len(words) or cut else "")
