"""Discovery: which evals are found, in which order, and the errors for broken files."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from demeanor.core.values.errors import BadInput, UnknownName
from demeanor.define.discovery import discover

HEAD = "from demeanor import USUALLY_PASSES, eval_test\n"


def eval_source(*names: str) -> str:
    body = "\n@eval_test(USUALLY_PASSES, prompt='Do it.')\ndef {}(rig, result):\n    assert result\n"
    return HEAD + "".join(body.format(name) for name in names)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def scenario(folder: Path, **more) -> Path:
    return write(folder / "config.json", json.dumps({"prompt": "Do it.", "expectedFiles": ["a.txt"], **more}))


def names(*paths) -> list[str]:
    return [one.name for one in discover(paths)]


def test_file_gives_its_evals_in_the_order_of_writing(tmp_path):
    """Evals are in the order of their definition, not sorted by name."""
    assert names(write(tmp_path / "eval_a.py", eval_source("second", "first"))) == ["second", "first"]


def test_folder_is_searched_for_everything_that_is_an_eval(tmp_path):
    """eval_*.py, *_eval.py, test_*.py that mention eval_test, and scenario folders, sorted by path."""
    write(tmp_path / "eval_one.py", eval_source("one"))
    write(tmp_path / "two_eval.py", eval_source("two"))
    write(tmp_path / "test_three.py", eval_source("three"))
    write(tmp_path / "test_plain.py", "raise RuntimeError('must not be imported')\n")
    write(tmp_path / "helpers.py", "raise RuntimeError('must not be imported')\n")
    write(tmp_path / "deep" / "er" / "eval_four.py", eval_source("four"))
    scenario(tmp_path / "five")
    assert names(tmp_path) == ["four", "one", "five", "three", "two"]


def test_folders_of_other_tools_are_not_entered(tmp_path):
    """Hidden folders, caches, environments and results hold no evals."""
    for folder in (".venv", "__pycache__", "node_modules", "results"):
        write(tmp_path / folder / "eval_x.py", "raise RuntimeError('must not be imported')\n")
    assert discover([tmp_path]) == ()


def test_config_of_something_else_is_left_alone(tmp_path):
    """Not every config.json is a scenario, but one that is named explicitly is read as one."""
    path = write(tmp_path / "app" / "config.json", '{"port": 80}')
    assert discover([tmp_path]) == ()
    with pytest.raises(BadInput, match="prompt: is required"):
        discover([path.parent])


def test_template_of_a_scenario_is_not_searched(tmp_path):
    """Files in a template belong to the workspace and are not evals."""
    scenario(tmp_path / "one")
    write(tmp_path / "one" / "template" / "eval_x.py", "raise RuntimeError('must not be imported')\n")
    assert names(tmp_path) == ["one"]


def test_scenario_can_be_named_by_its_folder_or_its_file(tmp_path):
    """Both ways lead to the same eval."""
    path = scenario(tmp_path / "one")
    assert names(path) == names(path.parent) == ["one"]


def test_path_given_twice_is_read_once(tmp_path):
    """A folder and a file in it do not make two evals."""
    path = write(tmp_path / "eval_a.py", eval_source("a", "b"))
    assert names(tmp_path, path, f"{path}::b") == ["a", "b"]


def test_name_after_colons_chooses_one_eval(tmp_path):
    """`file.py::name` and `folder::name` choose."""
    path = write(tmp_path / "eval_a.py", eval_source("a", "b"))
    assert names(f"{path}::b") == names(f"{tmp_path}::b") == ["b"]


def test_unknown_name_after_colons_gets_the_nearest(tmp_path):
    """The error for a misspelt name suggests the nearest name."""
    path = write(tmp_path / "eval_a.py", eval_source("saves_the_note"))
    with pytest.raises(UnknownName, match="did you mean 'saves_the_note'"):
        discover([f"{path}::saves_teh_note"])


def test_missing_path_gets_the_nearest(tmp_path):
    """The error for a misspelt path suggests the nearest path."""
    write(tmp_path / "eval_notes.py", "")
    with pytest.raises(BadInput, match=r"no such file or folder\n.*did you mean '.*eval_notes.py'"):
        discover([tmp_path / "eval_note.py"])


def test_file_that_is_no_eval_is_refused(tmp_path):
    """A named path that is not an eval is an error."""
    with pytest.raises(BadInput, match="this is not an eval"):
        discover([write(tmp_path / "notes.md", "")])


def test_same_name_twice_names_both_places(tmp_path):
    """Names are unique in a run; the error says where both are."""
    write(tmp_path / "eval_a.py", eval_source("same"))
    write(tmp_path / "eval_b.py", eval_source("same"))
    with pytest.raises(BadInput) as caught:
        discover([tmp_path])
    assert "eval_a.py:3" in str(caught.value)
    assert "eval_b.py:3" in str(caught.value)


def test_both_kinds_of_scenario_in_one_folder_are_refused(tmp_path):
    """It would be ambiguous which one to read."""
    scenario(tmp_path / "one")
    write(tmp_path / "one" / "scenario.toml", "")
    with pytest.raises(BadInput, match="has both"):
        discover([tmp_path])


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("x = 1\ndef broken(:\n", 2, "syntax error"),
        ("\nimport no_such_module_at_all\n", 2, "put no_such_module_at_all.py next to the file"),
        ("x = 1\ny = x / 0\n", 2, "ZeroDivisionError: division by zero"),
        ("def f():\n    raise SystemExit(3)\nf()\n", 2, "SystemExit: 3"),
        (f"{HEAD}@eval_test(USUALLY_PASSES, promt='x')\ndef a(rig, result): return True\n", 2, "did you mean 'prompt'"),
        (f"{HEAD}@eval_test(prompt='x')\ndef a(rig, result): return True\n", 2, "policy"),
        (f"{HEAD}@eval_test(USUALLY_PASSES, prompt='')\ndef a(rig, result): return True\n", 2, "prompt: is empty"),
    ],
)
def test_broken_file_is_refused_with_line_and_reason(tmp_path, source, line, message):
    """Any error on import becomes one error with the author's line."""
    path = write(tmp_path / "eval_broken.py", source)
    with pytest.raises(BadInput) as caught:
        discover([path])
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_null_bytes_in_a_file_are_a_clear_error(tmp_path):
    """A binary file is rejected, too."""
    path = tmp_path / "eval_x.py"
    path.write_bytes(b"\0\0")
    with pytest.raises(BadInput, match=r"eval_x\.py"):
        discover([path])


