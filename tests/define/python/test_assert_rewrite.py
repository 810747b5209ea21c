"""A plain assert shows what it compared: one test per thing that we use of pytest's private parts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.core.values.errors import BadInput
from demeanor.define.discovery import discover

FAR_FROM_PYTEST = """
import sys
from pathlib import Path
from demeanor.define.discovery import discover
(found,) = discover([Path(sys.argv[1])])
try:
    found(None, "")
except AssertionError as error:
    print(error)
"""


def message(tmp_path: Path, *body: str) -> str:
    """What a failing check says, in a process in which no pytest runs."""
    lines = ["from demeanor import USUALLY_PASSES, eval_test", "@eval_test(USUALLY_PASSES, prompt='x')"]
    path = tmp_path / "eval_x.py"
    path.write_text("\n".join([*lines, "def check(rig, result):", *(f"    {line}" for line in body)]) + "\n")
    end = subprocess.run(
        [sys.executable, "-c", FAR_FROM_PYTEST, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    return end.stdout


def test_compared_values_are_shown(tmp_path):
    """`rewrite_asserts`: both sides of a comparison, and where they come from."""
    said = message(tmp_path, "text = 'eggs'", "assert 'milk' in text.upper()")
    assert "assert 'milk' in 'EGGS'" in said
    assert "where 'EGGS' = " in said


def test_lists_are_compared_item_by_item(tmp_path):
    """`_reprcompare`: the first difference of two lists."""
    said = message(tmp_path, "assert [1, 2, 3] == [1, 5, 3]")
    assert "At index 1 diff: 2 != 5" in said


def test_texts_are_compared_line_by_line(tmp_path):
    """`_reprcompare`: a diff of two texts."""
    said = message(tmp_path, "assert 'same\\nold' == 'same\\nnew'")
    assert "- new" in said
    assert "+ old" in said


def test_mappings_are_compared_key_by_key(tmp_path):
    """`_reprcompare`: the items that differ."""
    said = message(tmp_path, "assert {'a': 1, 'b': 2} == {'a': 1, 'b': 3}")
    assert "{'b': 2} != {'b': 3}" in said


def test_percent_signs_survive(tmp_path):
    """Details pass through pytest's % formatting unharmed."""
    assert "'100%s'" in message(tmp_path, "assert ['100%s'] == ['0%d']")


def test_authors_own_message_is_kept(tmp_path):
    """`assert x, message` shows the message and the values."""
    said = message(tmp_path, "x = 3", "assert x == 4, 'should be four'")
    assert "should be four" in said
    assert "assert 3 == 4" in said


def test_long_comparison_is_cut_and_says_so(tmp_path):
    """A thousand lines of difference are too many to read."""
    said = message(tmp_path, "assert list(range(300)) == list(range(1, 301))")
    assert "lines left out" in said
    assert len(said.splitlines()) < 100


@pytest.mark.parametrize("value", ["'a' * 10**6", "list(range(10**5))"])
def test_huge_values_are_not_compared_in_detail(tmp_path, value):
    """A comparison line by line takes forever on what an agent may have written."""
    said = message(tmp_path, f"assert {value} == 'b'")
    assert "assert" in said
    assert len(said) < 2000


def test_running_pytest_keeps_its_own_explanations():
    """Where pytest explains comparisons already, its explanation stays."""
    from _pytest.assertion import util

    from demeanor.define.python.assert_details import explain_comparisons

    before = util._reprcompare
    explain_comparisons()
    assert before is not None
    assert util._reprcompare is before


NOTHING_FAILS = """
import sys
from pathlib import Path
from demeanor.define.discovery import discover
(found,) = discover([Path(sys.argv[1])])
found(None, "")
print("loaded" if "_pytest" in sys.modules else "not loaded")
try:
    found(None, "other")
except AssertionError as error:
    print(error)
"""


def said(path: Path, cache: Path, *, expected: str = "") -> str:
    """What a file of evals says in another process."""
    path.write_text(
        "from demeanor import USUALLY_PASSES, eval_test\n@eval_test(USUALLY_PASSES, prompt='x')\n"
        f"def check(rig, result):\n    assert result in ('', {expected!r})\n"
    )
    return subprocess.run(
        [sys.executable, "-c", NOTHING_FAILS, str(path)], capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "DEMEANOR_CACHE": str(cache)},
    ).stdout  # fmt: skip


