"""Mistakes in files and options: one clear error with file, key, value and remedy; nothing is run or written."""

from __future__ import annotations

import pytest

from tests.helpers.project import Project
from tests.helpers.versions import Nights

EVAL = "from demeanor import *\n@eval_test(USUALLY_PASSES, {})\ndef e(rig, result): return True\n"
SCENARIO = 'prompt = "x"\npolicy = "USUALLY_PASSES"\n'


@pytest.mark.parametrize(
    ("files", "complaints"),
    [
        ({"demeanor_toml": "trails = 3\n"}, ["demeanor.toml: trails: unknown key", "did you mean 'trials'"]),
        ({"demeanor_toml": "trials = 0\n"}, ["demeanor.toml: trials: expected a whole number from 1"]),
        ({"demeanor_toml": "trials = \n"}, ["demeanor.toml: is not valid TOML", "line 1"]),
        ({"demeanor_toml": 'subjects = ["natve:x"]\n'}, ["unknown agent 'natve'", "did you mean 'native'"]),
        ({"demeanor_toml": 'subjects = ["native:gpt"]\n'}, ["unknown model 'gpt'"]),
        (
            {"demeanor_toml": '[agents.a]\nadapter = "comand"\n'},
            ["demeanor.toml: agents.a.adapter: unknown adapter 'comand'", "did you mean 'command'"],
        ),
        (
            {"demeanor_toml": 'subjects = ["native:m"]\n[models.m]\nprovider = "opnai"\n'},
            ["demeanor.toml: models.m.provider: unknown provider 'opnai'", "did you mean 'openai'"],
        ),
        (
            {
                "demeanor_toml": '[judge]\nmodel = "gtp"\n',
                "evals__eval_a_py": EVAL.format('prompt="p"').replace("return True", 'assert rig.judge("Is it so?")'),
            },
            ["the judge can't be asked: ", "demeanor.toml: judge.model: unknown model 'gtp'"],
        ),
        ({"evals__eval_a_py": EVAL.format('prompts=["a"], prompt="b"')}, ["eval_a.py:2", "prompt"]),
        ({"evals__eval_a_py": EVAL.format('promt="b"')}, ["did you mean 'prompt'"]),
        ({"evals__eval_a_py": EVAL.format('prompt="b", files={"../x": ""}')}, ["'../x'"]),
        ({"evals__eval_a_py": EVAL.format('prompt="b", files={"/etc/x": ""}')}, ["'/etc/x'", "absolute"]),
        ({"evals__eval_a_py": "def broken(:\n"}, ["eval_a.py:1: syntax error"]),
        ({"evals__s__config_json": '{"name": "n", "prompt": "p",}'}, ["config.json:1:29: ", "JSON"]),
        (
            {"evals__s__config_json": '{"name": "n", "description": "d", "prompt": "p", "expectedContents": []}'},
            ["expectedContents", "did you mean 'expectedContent'"],
        ),
        ({"evals__s__scenario_toml": SCENARIO + '[[checks]]\ncheck = "file_exist"\n'}, ["did you mean 'file_exists'"]),
        (
            {"evals__s__scenario_toml": SCENARIO + '[[checks]]\ncheck = "file_exists"\npath = "../x"\n'},
            ["checks[0].path", "'../x'"],
        ),
    ],
)
def test_a_mistake_is_reported_before_anything_runs(project: Project, files: dict[str, str], complaints: list[str]):
    """Exit code 2, the error on standard error, no results."""
    good = {"evals__eval_ok_py": EVAL.format('prompt="p", name="ok"')}
    project.write(**{**good, **files})
    ran = project.demeanor("run", "--policy", "all")
    assert ran.returncode == 2, ran.stdout + ran.stderr
    for complaint in complaints:
        assert complaint in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (project.folder / "results").exists()
    assert project.temporary() == []