def test_helpers_beside_the_file_can_be_imported(tmp_path):
    """`import helpers` finds the file next to the eval, also later, from within a check."""
    write(tmp_path / "own_helpers.py", "NAME = 'from a helper'\n")
    write(tmp_path / "late_helpers.py", "NAME = 'late'\n")
    source = HEAD + (
        "import own_helpers\n@eval_test(USUALLY_PASSES, prompt='x', name=own_helpers.NAME)\n"
        "def check(rig, result):\n    import late_helpers\n    return late_helpers.NAME\n"
    )
    (found,) = discover([write(tmp_path / "eval_a.py", source)])
    assert found.name == "from a helper"
    assert found(None, "") == "late"


def test_helpers_of_the_same_name_in_two_folders_are_two(tmp_path):
    """Each eval file imports the helpers of its own folder."""
    for folder in ("a", "b"):
        write(tmp_path / folder / "namesake.py", f"NAME = 'of {folder}'\n")
        source = f"{HEAD}import namesake\n@eval_test(USUALLY_PASSES, prompt='x', name=namesake.NAME)\n"
        write(tmp_path / folder / "eval_x.py", source + "def check(rig, result): return True\n")
    assert names(tmp_path) == ["of a", "of b"]


def test_import_writes_no_files(tmp_path):
    """No bytecode is written next to the evals, and sys.dont_write_bytecode is restored."""
    before = sys.dont_write_bytecode
    write(tmp_path / "litter_helpers.py", "")
    discover([write(tmp_path / "eval_a.py", f"import litter_helpers\n{eval_source('a')}")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["eval_a.py", "litter_helpers.py"]
    assert sys.dont_write_bytecode == before


def test_imported_evals_belong_to_their_own_file(tmp_path):
    """An eval that another eval file imports is not counted twice."""
    write(tmp_path / "eval_base.py", eval_source("base"))
    write(tmp_path / "eval_user.py", f"from eval_base import base\n{eval_source('user')}")
    assert names(tmp_path) == ["base", "user"]


def test_evals_made_in_a_list_are_found(tmp_path):
    """Evals can be created in a loop."""
    source = HEAD + (
        "def check(rig, result): return True\n"
        "ALL = [eval_test(USUALLY_PASSES, prompt=word, name=f'says {word}')(check) for word in ('one', 'two')]\n"
    )
    assert names(write(tmp_path / "eval_a.py", source)) == ["says one", "says two"]


LOST = [
    (
        "@print\n{}",
        "the name `one` is now None",
        "above other decorators than pytest's marks",
    ),
    ("{}one = 1\n", "the name `one` is now a whole number (1)", "assign nothing else"),
    ("{}del one\n", "the module has no name `one`", "a list, tuple or dict"),
    (
        "{}\ndef make():\n    @eval_test(USUALLY_PASSES, prompt='p')\n    def two(rig, result): return True\nmake()\n",
        "`two`",
        "list",
    ),
]


@pytest.mark.parametrize(("source", "problem", "remedy"), LOST)
def test_eval_that_the_module_has_lost_is_an_error(tmp_path, source, problem, remedy):
    """An eval below another decorator, or overwritten, would never run, and the run would be green."""
    body = eval_source("one").removeprefix(HEAD)
    path = write(tmp_path / "eval_a.py", HEAD + source.format(body))
    with pytest.raises(BadInput) as caught:
        discover([path])
    assert problem in str(caught.value)
    assert remedy in str(caught.value)
    assert re.search(r"eval_a\.py:\d+", str(caught.value))


def test_two_functions_of_the_same_name_are_an_error(tmp_path):
    """The second definition would replace the first without a message."""
    path = write(tmp_path / "eval_a.py", eval_source("one", "one"))
    with pytest.raises(BadInput, match=r"eval_a\.py:3: the eval 'one' can't be collected: another eval at line 7"):
        discover([path])


def test_evals_of_a_loop_must_be_put_into_a_list(tmp_path):
    """Each turn of the loop replaces the eval of the one before."""
    loop = (
        "EVALS = []\nfor n in range(3):\n    @eval_test(USUALLY_PASSES, prompt='p', name=f'number-{n}')\n"
        "    def one(rig, result): return True\n"
    )
    path = write(tmp_path / "eval_a.py", HEAD + loop)
    with pytest.raises(BadInput, match="in a loop, append each eval to a list"):
        discover([path])
    write(path, HEAD + loop + "    EVALS.append(one)\n")
    assert sorted(names(path)) == ["number-0", "number-1", "number-2"]


def test_copy_of_an_eval_stands_for_it(tmp_path):
    """`dataclasses.replace` keeps the check, so the eval is not lost."""
    make = (
        "from dataclasses import replace\ndef make():\n    @eval_test(USUALLY_PASSES, prompt='p')\n"
        "    def one(rig, result): return True\n    return one\nEVALS = [replace(make(), name='other')]\n"
    )
    assert names(write(tmp_path / "eval_a.py", HEAD + make)) == ["other"]


def test_class_can_hold_evals(tmp_path):
    """As in pytest, a class groups evals."""
    body = "class TestGroup:\n    @eval_test(USUALLY_PASSES, prompt='p')\n    def one(rig, result): return True\n"
    assert names(write(tmp_path / "eval_a.py", HEAD + body)) == ["one"]


def test_eval_in_a_file_of_another_name_is_an_error(tmp_path):
    """Only eval_*.py, *_eval.py and test_*.py are collected; a helper's evals count where they are imported."""
    write(tmp_path / "more" / "behaviour.py", eval_source("one"))
    with pytest.raises(BadInput, match=r"behaviour\.py:3: the eval 'one' can't be collected: a file of evals is named"):
        discover([tmp_path])
    write(tmp_path / "more" / "eval_all.py", "from behaviour import one\n")
    assert names(tmp_path) == ["one"]


def test_everything_that_cannot_be_read_is_listed(tmp_path):
    """One run of `validate` shows all that is to be mended, in files, folders and datasets."""
    (tmp_path / "eval_a.py").write_text("def (")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scenario.toml").write_text(f"policy = 'USUALLY_PASSES'\npromt = '{name}'")
    with pytest.raises(BadInput) as caught:
        discover([tmp_path, tmp_path / "one"])
    text = str(caught.value)
    assert text.startswith("evals: 3 definitions can't be read\n")
    assert all(f"\n  {tmp_path / name}" in text for name in ("eval_a.py", "one/scenario.toml", "two/scenario.toml"))
    assert text.count("promt: unknown key\n    → did you mean 'prompt'?") == 2
    (tmp_path / "eval_a.py").unlink()
    (tmp_path / "dataset.toml").write_text("[dataset]\nname = 'org/name'")
    for name in ("one", "two"):
        (tmp_path / name / "scenario.toml").rename(tmp_path / name / "task.toml")
    with pytest.raises(BadInput, match="2 definitions can't be read"):
        discover([tmp_path])
