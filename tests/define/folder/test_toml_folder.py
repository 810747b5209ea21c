"""`scenario.toml`: every key and every check is read, and every mistake is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    PromptSnapshot,
    ToolUsed,
    UnchangedExcept,
)
from demeanor.core.values.errors import BadInput
from demeanor.core.values.policy import ALWAYS_PASSES
from demeanor.core.values.scenario import Approval, PriorMessage
from demeanor.define.folder.check_table import CHECKS
from demeanor.define.folder.scripted_behaviour import ScriptedBehaviour, ScriptedCall
from demeanor.define.folder.toml_folder import read_toml_folder

HEAD = 'policy = "USUALLY_PASSES"\nprompt = "Do it."\n'
CHECK = '[[checks]]\ncheck = "file_exists"\npath = "a.txt"\n'
FULL = """
name = "a name"
description = "What it is for."
policy = "ALWAYS_PASSES"
prompts = ["First.", "Second."]
timeout = 12.5
trials = 5
tags = ["a", "b"]
suite = "s"
subjects = ["native:small"]
models = ["large"]
requires_env = ["KEY"]
owner = "ann"
issue = "#1"
log = true
does_nothing_passes = true
approval = { default = "deny", read = "allow" }

[params]
temperature = 0

[[messages]]
role = "user"
text = "Hi."

[files]
"src/app.py" = "pass"

[[checks]]
check = "file_exists"
path = "a.txt"

[passes_on]
files = { "a.txt" = "x" }
delete = ["src/app.py"]
calls = [{ tool = "rm", arguments = { path = "src/app.py" }, result = "no", succeeded = false }]
final_text = "Done."
exit_code = 1
tokens = 10
cost_usd = 0.5
seconds = 2

[[fails_on]]
title = "nothing"

[[fails_on]]
final_text = "?"
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(text)
    return folder


def read(tmp_path: Path, text: str):
    (found,) = read_toml_folder(write(tmp_path / "an-id", text))
    return found


def test_every_field_is_read(tmp_path):
    """Each key arrives in the eval or in its scenario."""
    found = read(tmp_path, FULL)
    scenario = found.scenario
    assert (found.name, found.description, found.policy) == ("a name", "What it is for.", ALWAYS_PASSES)
    assert (scenario.prompts, scenario.timeout, found.trials) == (("First.", "Second."), 12.5, 5)
    assert (found.tags, found.suite, found.subjects, found.models) == (("a", "b"), "s", ("native:small",), ("large",))
    assert (scenario.requires_env, found.owner, found.issue, found.log) == (("KEY",), "ann", "#1", True)
    assert scenario.approval == Approval(default="deny", rules={"read": "allow"})
    assert scenario.messages == (PriorMessage(role="user", text="Hi."),)
    assert (scenario.files, scenario.params) == ({"src/app.py": b"pass"}, {"temperature": 0})
    assert found.does_nothing_passes


def test_behaviours_are_read(tmp_path):
    """`[passes_on]` is one behaviour, `[[fails_on]]` are several."""
    found = read(tmp_path, FULL)
    assert found.passes_on == (
        ScriptedBehaviour(
            title="passes_on",
            files={"a.txt": b"x"},
            delete=("src/app.py",),
            calls=(ScriptedCall(tool="rm", arguments={"path": "src/app.py"}, result="no", succeeded=False),),
            final_text="Done.",
            exit_code=1,
            tokens=10,
            cost_usd=0.5,
            seconds=2.0,
        ),
    )
    assert [act.__name__ for act in found.fails_on] == ["nothing", "fails_on[1]"]


def test_folder_gives_the_name(tmp_path):
    """An eval without a name has the name of its folder."""
    assert read(tmp_path, HEAD + CHECK).name == "an-id"


def test_template_and_inline_files_go_together(tmp_path):
    """`template/` is copied first, `[files]` are written over it."""
    folder = write(tmp_path / "a", f'{HEAD}{CHECK}[files]\n"b.txt" = "b"\n')
    (folder / "template").mkdir()
    scenario = read_toml_folder(folder)[0].scenario
    assert (scenario.template, scenario.files) == ((folder / "template").resolve(), {"b.txt": b"b"})


