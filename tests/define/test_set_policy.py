"""The one argument is changed, and not a blank beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.errors import BadInput
from demeanor.core.values.policy import Policy
from demeanor.define.discovery import discover
from demeanor.define.set_policy import policy_file, with_policy
from tests.helpers.harbor_task_files import MINIMAL, task

BODY = "def saves( rig,result ) :  # odd\n    '''Says so.'''\n    assert  result\n"
IMPORT = "from demeanor import USUALLY_PASSES, eval_test\n"
OTHER = "@eval_test(USUALLY_PASSES, prompt='y')\ndef other(rig, result): return True\n"


def changed(path: Path, source: str, name: str = "saves") -> str:
    """The file with ALWAYS_PASSES for the eval; loading it proves that it works."""
    path.write_bytes(source.encode())
    (one,) = discover([f"{path}::{name}"])
    content = with_policy(one, Policy.ALWAYS_PASSES)
    path.write_bytes(content)
    (now,) = discover([f"{path}::{name}"])
    assert now.policy is Policy.ALWAYS_PASSES
    return content.decode()


@pytest.mark.parametrize(
    ("imports", "argument"),
    [
        ("import demeanor\nfrom demeanor import eval_test\n", "demeanor.USUALLY_PASSES"),
        ("from demeanor import ALWAYS_PASSES, USUALLY_PASSES, eval_test\n", "USUALLY_PASSES"),
        ("from demeanor import *\n", "USUALLY_PASSES"),
        (
            "from demeanor import eval_test\nfrom demeanor.core.values.policy import Policy\n",
            "(Policy . USUALLY_PASSES)",
        ),
    ],
)
def test_only_the_argument_differs(tmp_path: Path, imports: str, argument: str) -> None:
    """Whatever it looks like; blanks, comments and line ends stay, and so do other evals."""
    source = f"{imports}\r\n\r\n\n@eval_test( {argument} ,prompt = 'x' , )\n{BODY}"
    new = argument.replace("USUALLY", "ALWAYS")
    assert changed(tmp_path / "eval_a.py", source) == source.replace(argument + " ,", new + " ,")


def test_the_import_follows_where_it_must(tmp_path: Path) -> None:
    """It is renamed where nothing else needs the old name, else the new one joins it."""
    own = f"@eval_test(USUALLY_PASSES, prompt='x')\n{BODY}"
    new = own.replace("USUALLY", "ALWAYS")
    assert changed(tmp_path / "eval_a.py", IMPORT + own) == IMPORT.replace("USUALLY", "ALWAYS") + new
    joined = "from demeanor import ALWAYS_PASSES, USUALLY_PASSES, eval_test\n"
    assert changed(tmp_path / "eval_b.py", IMPORT + own + OTHER) == joined + new + OTHER
    lines = "from demeanor import (\n    USUALLY_PASSES,  # usual\n    eval_test,\n)\n"
    added = lines.replace("    USUALLY", "    ALWAYS_PASSES,\n    USUALLY")
    assert changed(tmp_path / "eval_c.py", lines + own + OTHER) == added + new + OTHER


def test_a_scenario_keeps_everything_but_the_value(tmp_path: Path) -> None:
    """A key of the same name in a table, and one in a text, are others."""
    source = (
        "# policy = 'no'\nprompt = '''\npolicy = \"USUALLY_PASSES\"\n'''\n"
        "policy  =  'USUALLY_PASSES'   # incubating\n\n[params]\npolicy = \"USUALLY_PASSES\"\n"
        '[[checks]]\ncheck = "file_exists"\npath = "a"\n'
    )
    folder = tmp_path / "saves"
    folder.mkdir()
    (folder / "scenario.toml").write_text(source)
    (one,) = discover([folder])
    assert policy_file(one) == folder / "scenario.toml"
    wanted = source.replace("policy  =  'USUALLY_PASSES'", "policy  =  'ALWAYS_PASSES'")
    assert with_policy(one, Policy.ALWAYS_PASSES).decode() == wanted


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (f"{IMPORT}HOW = USUALLY_PASSES\n@eval_test(HOW, prompt='x')\n{BODY}", "computed"),
        (
            f"{IMPORT}def made():\n    return eval_test(USUALLY_PASSES, prompt='x')\n@made()\n{BODY}",
            "was not found",
        ),
        (
            f"{IMPORT}def saves(rig, result): return True\nx = eval_test(USUALLY_PASSES, prompt='x')(saves)\n"
            "y = eval_test(USUALLY_PASSES, prompt='y', name='y')(saves)\n",
            "was not found",
        ),
    ],
)
def test_what_can_not_be_changed_safely_is_left_to_its_author(tmp_path: Path, source: str, problem: str) -> None:
    """With the reason."""
    path = tmp_path / "eval_a.py"
    path.write_text(source)
    (one,) = discover([f"{path}::saves"])
    with pytest.raises(BadInput, match=problem):
        with_policy(one, Policy.ALWAYS_PASSES)


@given(st.lists(st.sampled_from(["\n", "# USUALLY_PASSES\n", "x = 'USUALLY_PASSES'\n", "y = 1;  z = 2\n", "\t\n"])))
def test_there_and_back_again_is_the_same_file(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    """Whatever stands around it."""
    source = (
        "from demeanor import ALWAYS_PASSES, USUALLY_PASSES, eval_test\n" + "".join(lines)
        + f"@eval_test(USUALLY_PASSES, prompt='x')\n{BODY}" + "".join(lines)
    )  # fmt: skip
    path = tmp_path_factory.mktemp("evals") / "eval_a.py"
    path.write_text(source)
    for policy in (Policy.ALWAYS_PASSES, Policy.USUALLY_PASSES):
        (one,) = discover([f"{path}::saves"])
        path.write_bytes(with_policy(one, policy))
    assert path.read_text() == source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[metadata.demeanor]\npolicy = "USUALLY_PASSES" # new\n',
            '[metadata.demeanor]\npolicy = "ALWAYS_PASSES" # new\n',
        ),
        (
            '[metadata]\npolicy = "USUALLY_PASSES"\n[metadata.demeanor]\ntrials = 2\npolicy = "USUALLY_PASSES"\n',
            '[metadata]\npolicy = "USUALLY_PASSES"\n[metadata.demeanor]\ntrials = 2\npolicy = "ALWAYS_PASSES"\n',
        ),
        ("", '\n[metadata.demeanor]\npolicy = "ALWAYS_PASSES"\n'),
        ("[metadata]\nx = 1\n", '[metadata]\nx = 1\n\n[metadata.demeanor]\npolicy = "ALWAYS_PASSES"\n'),
    ],
)
def test_a_task_keeps_everything_but_its_policy(tmp_path: Path, before: str, after: str) -> None:
    """The line of its own table, which is added where there is none."""
    (one,) = discover([task(tmp_path / "greet", MINIMAL + before)])
    assert policy_file(one) == tmp_path / "greet" / "task.toml"
    assert with_policy(one, Policy.ALWAYS_PASSES).decode() == MINIMAL + after


def test_a_task_whose_table_has_no_policy_is_left_to_its_author(tmp_path: Path) -> None:
    """A second table of the same name would be no TOML."""
    (one,) = discover([task(tmp_path / "greet", f"{MINIMAL}[metadata.demeanor]\ntrials = 2\n")])
    with pytest.raises(BadInput, match="the line with the policy was not found"):
        with_policy(one, Policy.ALWAYS_PASSES)
