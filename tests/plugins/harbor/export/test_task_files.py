"""Exporting an eval as a Harbor task."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from demeanor.core.trees.tree import Entry, Tree, changes
from demeanor.core.trees.tree_io import scan
from demeanor.core.trees.tree_restore import restore
from demeanor.core.values.checks import (
    AtMost,
    Check,
    CommandSucceeds,
    FileAbsent,
    FileContains,
    FileEquals,
    FileExists,
    FileMatches,
    FinalText,
    FunctionCheck,
    JsonPathEquals,
    ToolUsed,
    UnchangedExcept,
)
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.fault import parse_faults
from demeanor.core.values.policy import USUALLY_PASSES
from demeanor.core.values.prefix import Prefix
from demeanor.core.values.scenario import Approval, PriorMessage, Scenario
from demeanor.core.values.steering import Steer
from demeanor.core.values.user import ScriptedUser, UserReply
from demeanor.plugins.harbor.export import verifier as harbor_verifier
from demeanor.plugins.harbor.export.task_files import _UNEXPORTABLE, exportable, exported_task, unexportable, write_task
from demeanor.plugins.harbor.format.task_folder import read_task_folder


def eval_with(*checks: Check, **scenario) -> Eval:
    made = Scenario(**{"prompts": ("Do it.",), **scenario})
    return Eval(name="an eval", policy=USUALLY_PASSES, scenario=made, checks=checks, source=Source(path=Path("e.py")))


def file(content: bytes, *, executable: bool = False) -> Entry:
    digest = sha256(content).hexdigest()
    return Entry(kind="file", size=len(content), sha256=digest, content=content, executable=executable)


def verified(one: Eval, before: Tree, after: Path, tmp: Path) -> dict[str, float] | None:
    """The result of each check of the exported verifier for a folder."""
    tests = tmp / "tests"
    write_task(exported_task(one, before, None, org="lab"), tests.parent / "task")
    task = json.loads((tmp / "task/tests/checks.json").read_text())
    workspace = harbor_verifier.Workspace(str(after), task["before"])
    return {check["key"]: harbor_verifier.CHECKS[check["check"]](workspace, check) is None for check in task["checks"]}


def link(target: str) -> Entry:
    """A symbolic link."""
    return Entry(kind="link", target=target, size=len(target), sha256=sha256(target.encode()).hexdigest())


PATHS = st.sampled_from(["a.txt", "b.json", "dir/c.txt", "dir/deep/d.py", "link"])
CONTENTS = st.sampled_from([b"", b"one\ntwo\n", b"one\ntwo", b'{"a": [1, {"b": true}]}', b"\xff", b'{"a": 1}', b"deep"])
ENTRIES = st.builds(file, CONTENTS) | st.builds(
    link, st.sampled_from(["a.txt", "dir", "../out", "link", "/etc/passwd"])
)
TREES = st.dictionaries(PATHS, ENTRIES, max_size=4).map(lambda entries: Tree(entries=entries))
CHECKS = st.one_of(
    st.builds(FileExists, path=PATHS | st.just("dir")),
    st.builds(FileAbsent, path=PATHS | st.just("dir")),
    st.builds(FileEquals, path=PATHS, text=st.sampled_from(["one\ntwo", "one\ntwo\n", ""])),
    st.builds(FileContains, path=PATHS, text=st.sampled_from(["two", "zzz"]), negated=st.booleans()),
    st.builds(FileMatches, path=PATHS, pattern=st.sampled_from(["^two$", "o.e", "^$"])),
    st.builds(
        JsonPathEquals,
        path=PATHS,
        json_path=st.sampled_from(["a", "a[0]", "a[1].b", "z"]),
        value=st.sampled_from([1, True, [1, {"b": True}], 1.0, None]),
    ),
    st.builds(
        UnchangedExcept,
        patterns=st.lists(st.sampled_from(["*.txt", "dir/**", "**/*.py", "[ab].*"]), max_size=2).map(tuple),
    ),
)


LINKED = Tree(entries={"link": Entry(kind="link", target="dir/c.txt"), "dir/c.txt": file(b"one\ntwo")})
IN_GIT = Tree(entries={".git": file(b"gitdir: elsewhere")})


@example(before=Tree(), after=LINKED, checks=[FileContains(path="link", text="two"), FileExists(path="link")])
@example(before=Tree(), after=IN_GIT, checks=[UnchangedExcept(), FileAbsent(path=".git")])
@given(before=TREES, after=TREES, checks=st.lists(CHECKS, min_size=1, max_size=4))
def test_the_exported_verifier_agrees_with_demeanor(before, after, checks):
    """On the same files, for every check that can be exported."""
    from demeanor.judge.check_answers import answer
    from tests.judge.helpers import rig

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "app"
        home.mkdir()
        restore(after, home)
        found = verified(eval_with(*checks), before, home, Path(folder))
        wanted = [answer(check, rig(before=before, after=scan(home))).answer == "yes" for check in checks]
    assert list(found.values()) == wanted


@pytest.mark.parametrize(
    ("check", "yes"),
    [
        (CommandSucceeds(argv=("sh", "-c", "cat a.txt"), stdout_contains="one"), True),
        (CommandSucceeds(argv=("sh", "-c", "rm a.txt")), True),
        (CommandSucceeds(argv=("sh", "-c", "exit 3")), False),
        (CommandSucceeds(argv=("sh", "-c", "true"), stdout_contains="one"), False),
        (CommandSucceeds(argv=("sh", "-c", "sleep 60"), timeout=0.2), False),
        (CommandSucceeds(argv=("./none",)), False),
    ],
)
def test_commands_run_in_a_copy(tmp_path, check, yes):
    """So that they do not affect the next check."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app/a.txt").write_text("one")
    one = eval_with(check, FileExists(path="a.txt"))
    assert list(verified(one, Tree(), tmp_path / "app", tmp_path).values()) == [yes, True]


