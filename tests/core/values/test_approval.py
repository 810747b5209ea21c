"""The rule that answers requests for permission."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

import demeanor
from demeanor.core.values.approval import Approver
from demeanor.core.values.scenario import Approval

names = st.sampled_from(["write_file", "edit", "execute", "rm"])
answer = st.sampled_from(["allow", "deny"])
answers = st.one_of(answer, st.lists(answer, min_size=1, max_size=3).map(tuple))


def test_a_rule_for_the_tool_wins_over_one_for_its_kind():
    """Then comes the default, which is to allow."""
    rules = {"rm": "allow", "delete": "deny"}
    assert [
        Approver({"rules": rules}).answer(*asked) for asked in (("rm", "delete"), ("unlink", "delete"), ("x", "y"))
    ] == [
        "allow",
        "deny",
        "allow",
    ]


def test_the_last_answer_of_a_script_is_repeated():
    """Each rule has its own position in its script."""
    approver = Approver({"default": ["deny", "allow"], "rules": {"edit": ["allow", "deny"]}})
    asked = [("write", "edit"), ("ls", "read"), ("write", "edit"), ("ls", "read"), ("write", "edit"), ("ls", "read")]
    assert [approver.answer(*one) for one in asked] == ["allow", "deny", "deny", "allow", "deny", "allow"]


@given(rules=st.dictionaries(names, answers), default=answers, requests=st.lists(st.tuples(names, names)))
def test_the_programs_in_the_sandbox_answer_like_the_approval(
    rules: Any, default: Any, requests: list[tuple[str, str]]
):
    """They get it as JSON; `Approval.answer` is what adapters ask on the host."""
    approval = Approval(default=default, rules=rules)
    approver = Approver({"default": default, "rules": rules})
    counted: dict[str, int] = {}
    for tool, kind in requests:
        rule = tool if tool in rules else kind if kind in rules else ""
        wanted = approval.answer(tool=tool, kind=kind, earlier=counted.get(rule, 0))
        counted[rule] = counted.get(rule, 0) + 1
        assert approver.answer(tool, kind) == wanted


def test_the_native_agent_needs_no_other_module_of_demeanor(tmp_path: Path):
    """The copy for Harbor contains agents/native_agent and three modules of core/values."""
    source = Path(demeanor.__file__).parent
    shutil.copytree(source / "agents/native_agent", tmp_path / "demeanor/agents/native_agent")
    (tmp_path / "demeanor/core/values").mkdir(parents=True)
    for name in ("approval", "steering", "user_channel"):
        shutil.copy(source / f"core/values/{name}.py", tmp_path / "demeanor/core/values")
    argv = [sys.executable, "-P", "-s", "-S", "-m", "demeanor.agents.native_agent", "--help"]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
