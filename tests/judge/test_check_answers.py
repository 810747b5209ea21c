"""Every check, answered: yes, no with the compared values, or unknown."""

from __future__ import annotations

import typing

import pytest

from demeanor.core.values import checks
from demeanor.core.values.checks import (
    AtMost,
    CommandSucceeds,
    FileAbsent,
    FileContains,
    FileEquals,
    FileExists,
    FileMatches,
    FinalText,
    JsonPathEquals,
    ToolUsed,
    UnchangedExcept,
)
from demeanor.core.values.evidence import Spent
from demeanor.core.values.ports import CommandResult
from demeanor.judge.check_answers import answer
from tests.judge.helpers import called, rig, run_command, tree

PACKAGE = '{"name": "app", "on": true, "n": 1, "users": [{"name": "Ann"}], "a.b": null}'
RIG = rig(
    called("read_file", path="a.txt"),
    called("write_file", path="a.txt"),
    "All Done.",
    before={"a.txt": "old\n", "same.txt": ""},
    after={"a.txt": "one\ntwo\n", "same.txt": "", "p.json": PACKAGE, "dir/x": ""},
    spent=Spent(turns=3, seconds=1.5, input_tokens=10, output_tokens=20, cost_usd=0.5),
    run=run_command,
)


def py(code: str) -> tuple[str, ...]:
    return ("python3", "-c", code)


SAYS_YES = [
    FileExists(path="a.txt"),
    FileAbsent(path="b.txt"),
    FileEquals(path="a.txt", text="one\ntwo\n"),
    FileEquals(path="a.txt", text="one\ntwo"),
    FileContains(path="a.txt", text="ne\nt"),
    FileContains(path="a.txt", text="three", negated=True),
    FileMatches(path="a.txt", pattern="^two$"),
    JsonPathEquals(path="p.json", json_path="users[0].name", value="Ann"),
    JsonPathEquals(path="p.json", json_path="users[-1]", value={"name": "Ann"}),
    JsonPathEquals(path="p.json", json_path="on", value=True),
    JsonPathEquals(path="p.json", json_path="n", value=1.0),
    JsonPathEquals(path="p.json", json_path='["a.b"]', value=None),
    UnchangedExcept(patterns=("a.txt", "*.json", "dir/**")),
    CommandSucceeds(argv=py("assert open('a.txt').read() == 'one\\ntwo\\n'")),
    CommandSucceeds(argv=py("print('fine')"), stdout_contains="fine"),
    ToolUsed(tool="read_file"),
    ToolUsed(kind="edit", at_least=1, at_most=1),
    ToolUsed(tool="rm", at_least=0, at_most=0),
    AtMost(quantity="turns", limit=3),
    AtMost(quantity="calls", limit=2),
    AtMost(quantity="tokens", limit=30),
    AtMost(quantity="cost_usd", limit=0.5),
    AtMost(quantity="seconds", limit=1.5),
    FinalText(contains="all done", excludes="sorry", matches="Done\\.$"),
]
SAYS_NO = [
    (FileExists(path="b.txt"), "there is no 'b.txt'"),
    (FileExists(path="dir"), "'dir' is a folder"),
    (FileAbsent(path="a.txt"), "'a.txt' exists, but must not"),
    (FileAbsent(path="dir"), "'dir' exists, but must not"),
    (FileEquals(path="a.txt", text="one"), "expected: 'one'\n  found:    'one\\ntwo\\n'"),
    (FileEquals(path="a.txt", text="one\ntwo\n\n\n"), "differs"),
    (FileEquals(path="b.txt", text=""), "there is no 'b.txt'"),
    (FileContains(path="a.txt", text="Three"), "does not contain 'Three': 'one\\ntwo\\n'"),
    (FileContains(path="a.txt", text="ONE"), "does not contain 'ONE'"),
    (FileContains(path="a.txt", text="two", negated=True), "contains 'two'"),
    (FileContains(path="b.txt", text="x", negated=True), "there is no 'b.txt'"),
    (FileMatches(path="a.txt", pattern="^wo"), "does not match '^wo': 'one\\ntwo\\n'"),
    (JsonPathEquals(path="p.json", json_path="name", value="lib"), "has name = 'app', expected 'lib'"),
    (JsonPathEquals(path="p.json", json_path="users[3].name", value="x"), "there is no 3 in"),
    (JsonPathEquals(path="p.json", json_path="name.x", value="x"), "there is no 'x' in"),
    (JsonPathEquals(path="p.json", json_path="users.name", value="x"), "there is no 'name' in"),
    (JsonPathEquals(path="p.json", json_path="on", value=1), "has on = True, expected 1"),
    (JsonPathEquals(path="p.json", json_path="n", value=True), "has n = 1, expected True"),
    (JsonPathEquals(path="a.txt", json_path="n", value=1), "is not valid JSON"),
    (UnchangedExcept(patterns=("a.txt",)), "changed: dir/x (added), p.json (added) (only a.txt may change)"),
    (UnchangedExcept(), "changed: a.txt (changed)"),
    (CommandSucceeds(argv=py("raise SystemExit('broken here')")), "exited with 1:\nbroken here"),
    (CommandSucceeds(argv=py("print('other')"), stdout_contains="fine"), "did not print 'fine':\nother"),
    (ToolUsed(tool="rm"), "used 0 times, at least 1 required; all calls: <calls: read_file"),
    (ToolUsed(kind="read", at_least=0, at_most=0), "used 1 times, at most 0 allowed"),
    (AtMost(quantity="turns", limit=2), "used 3 turns, at most 2 allowed"),
    (AtMost(quantity="calls", limit=1), "used 2 calls, at most 1 allowed"),
    (AtMost(quantity="tokens", limit=29), "used 30 tokens"),
    (AtMost(quantity="cost_usd", limit=0.4), "used 0.5 cost_usd"),
    (AtMost(quantity="seconds", limit=1), "used 1.5 seconds"),
    (FinalText(contains="failed"), "does not contain 'failed': 'All Done.'"),
    (FinalText(excludes="DONE"), "contains 'DONE': 'All Done.'"),
    (FinalText(matches="^Done"), "does not match '^Done': 'All Done.'"),
]


