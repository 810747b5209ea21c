"""Does a fix overfit the eval? Quotations of the eval in new text."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.commands.fix.overfitting import EvalSource, find_quotations
from demeanor.core.values.checks import FileContains, FunctionCheck, ToolUsed
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario

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
    """Only its name is used."""


PORT_EVAL = EvalSource(
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
        ("When settings.ini is named, look first.", "file name 'settings.ini'"),
        ("Mind deep/inside/data.csv.", "file name 'deep/inside/data.csv'"),
        ("Mind data.csv.", "file name 'data.csv'"),
        ("Always keep the other lines\n  as they are.", "prompt 'keep the other lines'"),
        ("If a port is 8080, ask.", "file content '8080'"),
        ("The right port is 9090.", "prompt '9090'"),
        ("Give the quick summary.", "expected text 'the quick summary'"),
        ("Write a whole sentence.", "expected text 'a whole sentence'"),
        ('Write "host = example".', "file content 'host example'"),
    ],
)
def test_quotations_are_found(new: str, found: str):
    """Of the prompt, the files and the expected texts, across line breaks."""
    assert found in find_quotations(PORT_EVAL, old=OLD, new=new)


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
def test_general_text_is_not_a_quotation(new: str):
    """Nor are names of tools and kinds, earlier text, or texts of other evals."""
    assert find_quotations(PORT_EVAL, old=OLD, new=new) == ()


def test_a_paraphrase_is_not_found():
    """A limit of the rule; the guard suite and the reader of the patch have to notice it."""
    assert (
        find_quotations(PORT_EVAL, old=OLD, new="When a number in a settings file is to be raised, look at it first.")
        == ()
    )


def test_a_source_with_a_syntax_error_has_no_expected_texts():
    """Prompts and file names still count."""
    broken = EvalSource(eval=PORT_EVAL.eval, source="def (")
    assert find_quotations(broken, old="", new="the quick summary") == ()
    assert find_quotations(broken, old="", new="settings.ini") != ()