def test_a_missing_program_gives_no_reward(tmp_path):
    """The result is unknown; a 0 would blame the agent."""
    (tmp_path / "app").mkdir()
    with pytest.raises(SystemExit, match="not in the verifier's image"):
        verified(eval_with(CommandSucceeds(argv=("no-such-program",))), Tree(), tmp_path / "app", tmp_path)


def test_a_pipe_in_the_workspace_is_never_opened(tmp_path):
    """Reading it would block."""
    (tmp_path / "app").mkdir()
    os.mkfifo(tmp_path / "app/a.txt")
    one = eval_with(FileContains(path="a.txt", text="x"), FileExists(path="a.txt"), UnchangedExcept())
    assert list(verified(one, Tree(), tmp_path / "app", tmp_path).values()) == [False, True, False]


@example(name="_", description="", tag="", env="KEY")
@example(name="a", description='\x7f\0\x1f\\"', tag="\U00010000", env="KEY")
@given(name=st.text(min_size=1), description=st.text(), tag=st.text(), env=st.just("KEY"))
def test_any_name_makes_a_readable_task(name, description, tag, env):
    """The exported task.toml is valid TOML with the same values."""
    one = replace(eval_with(FileExists(path="a"), requires_env=(env,)), name=name, description=description, tags=(tag,))
    with tempfile.TemporaryDirectory() as folder:
        write_task(exported_task(one, Tree(), (), org="lab"), Path(folder) / "task")
        toml = tomllib.loads((Path(folder) / "task/task.toml").read_text())
        assert (toml["task"]["description"], toml["task"]["keywords"]) == (description, [tag])
        again = read_task_folder(Path(folder) / "task")
    assert again.task is not None
    assert again.task.warnings == ()
    assert again.scenario.requires_env == (env,)


def test_two_checks_with_the_same_name_have_two_keys(tmp_path):
    """No key hides another."""
    one = eval_with(FileContains(path="a", text="x"), FileContains(path="a", text="y"))
    (tmp_path / "app").mkdir()
    assert list(verified(one, Tree(), tmp_path / "app", tmp_path)) == ["file_contains a", "file_contains a (2)"]


def test_the_solution_makes_the_changes(tmp_path):
    """Adds, changes, links and deletes files, and makes them executable."""
    before = Tree(entries={"old": file(b"1"), "gone": file(b"2"), "was": file(b"3")})
    after = Tree(
        entries={
            "old": file(b"new"),
            "a dir/it's": file(b"#!/bin/sh\n", executable=True),
            "was": Entry(kind="link", target="old", size=3, sha256=sha256(b"old").hexdigest()),
        }
    )
    write_task(
        exported_task(eval_with(FileExists(path="old")), before, changes(before, after), org="lab"), tmp_path / "t"
    )
    home = tmp_path / "app"
    home.mkdir()
    restore(before, home)
    script = (tmp_path / "t/solution/solve.sh").read_text().replace("/solution/", f"{tmp_path}/t/solution/")
    (tmp_path / "solve.sh").write_text(script.replace("cd /app", f"cd {home}"))
    assert os.system(f"sh {tmp_path}/solve.sh") == 0  # noqa: S605 - a script that was just made
    assert changes(scan(home), after) == ()


def test_what_can_not_be_exported_is_listed_with_the_reason():
    """One line each."""

    def asks_first(rig, result):
        assert rig.permissions

    one = eval_with(
        ToolUsed(tool="rm"),
        AtMost(quantity="turns", limit=3),
        FinalText(contains="x"),
        FunctionCheck(function=asks_first),
        FileExists(path="a"),
        prompts=("One.", "Two."),
        messages=(PriorMessage(role="user", text="Hi."),),
        approval=Approval(default="deny"),
        faults=parse_faults(("429@1",), where="x", key="faults"),
        params={"temperature": 0},
    )
    names = [reason.partition(":")[0] for reason in unexportable(one)]
    assert names == [
        "prompts", "approval", "messages", "faults", "params", "tool_used", "at_most", "final_text",
        "the function asks_first",
    ]  # fmt: skip
    assert list(unexportable(eval_with(FileExists(path="a")))) == []


def test_a_situation_that_harbor_can_not_create_is_not_dropped_silently():
    """The task would ask for something else: no user replies, and HOME is empty."""
    one = eval_with(
        FileExists(path="a"),
        user=ScriptedUser(replies=(UserReply("Yes."),)),
        steer=(Steer(after="edit", say="Use tabs."),),
        home_files={".rc": b"1"},
        then=(("ls",),),
        tools={"grep": "Search."},
        start=Prefix(name="third"),
    )
    names = [reason.partition(":")[0] for reason in unexportable(one)]
    assert names == ["user", "steer", "home_files", "then", "tools", "start"]


def test_every_part_of_a_scenario_is_exported_or_refused():
    """A new field must be put into one of the two; `keep_home` and `needs` only serve checks, which are refused."""
    exported = {"prompts", "files", "template", "setup", "timeout", "requires_env", "network", "keep_home", "needs"}
    refused = {*_UNEXPORTABLE, "approval", "params"}
    assert {one.name for one in fields(Scenario)} == exported | refused


def test_a_check_of_the_home_folder_can_not_be_exported():
    """The verifier sees the workspace only, and would look for a folder named `~`."""
    one = eval_with(FileExists(path="a"), FileContains(path="~/.rc", text="1"))
    assert [reason.partition(":")[0] for reason in unexportable(one)] == ["file_contains ~/.rc"]
    assert exportable(one) == (FileExists(path="a"),)
