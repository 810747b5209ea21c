"""The stage, and what is left when somebody has played on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from demeanor import Stage
from demeanor.core.trees.tree import Tree
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import USUALLY_PASSES
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.trajectory import Asked, Called, Kind, Said
from demeanor.define.folder.scripted_behaviour import ScriptedBehaviour, ScriptedCall
from demeanor.judge.simulation import rehearse
from tests.judge.helpers import lay_out, read_back

EVAL = Eval(
    name="e",
    policy=USUALLY_PASSES,
    scenario=Scenario(prompts=("First.", "Second."), files={"a.txt": b"old", "b.txt": b"b"}),
    checks=(),
    source=Source(path=Path(__file__)),
)


def played(behaviour):
    return rehearse(EVAL, behaviour, lay_out=lay_out, read_back=read_back)


def test_changes_of_the_workspace_are_seen():
    """What the behaviour writes is the workspace at the end; the start is as it was."""
    found = played(lambda stage: (stage.workspace / "a.txt").write_text("new"))
    assert found.before.entries["a.txt"].read() == b"old"
    assert found.after.entries["a.txt"].read() == b"new"


def test_evidence_outlives_the_folder():
    """Contents that lay in the folder are kept as they were before it is changed, and when it goes."""

    def where_it_lies(folder: Path) -> Tree:
        entries = {path: replace(entry, content=folder / path) for path, entry in read_back(folder).entries.items()}
        return Tree(entries=entries)

    def behaviour(stage: Stage) -> None:
        (stage.workspace / "a.txt").write_text("new")
        (stage.workspace / "b.txt").unlink()

    def laid_out(scenario: Scenario, folder: Path) -> Tree:
        lay_out(scenario, folder)
        return where_it_lies(folder)

    found = rehearse(EVAL, behaviour, lay_out=laid_out, read_back=where_it_lies)
    assert {path: entry.read() for path, entry in found.before.entries.items()} == {"a.txt": b"old", "b.txt": b"b"}
    assert {path: entry.read() for path, entry in found.after.entries.items()} == {"a.txt": b"new"}


def test_calls_and_words_become_a_trajectory():
    """Each is a turn of its own, unless they are made in one."""

    def behaviour(stage: Stage) -> None:
        stage.call("read_file", path="a.txt", result="old")
        with stage.one_turn():
            stage.call("grep", succeeded=False)
            stage.call("mystery", tool="hammer")
        stage.say("Done.")

    found = played(behaviour)
    assert [(event.turn, type(event)) for event in found.trajectory.events] == [
        (1, Called),
        (2, Called),
        (2, Called),
        (3, Said),
    ]
    first, second, third = found.trajectory.calls
    assert (first.kind, first.arguments, first.result, first.succeeded) == (Kind.READ, {"path": "a.txt"}, "old", True)
    assert (second.kind, second.succeeded) == (Kind.SEARCH, False)
    assert third.arguments == {"tool": "hammer"}
    assert len({call.id for call in found.trajectory.calls}) == 3
    assert (found.trajectory.final_text, found.spent.turns) == ("Done.", 3)


def test_prompts_are_there_to_be_read():
    """A behaviour may depend on what is asked."""
    seen = []
    played(lambda stage: seen.append((stage.prompt, stage.prompts)))
    assert seen == [("First.", ("First.", "Second."))]


def test_exit_and_spending_are_available():
    """A program that fails is a misdeed; what is used adds up."""

    def behaviour(stage: Stage) -> None:
        stage.spend(tokens=10, cost_usd=0.5)
        stage.spend(tokens=5, seconds=2)
        stage.exit(3)

    found = played(behaviour)
    assert (found.spent.tokens, found.spent.cost_usd, found.spent.seconds) == (15, 0.5, 2)
    assert found.ends[0].exit_code == 3
    assert found.misdeed == "the agent exited with 3"
    assert played(lambda stage: None).misdeed is None


def test_behaviour_written_as_data_does_the_same():
    """An ScriptedBehaviour writes, appends, deletes, calls and speaks."""
    act = ScriptedBehaviour(
        title="t",
        files={"sub/new.txt": b"n"},
        append={"a.txt": b"+", "c.txt": b"c"},
        delete=("b.txt",),
        calls=(ScriptedCall(tool="rm", arguments={"path": "b.txt"}, succeeded=False, result="r"),),
        final_text="Done.",
        exit_code=1,
        tokens=3,
        cost_usd=0.1,
        seconds=4,
    )
    found = played(act)
    contents = {path: entry.read() for path, entry in found.after.entries.items()}
    assert contents == {"sub/new.txt": b"n", "a.txt": b"old+", "c.txt": b"c"}
    (call,) = found.trajectory.calls
    assert (call.tool, call.arguments, call.succeeded, call.result) == ("rm", {"path": "b.txt"}, False, "r")
    assert (found.trajectory.final_text, found.ends[0].exit_code) == ("Done.", 1)
    assert (found.spent.tokens, found.spent.cost_usd, found.spent.seconds) == (3, 0.1, 4)


def test_a_call_may_be_asked_for_first():
    """The request stands before its call, and carries its id; a call that asks for nothing is known to be unasked."""

    def behaviour(stage: Stage) -> None:
        stage.call("shell", permission="deny", command="rm a.txt")
        stage.call("read_file", path="a.txt")

    asked, denied, read = played(behaviour).trajectory.events
    assert isinstance(asked, Asked)
    assert (asked.id, asked.answer, asked.kind) == (denied.id, "deny", Kind.EXECUTE)
    assert (denied.permission, read.permission) == ("deny", "unasked")


def test_behaviour_that_never_ran_is_an_error():
    """A wrapper can hide a generator or a coroutine; the behaviour would play an agent that does nothing."""

    def generator(stage):
        stage.say("Saved.")
        yield

    async def coroutine(stage):
        stage.say("Saved.")

    async def async_generator(stage):
        yield

    for hidden in (generator, async_generator):
        with pytest.raises(TypeError, match="nothing in it was run"):
            played(lambda stage, hidden=hidden: hidden(stage))
    waiting = coroutine(None)
    with pytest.raises(TypeError, match="nothing in it was run"):
        played(lambda stage: waiting)
    waiting.close()
