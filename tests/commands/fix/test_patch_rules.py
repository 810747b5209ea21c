"""Where a fixer may write, and what."""

from __future__ import annotations

import hashlib

from demeanor.commands.fix.patch_rules import Bounds, refusals
from demeanor.commands.fix.violations import Violation
from demeanor.core.tree import Change, Entry
from tests.commands.fix.test_overfitting import EXAM

BOUNDS = Bounds(allowed=("prompts/**", "tools.json"), evals=("evals/**",), protected=("demeanor.toml",))


def entry(text: str | None) -> Entry | None:
    if text is None:
        return None
    content = text.encode()
    return Entry(kind="file", size=len(content), sha256=hashlib.sha256(content).hexdigest(), content=content)


def change(path: str, old: str | None = "old", new: str | None = "new") -> Change:
    how = "added" if old is None else "deleted" if new is None else "changed"
    return Change(path=path, how=how, before=entry(old), after=entry(new))


def fouls(*changes: Change, bounds: Bounds = BOUNDS) -> list[tuple[str, str]]:
    found = refusals(changes, bounds, [EXAM], is_secret=lambda data: b"hunter2" in data)
    return [(one.foul.value, one.path) for one in found]


def test_allowed_files_may_be_changed_added_and_deleted():
    """And no others."""
    assert fouls(change("prompts/a.md"), change("prompts/deep/b.md", None), change("tools.json", "x", None)) == []
    assert fouls(change("tools.json.bak"), change("src/prompts/a.md")) == [
        ("outside", "tools.json.bak"),
        ("outside", "src/prompts/a.md"),
    ]


def test_evals_and_the_configuration_are_out_of_bounds_whatever_is_allowed():
    """Only evals can be let in, beside something else."""
    wide = Bounds(allowed=("**",), evals=("evals/**",), protected=("demeanor.toml",))
    assert fouls(change("evals/eval_a.py"), change("demeanor.toml"), bounds=wide) == [
        ("eval", "evals/eval_a.py"),
        ("outside", "demeanor.toml"),
    ]
    wider = Bounds(allowed=("**",), evals=("evals/**",), protected=("demeanor.toml",), evals_too=True)
    assert fouls(change("evals/eval_a.py"), change("prompts/a.md"), bounds=wider) == []
    assert fouls(change("evals/eval_a.py"), change("demeanor.toml"), bounds=wider) == [("outside", "demeanor.toml")]
    assert fouls(change("evals/eval_a.py"), bounds=wider) == [("eval", "evals/eval_a.py")]


def test_only_plain_files_whose_content_is_known():
    """A link may lead anywhere."""
    link = Entry(kind="link", target="/etc/passwd")
    huge = Entry(kind="file", size=10**9)
    added = Change(path="prompts/x", how="added", before=None, after=link)
    gone = Change(path="prompts/x", how="deleted", before=link, after=None)
    unread = Change(path="prompts/x", how="added", before=None, after=huge)
    for one in (added, gone, unread):
        assert fouls(one) == [("link", "prompts/x")]


def test_a_key_that_was_not_there_is_refused():
    """One that was there before is none of its doing."""
    assert fouls(change("prompts/a.md", "x", "x hunter2")) == [(Violation.SECRET, "prompts/a.md")]
    assert fouls(change("prompts/a.md", "hunter2", "hunter2 x")) == []


def test_only_new_lines_are_held_against_the_eval():
    """What quotes it, and stood there before, may stay or go."""
    old = "Be kind.\nMind settings.ini.\n"
    assert fouls(change("prompts/a.md", old, f"{old}Be brief.\n")) == []
    assert fouls(change("prompts/a.md", "Be kind.\n", old)) == [("special-case", "prompts/a.md")]
    assert fouls(change("prompts/b.md", None, "++ settings.ini")) == [("special-case", "prompts/b.md")]
