"""Glob patterns over paths."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.globs import _walk, as_regex, matches


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


pieces = st.lists(st.sampled_from(["**/", "**", "*", "?", "a", "b/", "[ab]", "[!a]", "/"]), max_size=7).map("".join)


@given(st.text("ab/]", max_size=9), pieces)
def test_a_pattern_with_many_wildcards_means_what_its_regular_expression_means(path, pattern):
    """They are matched in another way, because of the time."""
    assert _walk(path, pattern) is bool(re.fullmatch(as_regex(pattern), path, re.DOTALL))


@pytest.mark.parametrize(
    "pattern", ["*a*a*a*a*a*b", "**/a/**/a/**/a/**/b", "**a**a**a**a**b", "[a]" * 9 + "*" * 30 + "b"]
)
def test_many_wildcards_on_a_long_path_take_linear_time(pattern):
    """An agent chooses the names of its files."""
    assert not matches("a" * 2000, pattern)
    assert not matches("a/" * 1000 + "a", pattern)
