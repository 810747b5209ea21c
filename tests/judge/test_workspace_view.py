"""`rig.workspace`: files, changes and commands; what is missing fails the check and says what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.ports import CommandResult
from demeanor.judge.unknowable import Unknowable
from demeanor.judge.workspace_view import MissingFile
from tests.judge.helpers import file, rig, run_command, tree


def workspace(after, before=None, **more):
    return rig(before=before, after=after, **more).workspace


def test_file_can_be_read_in_every_way():
    """Text, bytes, lines and JSON."""
    found = workspace({"a.json": '{"b": [1]}\n', "c.txt": "one\r\ntwo"})
    assert found["a.json"].text == '{"b": [1]}\n'
    assert found["a.json"].bytes == b'{"b": [1]}\n'
    assert found["a.json"].json == {"b": [1]}
    assert found["c.txt"].lines == ["one", "two"]
    assert found["./c.txt"].exists


def test_missing_file_fails_and_names_what_is_there():
    """A file that is not there is the agent's failure, with the nearest name and the list."""
    with pytest.raises(
        MissingFile,
        match=r"there is no 'notes.txt' in the workspace \(nearest: 'note.txt'\); it contains: a.py, note.txt",
    ):
        _ = workspace({"note.txt": "", "a.py": ""})["notes.txt"].text
    with pytest.raises(MissingFile, match=r"there is no 'notes.txt' in the workspace; it contains: note.txt"):
        _ = workspace({"note.txt": ""})["notes.txt"].text
    assert issubclass(MissingFile, AssertionError)


def test_empty_workspace_says_so():
    """Nothing is there."""
    with pytest.raises(MissingFile, match="there is no 'a' in the workspace; it is empty"):
        _ = workspace({})["a"].bytes


def test_long_listing_is_cut():
    """A thousand files are not listed."""
    with pytest.raises(MissingFile, match="and 980 more"):
        _ = workspace({f"f{number}": "" for number in range(1000)})["a"].text


def test_existence_is_asked_without_failing():
    """`exists`, `in` and `.exists` answer; a folder exists where something is in it, but is no file."""
    found = workspace({"src/app.py": ""})
    assert found.exists("src/app.py")
    assert "src" in found
    assert "lib" not in found
    assert not found["src"].exists
    assert found["src/app.py"].exists
    assert found["src/app.py"]
    assert not found["missing.txt"]


def test_folder_is_no_file():
    """Reading a folder says what it is."""
    with pytest.raises(MissingFile, match="'src' is a folder"):
        _ = workspace({"src/app.py": ""})["src"].text


def test_list_follows_the_pattern():
    """`*` stays within a folder, `**` does not."""
    found = workspace({"a.py": "", "b.md": "", "src/c.py": "", ".git/config": ""})
    assert found.list() == ["a.py", "b.md", "src/c.py"]
    assert found.list("*.py") == ["a.py"]
    assert found.list("**/*.py") == ["a.py", "src/c.py"]
    assert list(found) == found.list()


def test_changes_are_listed_by_path():
    """Added, changed and deleted, and the same as a diff; git's own files are left out."""
    found = workspace({"a": "1\n", "b": "2\n", ".git/x": "1"}, {"b": "1\n", "c": "1\n", ".git/x": "0"})
    assert [(change.path, change.how) for change in found.changes] == [
        ("a", "added"),
        ("b", "changed"),
        ("c", "deleted"),
    ]
    assert found.changed_paths == ["a", "b", "c"]
    assert (found.added, found.modified, found.deleted) == (["a"], ["b"], ["c"])
    assert "-1\n+2\n" in found.diff


def test_unchanged_except_passes_or_names_the_strays():
    """It is true, or it fails the check with every path that should not have changed."""
    found = workspace({"a.txt": "2", "b.txt": "2", "c": "1"}, {"a.txt": "1", "b.txt": "1", "c": "1"})
    assert found.unchanged_except("*.txt")
    with pytest.raises(AssertionError, match=r"changed: b.txt \(changed\) \(only a.txt may change\)"):
        found.unchanged_except("a.txt")
    with pytest.raises(AssertionError, match=r"changed: a.txt \(changed\), b.txt \(changed\)$"):
        found.unchanged_except()


def test_text_that_is_none_fails_the_check():
    """Bytes that are no UTF-8, and text that is no JSON, are the agent's failure."""
    found = workspace({"a": b"\xff\xfe", "b": "not json"})
    with pytest.raises(MissingFile, match="not UTF-8 text: byte 0"):
        _ = found["a"].text
    with pytest.raises(MissingFile, match=r"'b' is not valid JSON.*not json"):
        _ = found["b"].json