EXAMPLES = {
    'check = "file_exists"\npath = "a"': FileExists(path="a"),
    'check = "file_absent"\npath = "a"': FileAbsent(path="a"),
    'check = "file_equals"\npath = "a"\ntext = ""': FileEquals(path="a", text=""),
    'check = "file_contains"\npath = "a"\ntext = "x"': FileContains(path="a", text="x"),
    'check = "file_contains"\npath = "a"\ntext = "x"\nnot = true': FileContains(path="a", text="x", negated=True),
    'check = "file_matches"\npath = "a"\npattern = "^x"': FileMatches(path="a", pattern="^x"),
    'check = "json_path"\npath = "a"\njson_path = "b[0]"\nvalue = true': JsonPathEquals(
        path="a", json_path="b[0]", value=True
    ),
    'check = "unchanged_except"': UnchangedExcept(),
    'check = "unchanged_except"\npatterns = ["*.md"]': UnchangedExcept(patterns=("*.md",)),
    'check = "command_succeeds"\nargv = ["make"]': CommandSucceeds(argv=("make",)),
    'check = "command_succeeds"\nargv = ["a", "b"]\nstdout_contains = "ok"\ntimeout = 5': CommandSucceeds(
        argv=("a", "b"), stdout_contains="ok", timeout=5.0
    ),
    'check = "tool_used"\ntool = "grep"': ToolUsed(tool="grep"),
    'check = "tool_used"\nkind = "edit"\nat_least = 2\nat_most = 3': ToolUsed(kind="edit", at_least=2, at_most=3),
    'check = "tool_used"\nkind = "edit"\nat_most = 0': ToolUsed(kind="edit", at_least=0, at_most=0),
    'check = "tool_not_used"\nkind = "delete"': ToolUsed(kind="delete", at_least=0, at_most=0),
    'check = "at_most"\nquantity = "turns"\nlimit = 5': AtMost(quantity="turns", limit=5.0),
    'check = "final_text"\ncontains = "a"\nexcludes = "b"\nmatches = "c+"': FinalText(
        contains="a", excludes="b", matches="c+"
    ),
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_check_is_read(tmp_path, text):
    """Each check has its own table."""
    assert read(tmp_path, f"{HEAD}[[checks]]\n{text}\n").checks == (EXAMPLES[text],)


def test_snapshot_is_relative_to_the_scenario(tmp_path):
    """The file's path is relative to the scenario's folder."""
    (check,) = read(tmp_path, f'{HEAD}[[checks]]\ncheck = "prompt_snapshot"\nfile = "s/{{subject}}.md"\n').checks
    assert isinstance(check, PromptSnapshot)
    assert check.file.name == "{subject}.md"
    assert check.file.parent.parent.is_dir()
    assert check.file_of("native:m").name == "native-m.md"


def test_every_check_is_tested():
    """The table above has every check."""
    assert {text.split('"')[1] for text in EXAMPLES} | {"prompt_snapshot"} == set(CHECKS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("policy = ", "is not valid TOML"),
        (CHECK, "policy: is required"),
        (f'policy = "OFTEN"\nprompt = "x"\n{CHECK}', "policy: unknown value 'OFTEN'"),
        (f'policy = "USUALY_PASSES"\nprompt = "x"\n{CHECK}', "did you mean 'USUALLY_PASSES'"),
        (f'policy = "USUALLY_PASSES"\n{CHECK}', "prompt: is required"),
        (f'{HEAD}prompts = ["x"]\n{CHECK}', "both prompt and prompts"),
        (f'policy = "USUALLY_PASSES"\nprompts = []\n{CHECK}', "prompts: is empty"),
        (f'policy = "USUALLY_PASSES"\nprompt = " "\n{CHECK}', "prompt: is empty"),
        (HEAD, "checks: there is no check, so the eval could never fail"),
        (f'{HEAD}tag = ["x"]\n{CHECK}', "tag: unknown key\n  → did you mean 'tags'"),
        (f'{HEAD}approvals = "deny"\n{CHECK}', "did you mean 'approval'"),
        (f"{HEAD}{CHECK}[[fail_on]]", "did you mean 'fails_on'"),
        (f'{HEAD}name = "a/b"\n{CHECK}', "name: 'a/b' can't be"),
        (f"{HEAD}trials = 0\n{CHECK}", "trials: expected a whole number of at least 1"),
        (f"{HEAD}timeout = 0\n{CHECK}", "timeout: expected a number of seconds above 0, found 0"),
        (f'{HEAD}approval = "ask"\n{CHECK}', "approval: unknown value 'ask'"),
        (f'{HEAD}approval = {{ edit = "ask" }}\n{CHECK}', "approval.edit: unknown value 'ask'"),
        (f'{HEAD}approval = ["deny", "ask"]\n{CHECK}', "approval[1]: unknown value 'ask'"),
        (f'{HEAD}approval = {{ edit = ["deny", ["allow"]] }}\n{CHECK}', "approval.edit[1]: unknown value ['allow']"),
        (f"{HEAD}approval = []\n{CHECK}", "approval: unknown value []"),
        (f"{HEAD}approval = 3\n{CHECK}", 'approval: expected "allow", "deny", a list of these, or a table'),
        (f'{HEAD}{CHECK}[[messages]]\nrole = "system"\ntext = ""', "messages[0].role: unknown value"),
        (f'{HEAD}{CHECK}[files]\n"../x" = ""', "files: the path '../x' leads out"),
        (f'{HEAD}{CHECK}[files]\na.txt = ""', "files.a: expected the file's text\n  → quote the path"),
        (f'{HEAD}{CHECK}[passes_on]\nfiles = {{ "/x" = "" }}', "passes_on.files: the path '/x' is absolute"),
        (f'{HEAD}{CHECK}[[fails_on]]\ndelete = ["../x"]', "fails_on[0].delete: the path '../x' leads out"),
        (f'{HEAD}{CHECK}[[fails_on]]\nfinal = "x"', "did you mean 'final_text'"),
        (f"{HEAD}{CHECK}[[fails_on]]\ncalls = [{{}}]", "fails_on[0].calls[0].tool: is required"),
        (f'{HEAD}passes_on = "x"\n{CHECK}', "passes_on: expected a table"),
        (f"{HEAD}[[checks]]\n", "checks[0].check: is required"),
        (f'{HEAD}[[checks]]\ncheck = "file_exist"', "did you mean 'file_exists'"),
        (f'{HEAD}[[checks]]\ncheck = "file_exists"\nfile = "a"', "checks[0].file: unknown key"),
        (f'{HEAD}[[checks]]\ncheck = "file_exists"\npath = "../a"', "leads out of the workspace"),
        (f'{HEAD}[[checks]]\ncheck = "file_exists"\npath = "a"\ntext = "b"', "checks[0].text: unknown key"),
        (f'{HEAD}[[checks]]\ncheck = "file_contains"\npath = "a"\ntext = ""', "checks[0].text: is empty"),
        (f'{HEAD}[[checks]]\ncheck = "file_matches"\npath = "a"\npattern = "("', "is not a valid regular expression"),
        (f'{HEAD}[[checks]]\ncheck = "json_path"\npath = "a"\njson_path = "a..b"\nvalue = 1', "can't be read from"),
        (f'{HEAD}[[checks]]\ncheck = "json_path"\npath = "a"\njson_path = "a"', "value: is required"),
        (f'{HEAD}[[checks]]\ncheck = "json_path"\npath = "a"\njson_path = "a"\nvalue = 2020-01-01', "no dates"),
        (f'{HEAD}[[checks]]\ncheck = "command_succeeds"', "argv: is required"),
        (f'{HEAD}[[checks]]\ncheck = "command_succeeds"\nargv = "ls"', "argv: expected a list"),
        (f'{HEAD}[[checks]]\ncheck = "tool_used"', "exactly one of tool and kind"),
        (f'{HEAD}[[checks]]\ncheck = "tool_used"\ntool = "a"\nkind = "edit"', "exactly one of tool and kind"),
        (f'{HEAD}[[checks]]\ncheck = "tool_used"\nkind = "edti"', "did you mean 'edit'"),
        (f'{HEAD}[[checks]]\ncheck = "tool_used"\ntool = "a"\nat_least = 3\nat_most = 2', "less than at_least"),
        (f'{HEAD}[[checks]]\ncheck = "tool_used"\ntool = "a"\nat_least = 0', "the check could never fail"),
        (f'{HEAD}[[checks]]\ncheck = "at_most"\nquantity = "turn"\nlimit = 1', "did you mean 'turns'"),
        (f'{HEAD}[[checks]]\ncheck = "at_most"\nquantity = "turns"', "limit: is required"),
        (f'{HEAD}[[checks]]\ncheck = "final_text"', "has no condition"),
        (f'{HEAD}[[checks]]\ncheck = "final_text"\ncontains = ""', "contains: is empty"),
    ],
)
def test_mistake_is_refused_with_file_key_and_remedy(tmp_path, text, message):
    """Each wrong value is one clear error, before anything runs."""
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert str(tmp_path / "an-id" / "scenario.toml") in str(caught.value)


def test_approval_may_be_a_list(tmp_path):
    """Answers in order, for all requests or for those of a tool or kind."""
    folder = tmp_path / "asks"
    folder.mkdir()
    for written, wanted in (
        ('["deny", "allow"]', Approval(default=("deny", "allow"))),
        ('{ edit = ["deny", "allow"], default = "deny" }', Approval(default="deny", rules={"edit": ("deny", "allow")})),
    ):
        (folder / "scenario.toml").write_text(f"{HEAD}approval = {written}\n{CHECK}")
        assert read_toml_folder(folder)[0].scenario.approval == wanted
