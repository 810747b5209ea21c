"""What was compared, in twelve hex digits."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.checks import FileExists, FunctionCheck
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.fault import parse_fault
from demeanor.core.values.fingerprints import PATH_TOOLS, eval_hash, scenario_hashes, subject_hash
from demeanor.core.values.policy import Policy
from demeanor.core.values.prefix import Prefix
from demeanor.core.values.scenario import Approval, PriorMessage, Scenario
from demeanor.core.values.steering import Steer
from demeanor.core.values.subject import Subject
from demeanor.core.values.user import ScriptedUser, UserReply
from demeanor.define.discovery import discover
from demeanor.gateway.cassette.recording import scenario_fingerprint
from tests.helpers.harbor_task_files import MINIMAL, task


def saved(rig: object, result: str) -> None:
    """A check."""
    assert result


def made(rig: object, result: str) -> None:
    """Another check."""
    assert rig


EVAL = Eval(
    name="saves",
    policy=Policy.USUALLY_PASSES,
    scenario=Scenario(prompts=("Save it.",)),
    checks=(FileExists(path="a.txt"), FunctionCheck(function=saved)),
    source=Source(path=Path("evals/eval_saves.py"), line=1),
)
TREE = Tree(entries={"a.txt": Entry(kind="file", sha256="11")})


def test_an_eval_is_another_one_as_soon_as_it_asks_or_checks_something_else():
    """Each of these changes what a trial means."""
    others = [
        eval_hash(EVAL, TREE),
        eval_hash(replace(EVAL, scenario=Scenario(prompts=("Save it!",))), TREE),
        eval_hash(replace(EVAL, scenario=Scenario(prompts=("Save it.",), params={"x": 1})), TREE),
        eval_hash(replace(EVAL, checks=(FileExists(path="b.txt"), FunctionCheck(function=saved))), TREE),
        eval_hash(replace(EVAL, checks=(FileExists(path="a.txt"), FunctionCheck(function=made))), TREE),
        eval_hash(EVAL, Tree(entries={"a.txt": Entry(kind="file", sha256="22")})),
    ]
    assert len(set(others)) == len(others)


PARTS = {
    "prompts": ("Save it!",),
    "params": {"x": 1},
    "approval": Approval(default="deny"),
    "messages": (PriorMessage(role="user", text="Hi."),),
    "home_files": {".memory": b"x"},
    "then": (("true",),),
    "tools": {"grep": "Search."},
    "faults": (parse_fault("429@1", where="test"),),
    "mcp": {"db": ("db",)},
    "start": Prefix(name="third", digest="d"),
    "user": ScriptedUser(replies=(UserReply("Yes."),)),
    "steer": (Steer(after="edit", say="Use tabs."),),
}
"""A value of each part of a scenario that the agent notices."""

ELSEWHERE = {"files", "template", "setup", "keep_home", "timeout", "requires_env", "needs", "network"}
"""The parts that are in the tree of starting files, or that do not change what the agent is given."""


def test_every_part_of_a_scenario_is_a_part_of_its_identity():
    """Of the eval, of what can be judged again, and of what a cassette can be replayed for. Also of new parts."""
    assert {one.name for one in fields(Scenario)} == {*PARTS, *ELSEWHERE}
    for name, value in PARTS.items():
        other = replace(EVAL.scenario, **{name: value})
        assert eval_hash(replace(EVAL, scenario=other), TREE) != eval_hash(EVAL, TREE), name
        assert scenario_hashes(other) != scenario_hashes(EVAL.scenario), name
        if name not in {"faults", "then", "tools"}:  # the recorded requests are the same with and without them
            assert scenario_fingerprint(other) != scenario_fingerprint(EVAL.scenario), name


def test_policy_labels_and_place_do_not_make_it_another_one():
    """A promotion must not begin its history anew, nor must a move of its file."""
    moved = replace(EVAL, policy=Policy.ALWAYS_PASSES, tags=("x",), source=Source(path=Path("b.py"), line=9))
    git = Tree(entries={**TREE.entries, ".git/HEAD": Entry(kind="file", sha256="33")})
    assert eval_hash(moved, git) == eval_hash(EVAL, TREE)


def written(policy: str, body: str, tmp_path: Path) -> Eval:
    """An eval as an author writes it."""
    file = tmp_path / f"eval_{policy.lower()}_{len(list(tmp_path.iterdir()))}.py"
    file.write_text(
        f"from demeanor import {policy}, eval_test\n\n"
        f"@eval_test({policy}, prompt='Save it.', tags=['{policy}'])\ndef saves(rig, result):\n    {body}\n"
    )
    (one,) = discover([str(file)])
    return one


def test_a_promotion_in_the_authors_file_keeps_the_history(tmp_path: Path):
    """The policy stands in the decorator of the very function that is the check."""
    usually = written("USUALLY_PASSES", "assert result", tmp_path)
    always = written("ALWAYS_PASSES", "assert result", tmp_path)
    stricter = written("ALWAYS_PASSES", "assert result == 'Saved.'", tmp_path)
    assert eval_hash(usually, TREE) == eval_hash(always, TREE) != eval_hash(stricter, TREE)


def test_a_subject_is_another_one_as_soon_as_anything_of_it_changes():
    """Version, prompt, settings, and the programs on PATH that it describes to its model."""
    plain = Subject(agent="goose", model="m")
    others = [
        subject_hash(plain, version="1", prompt="p", facts={}),
        subject_hash(plain, version="2", prompt="p", facts={}),
        subject_hash(plain, version="1", prompt="q", facts={}),
        subject_hash(plain, version="1", prompt="p", facts={PATH_TOOLS: "rg"}),
        subject_hash(Subject(agent="goose", model="m", settings={"retries": 3}), version="1", prompt="p", facts={}),
    ]
    assert len(set(others)) == len(others)
    assert others[0] == subject_hash(plain, version="1", prompt="p", facts={"workspace": "/elsewhere"})


def test_a_task_is_another_one_as_soon_as_any_of_its_files_changes(tmp_path):
    """Also what only the verifier sees; but not its labels, so that a promotion keeps its history."""
    folder = task(tmp_path / "greet")

    def identity() -> str:
        (one,) = discover([folder])
        return eval_hash(one, Tree())

    first = identity()
    (folder / "task.toml").write_text(MINIMAL + '[metadata.demeanor]\npolicy = "ALWAYS_PASSES"\n')
    assert identity() == first
    seen = {first}
    for name in ("instruction.md", "environment/Dockerfile", "tests/test.sh", "solution/solve.sh", "task.toml"):
        (folder / name).write_text((folder / name).read_text().replace("60", "61") + "# more\n")
        seen.add(identity())
    (folder / "tests" / "data.bin").write_bytes(b"\xff")
    assert len(seen | {identity()}) == 7