def test_file_too_large_to_keep_fails_if_the_agent_left_it():
    """What was there at the start and was not kept is unknown; what the agent wrote is its own doing."""
    big = Tree(entries={"big": Entry(kind="file", size=10**9, content=None, sha256="1")})
    assert workspace(big)["big"].exists
    with pytest.raises(MissingFile, match="1000000000 bytes"):
        _ = workspace(big)["big"].text
    with pytest.raises(Unknowable, match="1000000000 bytes"):
        _ = workspace(big, before=big)["big"].text


def test_link_is_followed_inside_only():
    """A link within the workspace is its target; one that leads out, or in circles, is no file."""
    link = lambda target: Entry(kind="link", target=target)
    found = workspace(
        Tree(
            entries={
                "a/file": file("x"),
                "good": link("a/file"),
                "a/up": link("../good"),
                "out": link("/etc/passwd"),
                "round": link("round"),
            }
        )
    )
    assert found["good"].text == found["a/up"].text == "x"
    assert not found["out"].exists
    for name in ("out", "round"):
        with pytest.raises(MissingFile, match="is a link to"):
            _ = found[name].text


def test_device_is_no_file():
    """A pipe is noted, never opened."""
    with pytest.raises(MissingFile, match="is not a regular file"):
        _ = workspace(Tree(entries={"pipe": Entry(kind="other")}))["pipe"].text


@pytest.mark.parametrize(
    "question",
    [
        lambda found: found.exists("nowhere"),
        lambda found: "nowhere" in found,
        lambda found: found["nowhere"].text,
        lambda found: found.list(),
        lambda found: found.changes,
        lambda found: found.changed_paths,
        lambda found: found.diff,
        lambda found: found.unchanged_except("*"),
    ],
)
def test_incomplete_tree_makes_absence_unknown(question):
    """Where files were left out at the start, absence is unknown; if the agent made it so, it fails."""
    gapped = tree({"a": ""}, gaps=("too many files",))
    with pytest.raises(Unknowable, match="too many files"):
        question(workspace(gapped, before=gapped))
    with pytest.raises(MissingFile, match="what the agent left: too many files"):
        question(workspace(gapped))


def test_incomplete_tree_still_tells_what_it_has():
    """What is there is there, and a stray change is a stray change."""
    gapped = workspace(tree({"a": ""}, gaps=("too many files",)))
    assert gapped.exists("a")
    assert gapped["a"].text == ""
    with pytest.raises(AssertionError, match="changed: a"):
        gapped.unchanged_except("b")


def test_command_runs_in_a_copy():
    """The command sees the agent's files and leaves no trace."""
    found = workspace({"a.txt": "hello"}, run=run_command)
    end = found.run("python3", "-c", "print(open('a.txt').read()); open('a.txt', 'w')")
    assert (end.exit_code, end.stdout) == (0, "hello\n")
    assert found["a.txt"].text == "hello"


def test_command_that_failed_is_false():
    """`assert rig.workspace.run(…)` checks that the command succeeded."""
    found = workspace({}, run=run_command)
    assert found.run("python3", "-c", "")
    assert not found.run("python3", "-c", "raise SystemExit(1)")
    assert not CommandResult(exit_code=0, stdout="", stderr="", timed_out=True)


@pytest.mark.parametrize(
    ("argv", "remedy"),
    [
        (("cat a.txt",), "run('cat', 'a.txt')"),
        (("grep 'two words' a.txt",), "run('grep', 'two words', 'a.txt')"),
        (("echo 'it",), "run('sh', '-c', …)"),
        ((["cat", "a.txt"],), "found a list"),
        (("head", "-n", 3), "found a int: 3"),
        ((), "needs a command"),
    ],
)
def test_command_that_is_not_given_in_words_is_a_mistake_of_the_check(argv, remedy):
    """Nothing is run, and the message shows how to write it."""
    with pytest.raises(TypeError) as found:
        workspace({"a.txt": "hello"}, run=run_command).run(*argv)
    assert remedy in str(found.value)


def test_command_may_be_a_path_or_have_a_space_in_its_name():
    """If the workspace has that file."""
    asked = []

    def note(tree, argv, *, timeout):
        asked.append(argv)
        return CommandResult(exit_code=0, stdout="", stderr="")

    found = workspace({"my tool": ""}, run=note)
    found.run("./my tool")
    found.run("cat", Path("my tool"))
    assert asked == [("./my tool",), ("cat", "my tool")]


def test_command_gets_its_timeout():
    """The time limit is handed on."""
    asked = []

    def note(tree, argv, *, timeout):
        asked.append((argv, timeout))
        return CommandResult(exit_code=0, stdout="", stderr="")

    workspace({}, run=note).run("make", "test", timeout=5)
    assert asked == [(("make", "test"), 5)]