def test_what_was_rewritten_is_kept_and_explains_itself_when_it_fails(tmp_path):
    """The second time, pytest is loaded by the first assert that fails, and says the same."""
    first, second = (said(tmp_path / "eval_x.py", tmp_path / "cache") for _ in range(2))
    assert first.startswith("loaded\n")
    assert second.startswith("not loaded\n")
    assert first.splitlines()[1:] == second.splitlines()[1:]
    assert "assert 'other' in ('', '')" in second
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == ["eval_x.py"]


@pytest.mark.parametrize("damage", [b"", b"rubbish", b"\0" * 400])
def test_a_damaged_cache_is_made_anew(tmp_path, damage):
    """And a cache that can't be written at all costs time, nothing else."""
    first = said(tmp_path / "eval_x.py", tmp_path / "cache")
    (kept,) = (tmp_path / "cache" / "evals").iterdir()
    kept.write_bytes(damage)
    assert said(tmp_path / "eval_x.py", tmp_path / "cache") == first
    assert said(tmp_path / "eval_x.py", tmp_path / "cache").startswith("not loaded")
    (tmp_path / "file").touch()
    assert said(tmp_path / "eval_x.py", tmp_path / "file") == first


def test_an_edited_file_is_rewritten_again(tmp_path):
    """By its content, not by its date."""
    path = tmp_path / "eval_x.py"
    said(path, tmp_path / "cache")
    assert "('', 'edited')" in said(path, tmp_path / "cache", expected="edited")
    assert len(list((tmp_path / "cache" / "evals").iterdir())) == 2


@pytest.mark.parametrize(
    "statement", ["result == 'x'", "not rig.calls", "result and rig.calls", "if result:\n        result in 'x'"]
)
def test_a_comparison_without_assert_is_refused(tmp_path: Path, statement: str) -> None:
    """The check could not fail by it; the file and the line are named."""
    path = tmp_path / "eval_x.py"
    head = "from demeanor import USUALLY_PASSES, eval_test\n\n@eval_test(USUALLY_PASSES, prompt='x')\n"
    path.write_text(f"{head}def check(rig, result):\n    {statement}\n")
    with pytest.raises(BadInput, match=r"eval_x.py:\d+: the check does not use the result of .*\n  → write `assert "):
        discover([path])


def test_comparisons_that_are_meant_are_accepted(tmp_path: Path) -> None:
    """What is expected to raise, what is returned, and functions that are not checks."""
    path = tmp_path / "eval_x.py"
    path.write_text(
        "import pytest\nfrom demeanor import USUALLY_PASSES, eval_test\n\ndef helper(a):\n    a == 1\n\n"
        "@eval_test(USUALLY_PASSES, prompt='x')\ndef check(rig, result):\n    with pytest.raises(TypeError):\n"
        "        1 < 'a'\n    'a text'\n    rig.workspace.unchanged_except('a')\n    return result == 'x'\n"
    )
    assert [one.name for one in discover([path])] == ["check"]


SECRET = "Zq7-Kp/w0rd+Xy9_mNb4"


@pytest.mark.parametrize(
    "compared",
    [
        f"assert 'k = {SECRET[:9]}\\n{SECRET[9:]}\\n' == 'other\\n{SECRET[:5]}\\n{SECRET[5:]}'",
        f"assert ['k = {SECRET[:9]}\\n{SECRET[9:]}'] == ['other', 'text']",
        f"assert {{'k': ('{SECRET[:9]}\\n{SECRET[9:]}',)}} == {{'k': ('{SECRET[:8]}', 'x')}}",
        f"assert '{SECRET[:9]}\\n{SECRET[9:]}' == '{SECRET[:5]}\\n{SECRET[5:]}'",
    ],
)
def test_a_secret_over_several_lines_is_removed_before_the_comparison(tmp_path, compared):
    """The signs before each line of a comparison would hide it from the redactor."""
    said = message(
        tmp_path,
        "from demeanor.core.redaction.redactor import Redactor",
        "from demeanor.core.text.wording import redact_before_shortening",
        f"redact_before_shortening(Redactor({{'KEY': {SECRET!r}}}).text)",
        compared,
    )
    shown = [line for line in said.splitlines() if line.lstrip()[:1] in "-+?"]
    assert not any(SECRET[9:] in line for line in shown), said
