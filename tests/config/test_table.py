"""Strict reading of tables that people write."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import example, given, strategies as st

from demeanor.config.table import Table, path_problem, read_whole
from demeanor.core.values.errors import BadInput

DATA = {"s": "text", "n": 1, "f": 1.5, "b": True, "l": ["a"], "t": {"x": 1}, "ts": [{"y": "a"}], "t2": {"q": "x 'y"}}


def table(data=None, **more) -> Table:
    return Table(DATA if data is None else data, where="file.toml", **more)


def refused(reading, data=None) -> str:
    with pytest.raises(BadInput) as caught:
        reading(table(data))
    return str(caught.value)


def test_every_kind_of_value_is_read():
    """Each reader gives its own type."""
    found = table()
    assert (found.text("s"), found.maybe_text("s"), found.flag("b")) == ("text", "text", True)
    assert (found.whole("n", least=0), found.number("n", least=0), found.number("f", least=0)) == (1, 1.0, 1.5)
    assert (found.texts("l"), found.mapping("t"), found.anything("ts")) == (("a",), {"x": 1}, [{"y": "a"}])
    assert found.choice("s", ["text", "other"]) == "text"
    inner = found.table("t")
    assert inner is not None
    assert inner.whole("x", least=0) == 1
    assert [entry.text("y") for entry in found.tables("ts")] == ["a"]
    assert (found.command("l"), found.table("t2").anything("q")) == (("a",), "x 'y")
    found.finish()


def test_a_command_is_split_as_a_shell_would():
    """Or it is a list of words."""
    assert table({"c": "my-agent --say 'good day' {prompt}"}).command("c") == (
        "my-agent",
        "--say",
        "good day",
        "{prompt}",
    )
    assert table({"c": ["a b", "c"]}).command("c") == ("a b", "c")
    assert table({}).command("c") == ()


def test_what_is_absent_has_its_default():
    """Nothing is required unless it is said to be."""
    found = table({})
    assert (found.text("s"), found.text("s", "d"), found.maybe_text("s"), found.flag("b")) == ("", "d", None, False)
    assert (found.whole("n", least=0), found.number("n", least=0), found.texts("l")) == (None, None, ())
    assert (found.table("t"), found.tables("ts"), found.strings("t"), found.choice("c", ["x"])) == (None, [], {}, None)


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        (lambda found: found.text("n"), "file.toml: n: expected a string, found a whole number (1)"),
        (lambda found: found.whole("f", least=0), "f: expected a whole number, found a number (1.5)"),
        (lambda found: found.whole("b", least=0), "b: expected a whole number, found a boolean (True)"),
        (lambda found: found.flag("n"), "n: expected true or false"),
        (lambda found: found.number("n", least=2), "n: expected a number of at least 2, found 1"),
        (lambda found: found.whole("n", least=0, most=0), "n: expected a whole number from 0 to 0, found 1"),
        (lambda found: found.whole("n", least=2), "n: expected a whole number of at least 2, found 1"),
        (lambda found: found.texts("s"), "s: expected a list of strings, found a string ('text')"),
        (lambda found: found.texts("s"), 'make it a list: ["text"]'),
        (lambda found: found.tables("s"), "s: expected a list, found a string"),
        (lambda found: found.texts("ts"), "ts[0]: expected a string, found a table"),
        (lambda found: found.strings("t"), "t.x: expected a string"),
        (lambda found: found.table("l"), "l: expected a table"),
        (lambda found: found.tables("l"), "l[0]: expected a table, found a string"),
        (lambda found: found.choice("s", ["txt"]), "s: unknown value 'text'\n  → did you mean 'txt'?"),
        (lambda found: found.choice("s", ["a", "b"]), "→ expected one of: a, b"),
        (
            lambda found: found.text("ss", required=True),
            "ss: is required\n  → did you mean to write 'ss' instead of 's",
        ),
        (lambda found: found.text("zzz", required=True), "zzz: is required"),
        (lambda found: found.fail("ss", "is required", "an example"), "did you mean to write 'ss' instead of 's'"),
        (lambda found: found.table("t2").command("q"), "t2.q: \"x 'y\" can't be split into words"),
        (lambda found: found.relative_path("zzz"), "zzz: is required"),
        (lambda found: found.table("t").text("x"), "t.x: expected a string"),
        (lambda found: found.finish(), "s: unknown key"),
    ],
)
def test_mistake_is_refused_with_file_key_and_value(reading, message):
    """Each mistake is one clear error."""
    assert message in refused(reading)


def test_unknown_key_gets_the_nearest():
    """Only keys that were never read are unknown, and the nearest known one is named."""

    def reading(found: Table) -> None:
        found.text("prompt")
        found.finish()

    assert refused(reading, {"promt": "x"}) == "file.toml: promt: unknown key\n  → did you mean 'prompt'?"
    assert "known keys: prompt" in refused(reading, {"zzz": "x"})


def test_an_unknown_key_is_told_before_a_missing_one():
    """It was meant, however it is spelt; with known keys only, the missing one is the error."""

    def read(found: Table) -> None:
        if not found.texts("argv"):
            found.fail("argv", "is required")
        if found.choice("kind", ["edit"]) is None:
            found.fail("kind", "is required")
        found.whole("timeout", least=1)

    def whole(found: Table) -> None:
        read_whole(found, read)

    assert refused(whole, {"zzz": "x"}).startswith("file.toml: zzz: unknown key\n  → known keys: argv, kind, timeout")
    assert refused(whole, {"argv": ["a"], "zzz": "x"}).startswith("file.toml: zzz: unknown key")
    assert refused(whole, {"timeout": 3}) == "file.toml: argv: is required"


@pytest.mark.parametrize("data", [[], "x", None, 3])
def test_what_is_no_table_is_refused(data):
    """The whole file may be something else."""
    with pytest.raises(BadInput, match="expected a table"):
        Table(data, where="file.toml")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
readings = st.sampled_from(
    [
        lambda found: found.text("k"),
        lambda found: found.flag("k"),
        lambda found: found.whole("k", least=0),
        lambda found: found.number("k", least=0),
        lambda found: found.texts("k"),
        lambda found: found.strings("k"),
        lambda found: found.table("k"),
        lambda found: found.tables("k"),
        lambda found: found.choice("k", ["a"]),
        lambda found: found.relative_path("k"),
    ]
)


@given(reading=readings, value=anything)
def test_any_value_is_read_or_refused(reading, value):
    """Whatever stands there, nothing but BadInput comes out, and it names the key."""
    try:
        reading(table({"k": value}))
    except BadInput as error:
        key = error.key or ""
        assert key.startswith("k")


@pytest.mark.parametrize(
    "path", ["a", "a/b.txt", ".hidden", "a/.b", "...", "a b", "-x", "ä/ö", "./a", "a//b", ".gitignore"]
)
def test_path_inside_is_fine(path):
    """Relative paths below the workspace are allowed."""
    assert path_problem(path) is None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "empty"),
        (".", "empty"),
        ("/etc/passwd", "absolute"),
        ("//x", "absolute"),
        ("..", "leads out"),
        ("../x", "leads out"),
        ("a/../../x", "leads out"),
        ("a/..", "leads out"),
        ("a\\b", "not allowed"),
        ("a\0", "not allowed"),
        (".git", ".git"),
        (".git/hooks/x", ".git"),
        ("sub/.git/config", ".git"),
    ],
)
def test_path_outside_is_refused(path, message):
    """Whatever could reach out of the workspace, or into git's own files, is refused."""
    assert message in (path_problem(path) or "")


@example(".//")
@given(st.text(st.sampled_from("ab./\\\0 ~"), max_size=12))
def test_allowed_path_stays_below(path):
    """No path that is allowed leads anywhere but below the workspace."""
    if path_problem(path) is None:
        joined = PurePosixPath("/some/where") / path
        assert joined.is_relative_to("/some/where")
        assert ".." not in joined.parts
        assert joined != PurePosixPath("/some/where")
