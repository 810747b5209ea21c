"""Glob patterns over paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demeanor.core.globs import matches


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py"], ["src/a.py", "a.pyc", "a.py/b"]),
        ("**/*.py", ["a.py", "src/a.py", "a/b/c.py"], ["a.md"]),
        ("src/**", ["src/a", "src/a/b"], ["srcs/a", "src"]),
        ("src/", ["src/a", "src/a/b"], ["src"]),
        ("src/**/test_*.py", ["src/test_a.py", "src/x/y/test_a.py"], ["src/a.py", "test_a.py"]),
        ("**", ["a", "a/b"], []),
        ("./a.txt", ["a.txt"], ["b/a.txt"]),
        ("?.txt", ["a.txt"], ["ab.txt", "/.txt"]),
        ("[ab].txt", ["a.txt"], ["c.txt"]),
        ("[!ab].txt", ["c.txt"], ["a.txt", "/.txt"]),
        ("a+b(1).txt", ["a+b(1).txt"], ["aab1.txt"]),
        ("[.txt", ["[.txt"], ["a.txt"]),
        ("app/[id]/page.tsx", ["app/[id]/page.tsx", "app/i/page.tsx"], ["app/x/page.tsx", "app/id/page.tsx"]),
        ("app/[...slug]/**", ["app/[...slug]/a/b.tsx"], ["app/x/a"]),
    ],
)
def test_pattern_matches_what_it_should(pattern, yes, no):
    """Stars stay within a folder, double stars do not, the rest is literal."""
    assert [path for path in [*yes, *no] if matches(path, pattern)] == yes


parts = st.text(st.characters(exclude_characters="/*?[]", codec="utf-8"), min_size=1, max_size=4)
paths = st.lists(parts, min_size=1, max_size=4).map("/".join).filter(lambda path: not path.startswith("./"))


@given(paths, paths)
def test_plain_path_matches_itself_only(path, other):
    """A pattern without wildcards is a path."""
    assert matches(path, path)
    assert matches(other, path) is (other == path)


@given(paths)
def test_double_star_matches_everything_below(path):
    """`**` and `folder/**` mean all of it."""
    assert matches(path, "**")
    assert matches(f"top/{path}", "top/**")
    assert matches(f"top/{path}", f"**/{path}")


@given(st.text(max_size=8), paths)
def test_no_pattern_crashes(pattern, path):
    """Whatever a person writes, it is a pattern."""
    assert matches(path, pattern) in {True, False}
