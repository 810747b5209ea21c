"""`@eval_test`: what an author writes becomes an Eval, and every mistake is refused with its place and a remedy."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor import ALWAYS_PASSES, USUALLY_FAILS, USUALLY_PASSES, Approval, eval_test
from demeanor.core.values.checks import FunctionCheck
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.core.values.scenario import PriorMessage


def check(rig, result):
    """Checks nothing."""


def behaviour(stage):
    """Does nothing."""


def make(policy=USUALLY_PASSES, check=check, **arguments) -> Eval:
    return eval_test(policy, **{"prompt": "Do it.", **arguments})(check)


def refused(**arguments) -> BadInput:
    with pytest.raises(BadInput) as caught:
        make(**arguments)
    return caught.value


def test_decorated_function_is_an_eval():
    """The decorated name holds a value with the function's name, docstring and place."""

    @eval_test(ALWAYS_PASSES, prompt="Save it.")
    def saves_it(rig, result):
        """It is saved."""

    assert isinstance(saves_it, Eval)
    assert (saves_it.name, saves_it.policy, saves_it.description) == ("saves_it", ALWAYS_PASSES, "It is saved.")
    assert saves_it.scenario.prompts == ("Save it.",)
    assert saves_it.source.path == Path(__file__)
    assert Path(__file__).read_text().splitlines()[saves_it.source.line - 1].strip().startswith("@eval_test")


def test_every_field_arrives():
    """Each argument ends up in the eval or in its scenario."""
    made = make(
        USUALLY_FAILS,
        prompt=None,
        prompts=["First.", "Second."],
        name="a name",
        files={"a/b.txt": "text", "c.bin": b"\xff"},
        params={"temperature": 0},
        setup=behaviour,
        timeout=5,
        trials=7,
        subjects=["native:small"],
        tags=["x"],
        suite="s",
        requires_env=["KEY"],
        messages=[{"role": "user", "text": "Hi."}, PriorMessage(role="assistant", text="Hello.")],
        log=True,
        owner="ann",
        issue="#1",
        passes_on=behaviour,
        fails_on=[behaviour, behaviour],
        does_nothing_passes=True,
    )
    scenario = made.scenario
    assert scenario.prompts == ("First.", "Second.")
    assert scenario.files == {"a/b.txt": b"text", "c.bin": b"\xff"}
    assert (scenario.params, scenario.setup, scenario.timeout) == ({"temperature": 0}, behaviour, 5.0)
    assert scenario.messages == (PriorMessage(role="user", text="Hi."), PriorMessage(role="assistant", text="Hello."))
    assert scenario.requires_env == ("KEY",)
    assert (made.name, made.policy, made.trials, made.subjects) == ("a name", USUALLY_FAILS, 7, ("native:small",))
    assert (made.tags, made.suite, made.log, made.owner, made.issue) == (("x",), "s", True, "ann", "#1")
    assert (made.passes_on, made.fails_on) == ((behaviour,), (behaviour, behaviour))
    assert made.does_nothing_passes


def test_defaults():
    """An eval with only a prompt allows everything, and leaves time and trials to the run."""
    made = make()
    assert made.scenario.approval == Approval(default="allow")
    assert (made.scenario.timeout, made.trials, made.suite, made.owner, made.issue) == (None,) * 5
    assert (made.tags, made.subjects, made.models, made.passes_on, made.fails_on) == ((),) * 5


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("deny", Approval(default="deny")),
        ({"execute": "deny"}, Approval(default="allow", rules={"execute": "deny"})),
        ({"default": "deny", "read": "allow"}, Approval(default="deny", rules={"read": "allow"})),
        (["deny", "allow"], Approval(default=("deny", "allow"))),
        ({"edit": ["deny", "allow"]}, Approval(rules={"edit": ("deny", "allow")})),
        (Approval(default="deny"), Approval(default="deny")),
    ],
)
def test_approval_can_be_a_word_a_mapping_or_a_value(given, wanted):
    """All notations of `approval` give an Approval."""
    assert make(approval=given).scenario.approval == wanted


def test_async_check_is_accepted():
    """A check may be `async def`."""

    async def waits(rig, result):
        pass

    assert make(check=waits).checks == (FunctionCheck(function=waits),)


def _generator(rig_or_stage, result=""):
    yield


async def _async_generator(rig_or_stage, result=""):
    yield


async def _coroutine(stage):
    pass


