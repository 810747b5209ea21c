"""Cases: one eval per row, with a stable name, and every mistake in a table is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from demeanor import USUALLY_PASSES, csv, eval_test, jsonl
from demeanor.core.trees.tree import Tree
from demeanor.core.values.errors import BadInput, UnknownName
from demeanor.core.values.eval import Eval
from demeanor.core.values.fingerprints import eval_hash
from demeanor.define.cases import fill
from demeanor.define.discovery import discover
from demeanor.define.python.marks import marks_of
from demeanor.define.set_policy import shared_policies

RENAMES = [{"id": "short", "old": "a", "new": "b"}, {"id": "long", "old": "first", "new": "second"}]


def make(check: Any = None, **arguments: Any) -> tuple[Eval, ...]:
    def renames(rig, result):
        """Renames."""

    made = eval_test(USUALLY_PASSES, **{"prompt": "Rename {old} to {new}.", "cases": RENAMES, **arguments})
    found = made(check or renames)
    assert isinstance(found, tuple)
    return found


def refused(**arguments: Any) -> str:
    with pytest.raises(BadInput) as caught:
        make(**arguments)
    return str(caught.value)


def test_one_eval_per_case() -> None:
    """The fields are in prompts, names and contents of files, and messages; other braces stay."""
    first, second = make(
        files={"{old}.py": "{old} = {'x': 1}  # {unknown}"}, messages=[{"role": "user", "text": "About {new}"}]
    )
    assert [first.name, second.name] == ["renames[short]", "renames[long]"]
    assert (first.cases_of, first.description) == ("renames", "Renames.")
    assert first.scenario.prompts == ("Rename a to b.",)
    assert second.scenario.files == {"first.py": b"first = {'x': 1}  # {unknown}"}
    assert second.scenario.messages[0].text == "About second"


def test_functions_take_fields_by_name() -> None:
    """The check, the set-up and the rehearsals; `case` is the whole row."""
    seen: list[Any] = []

    def renames(rig, result, new, case):
        seen.append((new, case["old"]))

    def setup(workspace, old):
        seen.append(old)

    def good(stage, new):
        seen.append(new)

    first, second = make(renames, setup=setup, passes_on=[good], fails_on=lambda stage: None)
    first(None, "")
    second(None, "")
    assert seen == [("b", "a"), ("second", "first")]
    assert first.scenario.setup is not None
    first.scenario.setup(Path())
    second.passes_on[0](None)
    assert seen[2:] == ["a", "second"]
    assert eval_hash(first, Tree()) != eval_hash(second, Tree())


def test_what_a_check_is_given_is_part_of_its_eval() -> None:
    """Two cases with the same prompt and files, but different expectations, are different evals."""

    def renames(rig, result, wanted):
        pass

    one, two = make(renames, prompt="Rename.", cases=[{"id": 1, "wanted": "x"}, {"id": 2, "wanted": "y"}])
    assert eval_hash(one, Tree()) != eval_hash(two, Tree())


@pytest.mark.parametrize(
    ("name", "text", "cases"),
    [
        ("rows.jsonl", '{"id": 1, "old": "a", "new": "b"}\n\n{"old": "c", "new": "d"}\n', jsonl("rows.jsonl")),
        ("rows.csv", '\ufeffid,old,new\n1,a,b\nx,"c, d","e\nf"\n', csv("rows.csv")),
        ("rows.csv", "old,new\r\na,b\r\nc,d\r\n", "rows.csv"),
    ],
)
def test_cases_in_files(tmp_path: Path, name: str, text: str, cases: Any) -> None:
    """JSON Lines or CSV next to the eval's file."""
    (tmp_path / name).write_text(text, newline="")
    source = "from demeanor import USUALLY_PASSES, eval_test, csv, jsonl\n"
    argument = repr(cases) if isinstance(cases, str) else f"{cases.format}({name!r})"
    source += (
        f'@eval_test(USUALLY_PASSES, prompt="{{old}} to {{new}}", cases={argument})\ndef moves(rig, result): return 1\n'
    )
    (tmp_path / "eval_moves.py").write_text(source)
    first, second = discover([tmp_path])
    assert first.scenario.prompts == ("a to b",)
    assert first.name == ("moves[a-b]" if text.startswith("old") else "moves[1]")
    assert second.name in {"moves[c-d]", "moves[x]"}
    assert [one.name for one in discover([f"{tmp_path / 'eval_moves.py'}::{first.name}"])] == [first.name]


