"""Which step explains that a trial failed: 60 constructed pairs, and random ones, with a check of every sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.trajectory import Called, Event, Faulted, ModelFailed, kind_of
from demeanor.reports.trial import NO_SINGLE_STEP, SAME_STEPS, explain, find_divergence, nearest_pass
from tests.helpers.trial_steps import PASS, call, failed, said, trial_steps

BROKEN = ModelFailed(turn=1, status=500, reason="server", message="x")
FAULT = Faulted(turn=1, kind="cut", detail="x")


def use(tool: str, result: str | None = None, *, succeeded: bool | None = None, **arguments: str) -> Called:
    """A call of a usual tool."""
    return replace(call(tool, **arguments), kind=kind_of(tool), result=result, succeeded=succeeded)


READ, EDIT, TEST = use("read_file", path="a.py"), use("edit_file", path="a.py", text="x"), use("run_tests")
OTHERS = tuple(use("read_file", path=f"docs/{n}.md") for n in range(11))
ALLOWED = replace(use("delete_file", path="old.py"), permission="allow")
Steps = tuple[Event, ...]

DECISIVE: dict[str, tuple[Steps, Steps, str]] = {
    "the tests never run": (
        (READ, EDIT),
        (READ, EDIT, TEST),
        "(never calls|stops where a passing trial calls) run_tests",
    ),
    "one file of many is not read": (
        (*OTHERS, EDIT),
        (*OTHERS[:5], use("read_file", path="CONTRIBUTING.md"), EDIT),
        "never calls read_file with path='CONTRIBUTING.md'|where a passing trial calls it with path='CONTRIBUTING.md'",
    ),
    "a file is deleted": (
        (READ, use("delete_file", path="b.py"), EDIT),
        (READ, EDIT),
        "calls delete_file with path='b",
    ),
    "a second file is edited": (
        (READ, EDIT, use("edit_file", path=".env", text="x")),
        (READ, EDIT),
        "calls edit_file with path='.env'; a passing trial never does",
    ),
    "other content": (
        (READ, use("write_file", path="a.py", content="1")),
        (READ, use("write_file", path="a.py", content="2")),
        "calls write_file with path='a.py' with other content than a passing trial",
    ),
    "another tool": (
        (READ, use("shell", command="rm -rf build")),
        (READ, use("delete_file", path="build")),
        "calls shell with command='rm -rf build' where a passing trial calls delete_file with path='build'",
    ),
    "another command": (
        (EDIT, use("shell", command="git push --force")),
        (EDIT, use("shell", command="git push")),
        "calls shell with command='git push --force' where a passing trial calls it with command='git push'",
    ),
    "the edit fails": (
        (READ, replace(EDIT, succeeded=False, result="no match")),
        (READ, replace(EDIT, succeeded=True, result="ok")),
        "calls edit_file with path='a.py', which fails; in a passing trial it succeeds",
    ),
    "edited before it was read": ((EDIT, READ), (READ, EDIT), "calls edit_file with path='a.py' before read_file"),
    "a result that differs": (
        (use("read_file", "name = 'old'", path="a.py"), TEST),
        (use("read_file", "name = 'new'", path="a.py"), TEST),
        "gets another result from read_file with path='a.py' than a passing trial",
    ),
    "permission is denied": (
        (READ, replace(ALLOWED, permission="deny")),
        (READ, ALLOWED),
        "is denied permission for delete_file with path='old.py'",
    ),
    "the model fails": ((READ, BROKEN), (READ, EDIT), r"gets a model error \(server\); a passing trial does not"),
    "the tests run too often": (
        (EDIT, TEST, TEST, TEST),
        (EDIT, TEST),
        "calls run_tests 3 times; a passing trial 1 time",
    ),
    "malformed arguments": (
        (READ, replace(use("edit_file"), raw="{")),
        (READ, replace(use("edit_file"), raw="{}x")),
        "calls edit_file with other malformed arguments",
    ),
    "a user is never asked": (
        (use("edit_file", path="a.py", text="y"), use("shell", command="make")),
        (
            use("ask_user", question="Which name?"),
            use("edit_file", path="a.py", text="y"),
            use("shell", command="make"),
        ),
        "never calls ask_user; a passing trial does",
    ),
}
"""What each trial does, and the sentence that names the decisive step."""

SHARED = (use("list_files", path="src"), use("read_file", path="README.md"), use("think", thought="plan"))
NOISE: dict[str, tuple[Steps, Steps, Steps, Steps]] = {
    "alone": ((), (), (), ()),
    "after shared steps": (SHARED, SHARED, (said("Done."),), (said("I did it."),)),
    "after reading more": (
        (*SHARED, use("grep", pattern="x"), use("read_file", path="setup.py")),
        SHARED,
        (said("Done."),),
        (said("Ready."),),
    ),
    "in another order, and planned otherwise": (
        (SHARED[1], SHARED[0], use("think", thought="first a, then b")),
        SHARED,
        (use("search", query="y"), said("Done.")),
        (said("I did it."),),
    ),
}
"""Steps that explain nothing: before and after those of the failing and of the passing trial."""


def pairs() -> list[tuple[str, Steps, Steps, str]]:
    """The 60 pairs."""
    return [
        (f"{name}, {noise}", (*before, *left, *after), (*other_before, *right, *other_after), sentence)
        for name, (left, right, sentence) in DECISIVE.items()
        for noise, (before, other_before, after, other_after) in NOISE.items()
    ]


def sentence_of(failing: Sequence[Event], passing: Sequence[Event], reason: str = "the check failed") -> str:
    """The sentence about two trials."""
    return explain(trial_steps(failed(reason), *failing), trial_steps(PASS, *passing, number=2))


_CALL = r"(?P<{0}tool>\w+)(?: with (?P<{0}name>\w+)='(?P<{0}value>[^']*)')?"
_FORMS = [
    rf"never calls {_CALL.format('')}; a passing trial does",
    rf"stops where a passing trial calls {_CALL.format('other_')}",
    rf"calls no tool; a passing trial calls {_CALL.format('other_')}",
    rf"calls {_CALL.format('')}; a passing trial never (?:calls that tool|does)",
    rf"calls {_CALL.format('')} (?P<times>\d+) times?; a passing trial (?P<other_times>\d+) times?",
    rf"calls {_CALL.format('')} where a passing trial calls (?:it with \w+='[^']*'|{_CALL.format('other_')})",
    rf"calls {_CALL.format('')} with other (?P<arguments>[\w ,]+) than a passing trial",
    rf"(?:calls|gets another result from) {_CALL.format('')}(?:, which .*| than a passing trial)",
    rf"is (?:not )?denied permission for {_CALL.format('')}, unlike a passing trial",
    rf"calls {_CALL.format('')} before {_CALL.format('second_')}; a passing trial the other way round",
    r"gets (?:a model error|an injected fault) \(\w+\); a passing trial does not",
    re.escape(NO_SINGLE_STEP),
    re.escape(SAME_STEPS),
]


def is_true(sentence: str, failing: Sequence[Event], passing: Sequence[Event]) -> bool:
    """Check a sentence against two trials, without the code that wrote it."""
    index, match = next(
        (index, match) for index, form in enumerate(_FORMS) if (match := re.fullmatch(form, sentence)) is not None
    )
    values = match.groupdict()

    def calls(events: Sequence[Event], prefix: str = "") -> list[int]:
        tool, value = values[f"{prefix}tool"], values[f"{prefix}value"]
        return [
            place
            for place, event in enumerate(events)
            if isinstance(event, Called) and event.tool == tool and (not value or value in event.arguments.values())
        ]

    match index:
        case 0:
            return not calls(failing) and bool(calls(passing))
        case 1:
            return bool(calls(passing, "other_")) and len(failing) < len(passing)
        case 2:
            return not any(isinstance(event, Called) for event in failing) and bool(calls(passing, "other_"))
        case 3:
            return bool(calls(failing)) and not calls(passing)
        case 4:
            return (len(calls(failing)), len(calls(passing))) == (int(values["times"]), int(values["other_times"]))
        case 5:
            return bool(calls(failing)) and not calls(passing)
        case 9:
            return calls(failing)[0] < calls(failing, "second_")[0] and calls(passing)[0] > calls(passing, "second_")[0]
        case 10:
            incident = ModelFailed if "model" in sentence else Faulted
            return [any(isinstance(one, incident) for one in events) for events in (failing, passing)] == [True, False]
        case 6 | 7 | 8:
            return bool(calls(failing)) and bool(calls(passing))
    return True


def test_of_60_pairs_50_name_the_decisive_step_and_no_sentence_is_false():
    """A sentence that names another difference is wrong; one that is not true of the trials would mislead."""
    said_of = [(name, sentence_of(left, right), left, right, expected) for name, left, right, expected in pairs()]
    assert len(said_of) == 60
    assert [(name, sentence) for name, sentence, left, right, _ in said_of if not is_true(sentence, left, right)] == []
    wrong = [(name, sentence) for name, sentence, _, _, expected in said_of if not re.search(expected, sentence)]
    assert len(wrong) <= 10, wrong


STEPS = st.lists(
    st.sampled_from([*OTHERS[:2], READ, EDIT, TEST, replace(EDIT, succeeded=False), BROKEN, FAULT, said(), ALLOWED]),
    max_size=6,
)


@given(STEPS, STEPS)
def test_no_sentence_is_false(failing: list[Event], passing: list[Event]):
    """Whatever two trials do."""
    sentence = sentence_of(failing, passing)
    assert is_true(sentence, failing, passing), sentence


@pytest.mark.parametrize(
    ("failing", "passing", "sentence"),
    [
        ((READ,), (READ, EDIT), "stops where a passing trial calls edit_file"),
        ((said(),), (READ, EDIT, said()), "calls no tool; a passing trial calls read_file"),
        ((), (READ,), "calls no tool; a passing trial calls read_file"),
        ((FAULT,), (READ,), "calls no tool; a passing trial calls read_file"),
        ((use("read_file", path="/project/a.py"), EDIT), (READ, EDIT), NO_SINGLE_STEP),
        ((READ, said("No.")), (READ, said("Yes.")), SAME_STEPS),
        (OTHERS[:4], (EDIT, TEST, ALLOWED, use("shell", command="make")), NO_SINGLE_STEP),
    ],
)
def test_a_sentence_says_no_more_than_is_known(failing: Steps, passing: Steps, sentence: str):
    """Nothing is explained by another spelling of a path, or where the trials have nothing in common."""
    assert sentence_of(failing, passing) == sentence


def test_what_the_failed_check_names_comes_first():
    """The trials differ in two calls, and the check says which of them matters."""
    failing, passing = (READ, EDIT, said()), (use("ask_user", question="?"), READ, EDIT, TEST, said())
    assert sentence_of(failing, passing) == "never calls ask_user; a passing trial does"
    assert sentence_of(failing, passing, "run_tests was not called") == "never calls run_tests; a passing trial does"


def test_only_a_failed_trial_is_explained_by_a_passing_one():
    """The order of two trials says nothing by itself."""
    assert explain(trial_steps(PASS, READ), trial_steps(failed("x"), EDIT)) == ""
    assert explain(trial_steps(PASS, READ), trial_steps(PASS, EDIT)) == ""


def test_trials_with_the_same_steps_do_not_diverge():
    """Nor do trials without known steps."""
    assert find_divergence(trial_steps(failed("x"), READ), trial_steps(PASS, READ)) is None
    assert find_divergence(trial_steps(failed("x"), READ), None) is None
    assert find_divergence(trial_steps(failed("x"), has_steps=False), trial_steps(PASS, READ)) is None


def test_a_passing_trial_without_steps_is_never_the_nearest():
    """It can't be compared."""
    assert nearest_pass(trial_steps(failed("x"), READ), [trial_steps(PASS, has_steps=False)]) is None


def test_tools_with_hostile_names_stay_on_their_line():
    """A model can call a tool by any name."""
    sentence = sentence_of([call("\x1b[2J\nrm -rf" + "x" * 500, path="\x1b[2J{}\n" + "y" * 500)], [READ])
    assert "\n" not in sentence
    assert "\x1b" not in sentence
    assert len(sentence) < 300
