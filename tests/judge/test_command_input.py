"""Commands of checks run on the whole workspace or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.ports import CommandResult
from demeanor.judge.command_input import run_on
from demeanor.judge.unknowable import Unknowable
from tests.judge.helpers import file

LOST = Entry(kind="file", size=10**9, content=None, sha256="1")
HUGE = Entry(kind="file", size=2**31, content=None, sha256="3")
DONE = CommandResult(exit_code=0, stdout="", stderr="")


def tried(tree: Tree, before: Tree | None = None, error: type[Exception] = Unknowable) -> tuple[str, list[Tree]]:
    """Why a command was not run, and the workspaces that it was run on."""
    seen: list[Tree] = []

    def run(workspace: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        seen.append(workspace)
        return DONE

    try:
        assert run_on(run, before or Tree(), tree, ("grep", "-q", "KEY", "big.log"), timeout=60) is DONE
    except error as unknown:
        return str(unknown), seen
    return "", seen


def test_a_whole_workspace_is_searched() -> None:
    """Links and folders have no content, and a spooled file has it elsewhere."""
    whole = Tree(
        entries={
            "a.txt": file("x"),
            "link": Entry(kind="link", target="a.txt"),
            "empty": Entry(kind="folder"),
            "large": Entry(kind="file", size=10**8, content=None, sha256="2", spooled=Path("/spool/2")),
        }
    )
    assert tried(whole) == ("", [whole])


MANY = Tree(gaps=("too many files",))


@pytest.mark.parametrize(
    ("tree", "before", "why"),
    [
        (Tree(entries={"big.log": LOST}), Tree(), "'big.log': its 1000000000 bytes were not kept"),
        (Tree(entries={"big.log": HUGE}), Tree(entries={"big.log": HUGE}), "its 2147483648 bytes were not kept"),
        (MANY, MANY, "too many files"),
    ],
    ids=["content", "content at the start", "files at the start"],
)
def test_a_workspace_that_is_incomplete_is_not_searched(tree: Tree, before: Tree, why: str) -> None:
    """`! grep -q KEY big.log` would succeed on an empty file."""
    problem, seen = tried(tree, before)
    assert "what 'grep -q KEY big.log' does" in problem
    assert why in problem
    assert seen == []


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        (Tree(entries={"sparse": HUGE}), "'sparse': its 2147483648 bytes were not kept"),
        (Tree(entries={}, gaps=("a\\xff: the name is not valid UTF-8",)), "a\\xff: the name is not valid UTF-8"),
    ],
    ids=["more than is kept", "gaps"],
)
def test_an_agent_that_makes_its_workspace_incomplete_fails_the_check(tree: Tree, why: str) -> None:
    """Otherwise one odd file name would make every trial with a command void instead of failed."""
    problem, seen = tried(tree, error=AssertionError)
    assert "can't tell what 'grep -q KEY big.log' does, because of what the agent left" in problem
    assert why in problem
    assert seen == []


def test_three_lost_files_are_named_and_the_others_counted() -> None:
    """In the order of their paths, so that the message does not vary."""
    problem, _ = tried(Tree(entries=dict.fromkeys(("e", "d", "c", "b", "a"), LOST)), error=AssertionError)
    assert [name for name in "abcde" if f"'{name}'" in problem] == ["a", "b", "c"]
    assert problem.index("'a'") < problem.index("'b'") < problem.index("'c'")
    assert "2 more files not kept" in problem
    assert "more file" not in tried(Tree(entries=dict.fromkeys(("c", "b", "a"), LOST)), error=AssertionError)[0]