def test_a_scenario_folder_with_cases(tmp_path: Path) -> None:
    """In the file itself, or in a table next to it; they share one policy."""
    text = 'policy = "USUALLY_PASSES"\nprompt = "Write {word}."\n[[checks]]\ncheck = "file_contains"\n'
    text += 'path = "{word}.txt"\ntext = "{word}"\n'
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder, more in ((inside, '[[case]]\nword = "hi"\n[[case]]\nword = "ho"\n'), (outside, "")):
        folder.mkdir()
        (folder / "scenario.toml").write_text(("" if more else 'cases = "words.csv"\n') + text + more)
    (outside / "words.csv").write_text("word\nyes\nno\n")
    evals = discover([tmp_path])
    assert [one.name for one in evals] == ["inside[hi]", "inside[ho]", "outside[yes]", "outside[no]"]
    assert [one.checks[0].path for one in evals] == ["hi.txt", "ho.txt", "yes.txt", "no.txt"]  # type: ignore[union-attr]
    assert shared_policies(evals)["inside[hi]"] == ("inside[ho]",)


def test_pytest_parametrize_below_the_decorator() -> None:
    """Its values become cases, with pytest's own ids; several marks are combined."""

    @eval_test(USUALLY_PASSES, prompt="{verb} {times} times.")
    @pytest.mark.parametrize("verb", ["run", pytest.param("walk", id="slow")])
    @pytest.mark.parametrize(("times", "unit"), [(1, "h"), (2, "s")], ids=["once", "twice"])
    def moves(rig, result, verb, times):
        return True

    names = [one.name for one in moves]
    assert names == ["moves[once-run]", "moves[once-slow]", "moves[twice-run]", "moves[twice-slow]"]
    assert moves[1].scenario.prompts == ("walk 1 times.",)


def test_marks_and_ids_of_pytest() -> None:
    """A mark of one value concerns the evals with that value only, and ids are those of pytest."""

    @eval_test(USUALLY_PASSES, prompt="{on} {word}")
    @pytest.mark.parametrize("on", [True, pytest.param(None, marks=pytest.mark.skip(reason="later"))])
    @pytest.mark.parametrize(argnames="word", argvalues=["a", "b"], ids=iter(["x", None]))
    @pytest.mark.xfail
    def check(rig, result, on, word):
        return True

    marks = {one.name: [mark.name for mark in marks_of(one, of_module=False)] for one in check}
    assert marks == {
        "check[x-True]": ["xfail"],
        "check[x-None]": ["xfail", "skip"],
        "check[b-True]": ["xfail"],
        "check[b-None]": ["xfail", "skip"],
    }


def test_values_for_fixtures_are_refused() -> None:
    """They would reach the check without the fixture."""
    with pytest.raises(BadInput, match="indirect is not supported"):

        @eval_test(USUALLY_PASSES, prompt="Go.")
        @pytest.mark.parametrize("database", ["small"], indirect=True)
        def check(rig, result, database):
            return True


