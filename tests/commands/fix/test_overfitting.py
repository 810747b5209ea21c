"""A prompt that only knows its exam is told from one that is mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.commands.fix.overfitting import EvalSource, quotations
from demeanor.core.checks import FileContains, FunctionCheck, ToolUsed
from demeanor.core.eval import Eval, Source
from demeanor.core.policy import Policy
from demeanor.core.scenario import Scenario

SOURCE = '''
EXPECTED = "the quick summary"

def keeps_the_port(rig, result):
    """Docstrings may say anything at all."""
    assert rig.calls.of_kind("read")
    assert rig.calls.named("write_file")
    assert rig.workspace["settings.ini"].text == "host = example\\nport = 9090\\n"
    assert EXPECTED in rig.final_text

def another(rig, result):
    assert "not of this eval" in result
'''
OLD = "You are an agent. Read files. Put logs into app.log."


def keeps_the_port(rig: object, result: str) -> None:
    """Only its name is asked."""


EXAM = EvalSource(
    eval=Eval(
        name="keeps_the_port",
        policy=Policy.USUALLY_PASSES,
        scenario=Scenario(
            prompts=("Raise the port in settings.ini, e.g. to 9090, and keep the other lines as they are.",),
            files={"settings.ini": b"host = example\nport = 8080\n", "conf/app.log": b"", "README.md": b"read me"},
        ),
        checks=(
            FunctionCheck(function=keeps_the_port),
            FileContains(path="conf/extra.cfg", text="a whole sentence"),
            ToolUsed(kind="edit"),
        ),
        source=Source(path=Path("evals/eval_port.py")),
    ),
    source=SOURCE,
    template=("deep/inside/data.csv",),
)


@pytest.mark.parametrize(
    ("new", "found"),
    [
        ("When settings.ini is named, look first.", "of its files: the name 'settings.ini'"),
        ("Mind deep/inside/data.csv.", "of its files: the name 'deep/inside/data.csv'"),
        ("Mind data.csv.", "of its files: the name 'data.csv'"),
        ("Always keep the other lines\n  as they are.", "of what it asks: 'keep the other lines'"),
        ("If a port is 8080, ask.", "of its files: '8080'"),
        ("The right port is 9090.", "of what it asks: '9090'"),
        ("Give the quick summary.", "of what it expects: 'the quick summary'"),
        ("Write a whole sentence.", "of what it expects: 'a whole sentence'"),
        ('Write "host = example".', "of its files: 'host example'"),
    ],
)
def test_what_quotes_the_eval_is_found(new: str, found: str):
    """Its question, its files, what it expects, in whatever wrapping."""
    assert found in quotations(EXAM, old=OLD, new=new)


@pytest.mark.parametrize(
    "new",
    [
        "Read every file before you change it, e.g. with read_file, and keep what the user did not speak of.",
        "Use write_file to write; edit as little as you can.",
        "Put logs into app.log, as before.",
        "See README.md for more.",
        "Raise errors in the user's own words.",
        "Docstrings may say anything at all. This is not of this eval.",
        "",
    ],
)
def test_general_words_are_no_quotation(new: str):
    """Nor are names of tools and kinds, what stood there before, and what other evals say."""
    assert quotations(EXAM, old=OLD, new=new) == ()


def test_a_paraphrase_is_not_found():
    """The limit of the rule, which is for the guard suite and for a reader of the patch."""
    assert quotations(EXAM, old=OLD, new="When a number in a settings file is to be raised, look at it first.") == ()


def test_a_source_that_can_t_be_read_tells_nothing():
    """The rest still counts."""
    broken = EvalSource(eval=EXAM.eval, source="def (")
    assert quotations(broken, old="", new="the quick summary") == ()
    assert quotations(broken, old="", new="settings.ini") != ()
