"""The rules of a fix: what a change may touch, which evals guard it, and what counts as fixed."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from demeanor.commands.fix.rules import Bounds, Violation, combine_decisions, find_violations, guard_suite
from demeanor.core.trees.tree import Change, Entry
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision
from tests.commands.fix.test_overfitting import PORT_EVAL

BOUNDS = Bounds(allowed=("prompts/**", "tools.json"), evals=("evals/**",), protected=("demeanor.toml",))


def entry(text: str | None) -> Entry | None:
    if text is None:
        return None
    content = text.encode()
    return Entry(kind="file", size=len(content), sha256=hashlib.sha256(content).hexdigest(), content=content)


def change(path: str, old: str | None = "old", new: str | None = "new") -> Change:
    how = "added" if old is None else "deleted" if new is None else "changed"
    return Change(path=path, how=how, before=entry(old), after=entry(new))


def violations(*changes: Change, bounds: Bounds = BOUNDS) -> list[tuple[str, str]]:
    found = find_violations(changes, bounds, [PORT_EVAL], is_secret=lambda data: b"hunter2" in data)
    return [(one.foul.value, one.path) for one in found]


def test_allowed_files_may_be_changed_added_and_deleted():
    """Other files may not."""
    assert violations(change("prompts/a.md"), change("prompts/deep/b.md", None), change("tools.json", "x", None)) == []
    assert violations(change("tools.json.bak"), change("src/prompts/a.md")) == [
        ("outside", "tools.json.bak"),
        ("outside", "src/prompts/a.md"),
    ]


def test_evals_and_the_configuration_are_protected_even_if_the_pattern_allows_them():
    """Only evals can be allowed, together with another change."""
    wide = Bounds(allowed=("**",), evals=("evals/**",), protected=("demeanor.toml",))
    assert violations(change("evals/eval_a.py"), change("demeanor.toml"), bounds=wide) == [
        ("eval", "evals/eval_a.py"),
        ("outside", "demeanor.toml"),
    ]
    wider = Bounds(allowed=("**",), evals=("evals/**",), protected=("demeanor.toml",), evals_allowed=True)
    assert violations(change("evals/eval_a.py"), change("prompts/a.md"), bounds=wider) == []
    assert violations(change("evals/eval_a.py"), change("demeanor.toml"), bounds=wider) == [
        ("outside", "demeanor.toml")
    ]
    assert violations(change("evals/eval_a.py"), bounds=wider) == [("eval", "evals/eval_a.py")]


def test_only_regular_files_with_known_content_are_accepted():
    """A link can point anywhere."""
    link = Entry(kind="link", target="/etc/passwd")
    huge = Entry(kind="file", size=10**9)
    added = Change(path="prompts/x", how="added", before=None, after=link)
    gone = Change(path="prompts/x", how="deleted", before=link, after=None)
    unread = Change(path="prompts/x", how="added", before=None, after=huge)
    for one in (added, gone, unread):
        assert violations(one) == [("link", "prompts/x")]


def test_a_new_secret_is_refused():
    """One that was there before is not."""
    assert violations(change("prompts/a.md", "x", "x hunter2")) == [(Violation.SECRET, "prompts/a.md")]
    assert violations(change("prompts/a.md", "hunter2", "hunter2 x")) == []


def test_only_new_text_counts_as_a_quotation():
    """Text that quoted the eval before may stay or go."""
    old = "Be kind.\nMind settings.ini.\n"
    assert violations(change("prompts/a.md", old, f"{old}Be brief.\n")) == []
    assert violations(change("prompts/a.md", "Be kind.\n", old)) == [("special-case", "prompts/a.md")]
    assert violations(change("prompts/b.md", None, "++ settings.ini")) == [("special-case", "prompts/b.md")]


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ("accept accept", "accept"),
        ("accept skipped", "accept"),
        ("accept undecided", "undecided"),
        ("undecided reject accept", "reject"),
        ("skipped", "undecided"),
        ("", "undecided"),
    ],
)
def test_one_reject_rejects_and_no_decision_is_undecided(answers: str, found: str):
    """Skipped cells do not count."""
    decisions = [Decision(answer=answer, rule="r", reason="") for answer in answers.split()]  # type: ignore[arg-type]
    assert combine_decisions(decisions) == found


def test_the_guard_suite_is_chosen_by_policy_or_by_name():
    """The evals to fix are never in it."""
    evals = [replace(PORT_EVAL.eval, name=policy.value, policy=policy) for policy in Policy]
    assert guard_suite(evals, "always", exclude=["x"]) == ("ALWAYS_PASSES",)
    assert guard_suite(evals, "always", exclude=["ALWAYS_PASSES"]) == ()
    assert guard_suite(evals, "all", exclude=[]) == ("ALWAYS_PASSES", "USUALLY_PASSES")
    assert guard_suite(evals, "none", exclude=[]) == ()
    assert guard_suite(evals, ("a", "b"), exclude=["b"]) == ("a",)
