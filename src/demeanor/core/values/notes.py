"""What people say about a trial: a label and a text. Judge models are calibrated with these labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from demeanor.core.text.wording import one_line, shortened
from demeanor.core.values.errors import UsageError

NoteLabel: TypeAlias = Literal["real", "flaky", "eval-bug", "infra"]
LABELS: tuple[NoteLabel, ...] = get_args(NoteLabel)
MEANINGS: Mapping[NoteLabel, str] = {
    "real": "the agent behaved as the verdict says",
    "flaky": "the agent behaves differently from trial to trial",
    "eval-bug": "the eval is wrong, not the agent",
    "infra": "machine, network or provider caused it",
}
"""Label → what it means."""

MOST_CHARACTERS = 4000
"""Of the text of a note."""

_MOST_AUTHOR = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialNote:
    """A note of a person about one trial; never changed, only followed by newer ones."""

    made: str
    """When it was written: ISO 8601, UTC."""

    run: str
    """The name of the run in the store."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    number: int
    """The trial within its cell."""

    label: NoteLabel
    """What the trial shows."""

    text: str = ""
    """The note; may be empty."""

    author: str = ""
    """Who wrote it, as far as it is known."""

    @property
    def trial(self) -> str:
        """`EVAL/SUBJECT/N`."""
        return f"{self.eval}/{self.subject}/{self.number}"


def checked_label(text: str) -> NoteLabel:
    """The label that a text names; raises UsageError."""
    for label in LABELS:
        if label == text:
            return label
    raise UsageError(f"label {shortened(text, 40)!r}: expected {', '.join(LABELS[:-1])} or {LABELS[-1]}")


def checked_text(text: str) -> str:
    """The text of a note without surrounding blanks; raises UsageError if it is too long."""
    plain = text.replace("\r\n", "\n").strip()
    if len(plain) > MOST_CHARACTERS:
        raise UsageError(f"the note has {len(plain)} characters\n  → write at most {MOST_CHARACTERS}")
    return plain


def checked_author(text: str) -> str:
    """The author's name on one line, cut if it is long."""
    return one_line(text, width=_MOST_AUTHOR)