@pytest.mark.parametrize("check", SAYS_YES, ids=repr)
def test_satisfied_check_says_yes(check):
    """The evidence satisfies it."""
    found = answer(check, RIG)
    assert (found.answer, found.reason) == ("yes", "")


@pytest.mark.parametrize(("check", "reason"), SAYS_NO, ids=repr)
def test_refuted_check_says_no_and_why(check, reason):
    """The reason holds the compared values."""
    found = answer(check, RIG)
    assert found.answer == "no"
    assert reason in found.reason


@pytest.mark.parametrize("samples", [SAYS_YES, [check for check, _ in SAYS_NO]])
def test_every_check_is_tested(samples):
    """No kind of check is left out above."""
    told_elsewhere = {checks.PromptSnapshot}  # test_snapshot.py
    assert {type(check) for check in samples} | told_elsewhere == set(typing.get_args(checks.DeclaredCheck))


GAPPED = rig(
    called("read_file"),
    before=tree(gaps=("too many files",)),
    after=tree({"a": ""}, gaps=("too many files",)),
    gaps=("the log was cut",),
    spent=Spent(turns=2),
)
UNKNOWN = [
    FileExists(path="b"),
    FileAbsent(path="b"),
    FileContains(path="b", text="x", negated=True),
    UnchangedExcept(patterns=("a",)),
    ToolUsed(tool="rm"),
    ToolUsed(tool="rm", at_least=0, at_most=0),
    ToolUsed(tool="read_file", at_least=1, at_most=3),
    AtMost(quantity="calls", limit=5),
    AtMost(quantity="turns", limit=5),
    AtMost(quantity="tokens", limit=5),
    AtMost(quantity="cost_usd", limit=5),
    FinalText(contains="x"),
    FinalText(excludes="x"),
]


@pytest.mark.parametrize("check", UNKNOWN, ids=repr)
def test_incomplete_evidence_says_unknown(check):
    """Where evidence is missing, the answer is unknown."""
    found = answer(check, GAPPED)
    assert found.answer == "unknown"
    assert found.reason.startswith("can't know ")


@pytest.mark.parametrize("check", UNKNOWN[:4], ids=repr)
def test_a_workspace_that_the_agent_made_unreadable_says_no(check):
    """It is the agent's doing, so it can't turn a fail into a void."""
    found = answer(check, rig(after=tree({"a": ""}, gaps=("too many files",))))
    assert found.answer == "no"
    assert "because of what the agent left: too many files" in found.reason


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 10_000, "\0" * 100, "{", ""])
def test_json_that_can_not_be_read_says_no(text):
    """Deeply nested, huge or broken: the agent wrote it."""
    found = answer(JsonPathEquals(path="a", json_path="x", value=1), rig(after=tree({"a": text})))
    assert found.answer == "no"


@pytest.mark.parametrize(
    ("check", "wanted"),
    [
        (FileExists(path="a"), "yes"),
        (FileAbsent(path="a"), "no"),
        (UnchangedExcept(), "no"),
        (ToolUsed(tool="read_file"), "yes"),
        (ToolUsed(tool="read_file", at_least=0, at_most=0), "no"),
        (AtMost(quantity="turns", limit=1), "no"),
        (AtMost(quantity="calls", limit=0), "no"),
    ],
    ids=repr,
)
def test_incomplete_evidence_settles_what_it_settles(check, wanted):
    """What was seen is enough for some answers."""
    assert answer(check, GAPPED).answer == wanted


def test_command_out_of_time_says_no():
    """A command that does not end has not succeeded."""
    late = rig(run=lambda *_, timeout: CommandResult(exit_code=-9, stdout="", stderr="", timed_out=True))
    found = answer(CommandSucceeds(argv=("sleep", "9"), timeout=2), late)
    assert (found.answer, found.reason) == ("no", "sleep 9 did not end within 2 seconds")


def test_long_and_hostile_content_is_shown_short_and_harmless():
    """What an agent wrote can't flood or steer the screen."""
    found = answer(FileContains(path="a", text="x"), rig(after={"a": "\x1b[2J" + "b" * 10**6}))
    assert len(found.reason) < 500
    assert "\x1b" not in found.reason


@pytest.mark.parametrize(
    ("check", "title"),
    [
        (FileExists(path="a.txt"), "file_exists a.txt"),
        (JsonPathEquals(path="p.json", json_path="a", value=1), "json_path_equals p.json"),
        (UnchangedExcept(), "unchanged_except"),
        (ToolUsed(tool="rm", at_least=0, at_most=0), "tool_not_used rm"),
        (ToolUsed(kind="edit"), "tool_used edit"),
        (AtMost(quantity="turns", limit=1), "at_most 1 turns"),
        (CommandSucceeds(argv=py("pass")), "command_succeeds python3 -c pass"),
        (FinalText(contains="x"), "final_text"),
    ],
    ids=repr,
)
def test_finding_names_its_check(check, title):
    """A person sees which check it was."""
    assert answer(check, RIG).check == title


def test_unknown_type_of_check_is_an_error():
    """A check without an answer must not pass."""
    with pytest.raises(TypeError, match="can't evaluate a check of type str"):
        answer("exists", RIG)