def test_all_cases_of_an_eval_are_chosen_by_its_name(tmp_path: Path) -> None:
    """As with pytest."""
    (tmp_path / "eval_a.py").write_text(
        "from demeanor import USUALLY_PASSES, eval_test\n\n\n"
        "@eval_test(USUALLY_PASSES, prompt='{word}', cases=[{'word': 'a'}, {'word': 'b'}])\n"
        "def says(rig, result, word): return True\n\n\n"
        "@eval_test(USUALLY_PASSES, prompt='Go.')\n"
        "def goes(rig, result): return True\n"
    )
    assert [one.name for one in discover([f"{tmp_path}/eval_a.py::says"])] == ["says[a]", "says[b]"]
    assert [one.name for one in discover([f"{tmp_path}/eval_a.py::says[b]"])] == ["says[b]"]
    with pytest.raises(UnknownName, match="did you mean 'says'"):
        discover([f"{tmp_path}/eval_a.py::say"])


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ([], "there is no case"),
        ([{"old": "a", "new": "b"}, {"old": "a", "new": "b"}], "case 2: another case has the id 'a-b'"),
        ([{"old": "a"}], "the case 'a' has no field 'new'; its fields: old"),
        (["a"], "case 1: expected a mapping of fields, found a string"),
        ([{"old-name": "a"}], "case 1: 'old-name' can't be the name of a field"),
        ([{"id": "a/b", "old": 1, "new": 2}], "case 1: 'a/b' can't be an id"),
        ([{"id": True, "old": 1, "new": 2}], "case 1: True can't be an id"),
        (7, "expected a list of mappings"),
        ("rows.txt", "is neither a .jsonl nor a .csv file"),
        ("missing.csv", "missing.csv: can't be read"),
    ],
)
def test_mistakes_in_a_table(cases: Any, message: str) -> None:
    """Each names the case and what is wrong with it."""
    assert message in refused(cases=cases)


@pytest.mark.parametrize(
    ("text", "message"),
    [("old,new\na\n", "rows.csv:2: the number of values is wrong"), ('old,new\n"a,b\n', "not valid CSV")],
)
def test_mistakes_in_a_file(tmp_path: Path, text: str, message: str) -> None:
    """Each names the file and the line."""
    (tmp_path / "rows.csv").write_text(text)
    assert message in refused(cases=csv(tmp_path / "rows.csv"))
    (tmp_path / "rows.jsonl").write_text('{"old": 1}\n{"old": \n')
    assert "rows.jsonl:2: not valid JSON" in refused(cases=jsonl(tmp_path / "rows.jsonl"))


def test_arguments_that_are_no_fields_of_the_case_are_fixtures() -> None:
    """An unknown fixture is refused before anything runs, see tests/judge/test_fixtures.py."""

    def renames(rig, result, old, tmp_path, *, limit=3):
        return True

    (one,) = eval_test(USUALLY_PASSES, prompt="{old}", cases=[{"old": "a"}])(renames)
    (check,) = one.checks
    assert (check.arguments, check.fixtures) == ({"old": "a"}, ("tmp_path",))


WORDS = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=12)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), WORDS, min_size=1), min_size=1, unique_by=repr))
def test_names_depend_on_the_case_and_not_on_its_place(rows: list[dict[str, str]]) -> None:
    """Reordering a table renames no eval, so that histories stay attached."""
    unique = {json.dumps(list(row.values())): row for row in rows}
    rows = [
        row for row in unique.values() if "-".join(row.values()) and not any("-" in value for value in row.values())
    ]
    if len({"-".join(row.values()) for row in rows}) < len(rows) or not rows:
        return

    def named(several: list[dict[str, str]]) -> set[str]:
        return {one.name for one in make(prompt="Do it.", cases=several)}

    assert named(rows) == named(rows[::-1])
    assert len(named(rows)) == len(rows)


@given(st.dictionaries(st.sampled_from(["a", "b"]), WORDS), WORDS)
def test_text_without_placeholders_is_not_changed(fields: dict[str, str], text: str) -> None:
    """And a value is put in as it is, even if it looks like a placeholder itself."""
    plain = text.replace("{", "").replace("}", "")
    assert fill({"x": [plain, (plain,)]}, fields) == {"x": [plain, (plain,)]}
    assert fill("<{a}>", {"a": "{a}{b}", "b": "no"}) == "<{a}{b}>"