@pytest.mark.parametrize("function", [_generator, _async_generator])
def test_generator_is_refused_as_a_check(function):
    """Calling a generator function runs nothing of its body, so the check could never fail."""
    error = refused(check=function)
    line = function.__code__.co_firstlineno
    assert f"test_decorator.py:{line}" in str(error)
    assert "is a generator" in str(error)
    assert "remove `yield`" in str(error)


@pytest.mark.parametrize("key", ["passes_on", "fails_on", "setup", "user"])
@pytest.mark.parametrize("function", [_generator, _async_generator, _coroutine])
def test_behaviour_that_would_not_run_is_refused(key, function):
    """A behaviour, a set-up and a user are called without awaiting them: nothing of their body would run."""
    error = refused(**{key: function})
    assert key in str(error)
    assert "nothing in it would run" in str(error)


def test_wrapped_check_is_found_where_it_is_written():
    """A check behind another decorator keeps its own name and line."""

    def passing_through(function):
        @functools.wraps(function)
        def outer(*arguments):
            return function(*arguments)

        return outer

    made = make(check=passing_through(check))
    assert (made.name, made.source.line) == ("check", check.__code__.co_firstlineno)


def test_template_folder_is_relative_to_the_evals_file(tmp_path, monkeypatch):
    """`files="app"` is the folder `app` next to the eval's file, whatever the current folder is."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.py").write_text("")
    code = (
        "from demeanor import *\n@eval_test(USUALLY_PASSES, prompt='x', files='app')\ndef made(rig, result): return 1\n"
    )
    names: dict = {}
    exec(compile(code, str(tmp_path / "eval_app.py"), "exec"), names)  # noqa: S102
    assert names["made"].scenario.template == (tmp_path / "app").resolve()


def test_eval_can_be_called_like_the_function():
    """Calling an eval calls the author's function."""
    seen = []
    made = make(check=lambda rig, result: seen.append((rig, result)), name="lambda")
    made("rig", "text")
    assert seen == [("rig", "text")]