@pytest.mark.parametrize(
    ("table", "words", "place"),
    [
        ("gate", "gate", "demeanor.toml: gate.subjects"),
        ("nightly", "nightly", "demeanor.toml: nightly.subjects"),
        ("fix", "fix ok", "demeanor.toml: fix.subjects"),
        ("fix", "fix ok --subject native:gtp", "--subject"),
        ("fix", "fix ok --fixer native:gtp", "--fixer"),
    ],
)
def test_an_unknown_model_is_blamed_on_the_place_where_it_is_written(
    project: Project, table: str, words: str, place: str
):
    """Each command has subjects of its own."""
    tree = Nights(project)
    project.write(
        evals__eval_ok_py=EVAL.format('prompt="p", name="ok"'), demeanor_toml='subjects = ["native:scripted"]\n'
    )
    tree.commit()
    assert project.demeanor("run", "--trials", "1").returncode < 2
    with (project.folder / "demeanor.toml").open("a") as file:
        file.write(f'[{table}]\nsubjects = ["native:gtp"]\n')
    ran = project.demeanor(*words.split())
    assert (ran.returncode, f"{place}: unknown model 'gtp'" in ran.stderr) == (2, True), ran.stderr


def test_a_link_out_of_the_template_is_refused(project: Project):
    """A file of the host must not get into a workspace through a link."""
    project.write(evals__s__scenario_toml=SCENARIO + '[[checks]]\ncheck = "file_exists"\npath = "a"\n')
    (project.folder / "evals/s/template").mkdir()
    (project.folder / "evals/s/template/secret").symlink_to("/etc/passwd")
    ran = project.demeanor("run", "--policy", "all")
    assert ran.returncode == 2
    assert "secret" in ran.stderr
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "no/such/path"], "no/such/path: no such file or folder"),
        (["run", "--trials", "0"], "expected a whole number of at least 1"),
        (["run", "--trials", "x"], "invalid whole number value: 'x'"),
        (["run", "-k", "and"], "is not a valid expression"),
        (["run", "--scenario", "okk"], "did you mean 'ok'"),
        (["run", "--resume", "yesterday"], "unknown run 'yesterday'"),
        (["gate", "--trials", "1"], "the same number for each: demeanor run --trials 1"),
        (["trace"], "unknown run 'latest'"),
        (["run", "--config", "absent.toml"], "absent.toml: there is no such file"),
    ],
)
def test_wrong_options_are_reported(project: Project, words: list[str], complaint: str):
    """With what was given, and what is expected."""
    project.write(evals__eval_ok_py=EVAL.format('prompt="p", name="ok"'))
    ran = project.demeanor(*words)
    assert ran.returncode == 2
    assert complaint in ran.stderr


def test_a_check_that_crashes_is_void(project: Project):
    """A bug in the eval is neither a pass nor a fail of the agent."""
    code = 'from demeanor import *\n@eval_test(ALWAYS_PASSES, prompt="What does a.txt say?", files={"a.txt": "x"})\n'
    project.write(evals__eval_bug_py=code + "def bug(rig, result):\n    return 1 / 0\n")
    ran = project.demeanor("run", "--trials", "1")
    assert ran.returncode == 3
    assert "ZeroDivisionError" in ran.stdout
    assert "eval_bug.py:4" in ran.stdout


@pytest.mark.parametrize(
    "prompt", ["-rf --help", 'it\'s "quoted"', "two\nlines\n", "{workspace} $HOME `id` ;ls", "😀 ünï"]
)
def test_a_prompt_arrives_verbatim(project: Project, prompt: str):
    """Quotes, newlines, leading dashes, placeholders and shell characters are data."""
    project.write(
        demeanor_toml='subjects = ["echo"]\n[agents.echo]\nadapter = "command"\n'
        'command = ["python3", "-c", "import sys; open(\'out\', \'w\').write(sys.argv[1])", "{prompt}"]\n',
        evals__eval_echo_py=f"""\
from demeanor import ALWAYS_PASSES, eval_test
PROMPT = {prompt!r}
@eval_test(ALWAYS_PASSES, prompt=PROMPT, trials=1)
def arrives(rig, result):
    assert rig.workspace["out"].text == PROMPT
""",
    )
    ran = project.demeanor("run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
