"""Scripts as rules in YAML, and as Python files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from demeanor.config.limited_pattern import PatternTooSlow
from demeanor.core.values.errors import BadInput
from demeanor.gateway.script import Answer, load_script
from demeanor.gateway.script.turn import to_answer
from tests.gateway.helpers import a_turn

FORGETFUL = r"""
notes: "forgetful: forgets one time in five"
rules:
  - when: {prompt: "Save the note '(?P<note>[^']+)' in (?P<file>[\\w.]+\\w)"}
    chance: 0.2
    say: Saved.
  - when: {prompt: "Save the note '(?P<note>[^']+)' in (?P<file>[\\w.]+\\w)"}
    turns:
      - think: "{{a tool}} for {note}?"
        call: {kind: edit, path: "{file}", content: "{note}\n"}
      - say: "I saved {note}: {result}"
  - when: {after: 1, result: "no such file"}
    say: It is not there.
  - when: {prompt: two}
    turns:
      - calls:
          - {kind: read, path: a.txt}
          - {tool: odd_tool, arguments: {list: ["{prompt}", 1], deep: {x: "{prompt}"}}}
      - call: {kind: read, path: b.txt}
  - say: Hm.
    stop: refusal
"""
NOTE = "Save the note 'buy milk' in notes.txt."


def written(folder: Path, text: str, name: str = "script.yaml") -> Path:
    """A file with this text."""
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def play(folder: Path, prompt: str, *results: str, seed: int = 1) -> Answer:
    """The answer of the forgetful script."""
    model = load_script(written(folder, FORGETFUL))
    return to_answer(model.play(a_turn(prompt, *results, seed=seed)))


def test_a_rule_is_played_turn_by_turn(tmp_path: Path) -> None:
    """Placeholders are filled from the prompt; the turns follow the tool results."""
    first = play(tmp_path, NOTE)
    assert first.thinking == "{a tool} for buy milk?"
    assert first.calls[0].name == "write_file"
    assert first.calls[0].arguments == {"path": "notes.txt", "content": "buy milk\n"}
    assert play(tmp_path, NOTE, "ok").text == "I saved buy milk: ok"
    assert play(tmp_path, NOTE, "ok", "again").text == "I saved buy milk: again"


def test_a_chance_is_drawn_from_the_seed(tmp_path: Path) -> None:
    """It forgets one time in five; the same seed gives the same result at every step."""
    forgot = [play(tmp_path, NOTE, seed=seed).text == "Saved." for seed in range(300)]
    assert 30 < sum(forgot) < 90
    assert [play(tmp_path, NOTE, "ok", seed=seed).text == "Saved." for seed in range(300)] == forgot


def test_several_calls_of_a_turn_are_answered_together(tmp_path: Path) -> None:
    """The next turn is used when all calls of the last one have results."""
    first = play(tmp_path, "two")
    assert [call.name for call in first.calls] == ["read_file", "odd_tool"]
    assert first.calls[1].arguments == {"list": ["two", 1], "deep": {"x": "two"}}
    assert play(tmp_path, "two", "x", "y").calls[0].arguments == {"path": "b.txt"}
    assert play(tmp_path, "two", "x", "y", "z").text == "Hm."


def test_conditions_on_what_came_before(tmp_path: Path) -> None:
    """A rule can wait for results and check the last one."""
    assert play(tmp_path, "other", "error: no such file").text == "It is not there."
    assert play(tmp_path, "other", "fine").text == "Hm."
    assert play(tmp_path, "other").stop == "refusal"


def test_without_a_matching_rule_it_says_so(tmp_path: Path) -> None:
    """It is not an error."""
    model = load_script(written(tmp_path, "rules: [{when: {prompt: never}, say: x}]"))
    assert to_answer(model.play(a_turn("Hi."))).text == "The script has no rule for this."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rulez: []", "rules: is required\n  → did you mean to write 'rules' instead of 'rulez'?"),
        ("rules: []", "rules: is empty"),
        ("rules: [{sya: x}]", "rules[0].sya: unknown key\n  → did you mean 'say'?"),
        ("rules: [{when: {promt: x}, say: y}]", "rules[0].when.promt: unknown key\n  → did you mean 'prompt'?"),
        ("rules: [{when: {prompt: '('}, say: y}]", "rules[0].when.prompt: is not a valid regular expression"),
        ("rules: [{say: '{nam}', when: {prompt: '(?P<name>x)'}}]", "{nam} is not defined\n  → did you mean {name}"),
        (
            "rules: [{call: {kind: edt, path: x}}]",
            "rules[0].call.kind: unknown value 'edt'\n  → did you mean 'edit'",
        ),
        ("rules: [{call: {kind: edit, pth: x}}]", "rules[0].call.pth: unknown key\n  → did you mean 'path'?"),
        ("rules: [{call: {path: x}}]", "rules[0].call.kind: is required"),
        ("rules: [{call: {tool: x, arguments: {a: ['{b}']}}}]", "arguments.a[0]: {b} is not defined"),
        ("rules: [{turns: [{say: x, cal: y}]}]", "rules[0].turns[0].cal: unknown key\n  → did you mean 'call'?"),
        ("rules: [{chance: 2, say: x}]", "expected a number from 0 to 1, found 2"),
        ("rules: [{chance: 0.5}]", "rules[0].say: is required"),
        ("rules: [{say: x, turns: [{say: y}]}]", "rules[0].say: unknown key"),
        ("rules: [x]", "rules[0]: expected a table"),
        ("- x", "expected a table"),
        ("rules: [", "is not valid YAML"),
    ],
)
def test_a_mistake_is_one_clear_error(tmp_path: Path, text: str, problem: str) -> None:
    """The error has the file, the key, the problem and the nearest valid name."""
    with pytest.raises(BadInput) as caught:
        load_script(written(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "script.yaml"))
    assert problem in str(caught.value)


def test_a_python_file_is_a_script(tmp_path: Path) -> None:
    """A file with a function `play`, or with a named function."""
    path = written(tmp_path, "def play(turn): return 'played'\ndef other(turn): return 'other'\n", "model.py")
    assert load_script(path).play(a_turn("x")) == "played"
    assert load_script(f"{path}:other").play(a_turn("x")) == "other"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("model.py", "def pley(turn): ...", "there is no function 'play'\n  → did you mean model.py:pley"),
        ("model.py", "1 / 0", "can't be imported: ZeroDivisionError"),
        ("model.txt", "", "is not a script"),
    ],
)
def test_an_invalid_script_is_refused(tmp_path: Path, name: str, text: str, problem: str) -> None:
    """The error says what is wrong."""
    with pytest.raises(BadInput, match=problem):
        load_script(written(tmp_path, text, name))


def test_a_missing_script_is_refused(tmp_path: Path) -> None:
    """The same for a missing file."""
    with pytest.raises(BadInput, match="there is no such file"):
        load_script(tmp_path / "gone.yaml")


def test_a_script_that_was_just_edited_is_reloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's bytecode cache would miss an edit of the same length in the same second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "model.py"
    for word in ("first", "other"):
        path.write_text(f"def play(turn):\n    return {word!r}\n")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert load_script(path).play(a_turn("x")) == word
    assert [one.name for one in tmp_path.iterdir()] == ["model.py"]


def test_a_pattern_that_takes_too_long_is_an_error_of_the_script(tmp_path: Path) -> None:
    """The agent chooses the text; its request must not stop the gateway."""
    model = load_script(written(tmp_path, "rules:\n  - when: {prompt: '(a|aa)+$'}\n    say: Hm.\n"))
    with pytest.raises(PatternTooSlow, match=r"\(a\|aa\)\+"):
        model.play(a_turn("a" * 400 + "!"))