@pytest.mark.parametrize(
    ("arguments", "key", "message"),
    [
        ({"policy": "ALWAYS_PASSES"}, "policy", "eval_test(ALWAYS_PASSES, …)"),
        ({"policy": "USUALY_PASSES"}, "policy", "eval_test(USUALLY_PASSES, …)"),
        ({"policy": 3}, "policy", "found a whole number (3)"),
        ({"prompt": None}, "prompt", "is required"),
        ({"prompt": ""}, "prompt", "is empty"),
        ({"prompt": "  \n"}, "prompt", "is empty"),
        ({"prompt": ["a", "b"]}, "prompt", "for several turns use prompts"),
        ({"prompts": ["Again."]}, "prompts", "both prompt and prompts are given"),
        ({"prompt": None, "prompts": []}, "prompts", "at least one prompt"),
        ({"prompt": None, "prompts": "Do it."}, "prompts", 'make it a list: ["Do it."]'),
        ({"prompt": None, "prompts": ["a", 3]}, "prompts[1]", "found a whole number (3)"),
        ({"name": ""}, "name", "must not be empty"),
        ({"name": "a/b"}, "name", "slash"),
        ({"name": "a::b"}, "name", "::"),
        ({"name": "a\nb"}, "name", "invisible"),
        ({"name": 3}, "name", "found a whole number (3)"),
        ({"files": {"../x": ""}}, "files", "leads out"),
        ({"files": {"/etc/passwd": ""}}, "files", "absolute"),
        ({"files": {".git/config": ""}}, "files", ".git"),
        ({"files": {"": ""}}, "files", "empty"),
        ({"files": {"a": 3}}, "files['a']", "found int"),
        ({"files": {3: "a"}}, "files", "must be a string"),
        ({"files": {"a": "", "a/b": ""}}, "files", "is both a file and the folder"),
        ({"files": {"a": "", "./a": ""}}, "files", "given twice"),
        ({"files": 3}, "files", "template folder"),
        ({"files": "no-such-folder"}, "files", "there is no folder"),
        ({"files": "test_decorator.py"}, "files", "is not a folder"),
        ({"params": [1]}, "params", "expected a table, found a list ([1])"),
        ({"params": {1: 2}}, "params", "strings as keys"),
        ({"setup": "make"}, "setup", "a function of 1 argument"),
        ({"setup": lambda: None}, "setup", "a function of 1 argument"),
        ({"timeout": 0}, "timeout", "above 0"),
        ({"timeout": -1}, "timeout", "above 0, found -1"),
        ({"timeout": float("inf")}, "timeout", "above 0, found inf"),
        ({"timeout": "5"}, "timeout", "found a string ('5')"),
        ({"timeout": float("nan")}, "timeout", "above 0"),
        ({"timeout": True}, "timeout", "found a boolean (True)"),
        ({"trials": 0}, "trials", "of at least 1, found 0"),
        ({"trials": 2.5}, "trials", "whole number"),
        ({"trials": True}, "trials", "whole number"),
        ({"subjects": "native:small"}, "subjects", 'make it a list: ["native:small"]'),
        ({"tags": "x"}, "tags", 'make it a list: ["x"]'),
        ({"tags": [""]}, "tags[0]", "is empty"),
        ({"suite": 3}, "suite", "found a whole number (3)"),
        ({"requires_env": [1]}, "requires_env[0]", "found a whole number (1)"),
        ({"approval": "maybe"}, "approval", "unknown value 'maybe'\n  → expected one of: allow, deny"),
        ({"approval": {"execute": "ask"}}, "approval.execute", "unknown value 'ask'"),
        ({"approval": {"execute": []}}, "approval.execute", "unknown value []"),
        ({"approval": ["allow", ["deny"]]}, "approval[1]", "unknown value ['deny']"),
        ({"approval": 3}, "approval", "found a whole number (3)"),
        ({"messages": "Hi."}, "messages", "expected a list, found a string"),
        ({"messages": [{"role": "user"}]}, "messages[0].text", "is required"),
        ({"messages": ["Hi."]}, "messages[0]", "expected a table, found a string"),
        ({"messages": [{"role": "system", "text": "x"}]}, "messages[0].role", "unknown value 'system'"),
        ({"messages": [{"role": "user", "text": "x", "txt": "y"}]}, "messages[0].txt", "did you mean 'text'"),
        ({"log": 1}, "log", "expected true or false, found a whole number (1)"),
        ({"owner": ""}, "owner", "is empty"),
        ({"issue": 7}, "issue", "found a whole number (7)"),
        ({"passes_on": "good"}, "passes_on", "a function of 1 argument, the stage, found a string ('good')"),
        ({"fails_on": [behaviour, lambda: None]}, "fails_on", "def good(stage)"),
        ({"does_nothing_passes": "yes"}, "does_nothing_passes", "expected true or false, found a string ('yes')"),
        ({"check": lambda rig: None}, "check", "def check(rig, result):"),
        ({"check": lambda self, rig, result: None}, "check", "a check in a class takes no `self`"),
    ],
)
def test_mistake_is_refused_with_place_key_value_and_remedy(arguments, key, message):
    """Each wrong argument is one clear error that names the eval's file and line."""
    error = refused(**arguments)
    assert error.key == key
    assert message in str(error)
    assert str(error).startswith(f"{__file__}:")


def test_decorator_without_policy_says_what_is_missing():
    """`@eval_test` without parentheses is a common mistake."""
    with pytest.raises(BadInput, match=r"test_decorator.py:\d+: eval_test: the policy is missing"):
        eval_test(check)


def test_only_functions_can_be_decorated():
    """Only a function can be a check."""
    with pytest.raises(BadInput, match="decorates a function, not 3"):
        eval_test(USUALLY_PASSES, prompt="x")(3)


@pytest.mark.parametrize("target", ["/etc/hostname", "../outside.txt", "sub/../../outside.txt"])
def test_template_link_that_leads_out_is_refused(tmp_path, target):
    """A symlink out of the template would bring the host's files into the workspace."""
    folder = tmp_path / "template"
    (folder / "sub").mkdir(parents=True)
    (folder / "link").symlink_to(target)
    error = refused(files=folder)
    assert "points outside the template" in str(error)
    assert str(folder / "link") in str(error)


def test_template_link_within_is_fine(tmp_path):
    """A symlink that stays inside is part of the template."""
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "link").symlink_to("a.txt")
    assert make(files=tmp_path).scenario.template == tmp_path.resolve()


def test_importing_eval_test_is_cheap():
    """`from demeanor import eval_test` imports neither pytest nor asyncio nor the judge."""
    heavy = "{'_pytest', 'asyncio', 'demeanor.judge'}"
    code = f"import sys; from demeanor import eval_test; print(*{heavy} & set(sys.modules))"
    end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert end.stdout.strip() == ""
