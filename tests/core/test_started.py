"""Exit code 2: nothing was run, and nothing was written."""

from __future__ import annotations

import subprocess

import pytest

from demeanor.cli.registry import all_commands, command_of
from tests.helpers.project import Project

TWO = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.", name="a b")
def one(rig, result):
    assert True

@eval_test(ALWAYS_PASSES, prompt="Write.", name="a-b")
def two(rig, result):
    assert True
"""
ONE = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.")
def one(rig, result):
    assert False
"""
CONFIG = """\
subjects = ["quick"]
sandbox = "none"
[agents.quick]
adapter = "command"
command = ["true", "{prompt}"]
"""


@pytest.mark.parametrize("command", [("run",), ("gate",), ("run", "--dry-run"), ("nightly",)])
def test_colliding_names_are_found_before_anything_is_written(project: Project, command: tuple[str, ...]) -> None:
    """No run folder, no history, no `latest`."""
    project.write(demeanor_toml=CONFIG, evals__eval_two_py=TWO)
    ran = project.demeanor(*command)
    assert ran.returncode == 2
    assert "would have the same folder" in ran.stderr
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize(
    "setting",
    ['captures = "nosuchprotocol://x"', 'store = "nosuchserver://x"', 'subjects = ["native:nosuch"]'],
)
def test_settings_that_fail_late_leave_nothing_behind(project: Project, setting: str) -> None:
    """What only the assembled run finds out is exit code 2 too, without a folder."""
    config = CONFIG if "subjects" not in setting else ""
    project.write(demeanor_toml=f"{setting}\n{config}", evals__eval_one_py=ONE)
    ran = project.demeanor("run")
    assert ran.returncode == 2, ran.stderr
    assert not (project.folder / "results").exists()


INVALID = """\
run nosuch | --jobs 0 | --trials 0 | --timeout nan | --budget 5 | --seed x | --sandbox nosuch | --subject nosuch
run --subject native:nosuch | --suite nosuch | -k ( | -k nosuch | --on nosuch | --on 0
run --fault nosuch | --record=file.txt/x | --replay=nosuch | --junit evals | --junit file.txt/x.xml
run --config absent.toml | --config key.toml | --config store.toml | --config captures.toml | --config evals
run --edit-prompt nosuch | --edit-prompt swap:a | --resume nosuch | --resume ../.. | --update-snapshots --replay
nightly nosuch | --trials 0 | --resume nosuch | --config key.toml | --config store.toml | --junit evals | -k nosuch
gate --base nosuch | --max-trials 0 | --comment-from nosuch | --config store.toml | --junit evals
gate -k nosuch | --subject nosuch | --budget 0usd
compare a b | latest nosuch | --base nowhere | --base HEAD --trials 0 | --base HEAD --subject nosuch | --last 0
compare --base HEAD -k nosuch | --base HEAD --config store.toml | broken.json broken.json
bisect one --good x --bad y | one --good HEAD --bad HEAD | nosuch --good HEAD~1 | one --good HEAD~1 --confidence 2 | one
bisect one --good HEAD~1 --trials 0 | one --good HEAD~1 --subject nosuch | one --good HEAD~1 --config store.toml
promote nosuch | --rule nosuch | --config store.toml | --config key.toml
promote --demote nosuch | --demote --rule nosuch | --demote --config store.toml | --demote --trials 3
report nosuch | --nights 0 | latest --format html --output evals | --branch nosuch | --details -1 | --results nosuch
report --config store.toml | latest --format junit --output file.txt/x
serve --export file.txt | --export file.txt/x | --port 99999 | --results nosuch --export site
serve --config store.toml --export site
report --eval nosuch | --eval one --subject nosuch | --eval one --results nosuch | --eval one --config store.toml
report nosuch --metrics | --metrics --k 0 | --metrics --patterns nosuch.toml | --metrics --patterns broken.json
report broken.json --metrics | --metrics --results nosuch | --k 3 | --eval one --failures | latest --eval one
validate --list nosuch | --list -k ( | --list --config key.toml | --list --suite nosuch | --list --tag nosuch
validate nosuch | --repeat 0 | -k nosuch | --config key.toml
trace nosuch | one --run nosuch | one --against nosuch --diff | one --results nosuch | one --config key.toml
trace --prompt nosuch | --prompt one --run nosuch | --prompt --results nosuch | --notes --run nosuch | --label real
trace nosuch --label real | one --label nosuch | one --note text --run nosuch --label real | one --note text
validate --calibrate nosuch | --calibrate one | --calibrate one --labels nosuch.csv | --calibrate one --results nosuch
rejudge nosuch | latest --last 0 | latest --scenario nosuch | latest --evals nosuch
rejudge latest --results nosuch | latest --config key.toml
fork nosuch | one --at 99 | one --at 0 | one --run nosuch --at 1 | one --at 1 --instead nosuch | one --at 1 --save ../x
cover --subject nosuch | nosuch | --instruction nosuch | --since nosuch | --drop 2 | --sure 0 | --min-coverage 3
adopt nosuch | file.txt | broken.json | evals | one --run nosuch | nosuch --commit nosuch
rejudge --watch nosuch | --watch --trials 0 | --watch --config key.toml | --watch --json
report nosuch --failures | latest --failures --against nosuch | latest --brief 0 | latest --brief 99
report latest --failures --results nosuch | latest --failures --format html | latest nosuch
fix nosuch | one --run nosuch | one --fixer nosuch | one --rounds 0 | one --subject nosuch | one --config store.toml
store nosuch | --nosuch
store import nosuch.xml | broken.json | file.txt | evals | latest --kind nosuch | broken.json --config store.toml
store export nosuch --format csv --output out.csv | latest --format nosuch --output x
store export latest --format csv --output evals | latest --format atif --output file.txt
store export latest --format otlp --endpoint nosuch
compare --plan 2 1 | --plan 0.9 0.9 | --plan a b | --plan 0.9 | --plan --trials 0 | --plan --base main
gateway nosuch | --nosuch
gateway contract --url nosuch | --converter nosuch | --converter os:nosuch | -k nosuch | --dialect nosuch
agents install nosuch | install | install codex --dir file.txt | install codex --dir file.txt/x | check nosuch | nosuch
agents check quick --timeout 0 | check quick --ability nosuch | install codex@^1
cluster check --on nosuch | certs file.txt | certs file.txt/x | certs out --days 0 | certs | nosuch
harbor export nosuch | one --output file.txt | one
harbor images pull :: | images nosuch | rootfs nosuch | nosuch | images prune --max-gb -1
models fetch nosuch | remove nosuch | nosuch
gateway serve nosuch:nosuch | --model nosuch | --port 99999 | --unix file.txt | --log evals | --log file.txt/x
gateway serve --keep file.txt | --keep file.txt/x
gateway serve --keep kept --unix file.txt | --fault nosuch | --config key.toml | --keep kept --host nosuch.invalid
init --nosuch | file.txt | file.txt/x | new --agent nosuch | new --ci nosuch
init guides --for nosuch | file.txt | file.txt/x | nosuch
doctor --nosuch | --sandboxes nosuch
help nosuch | ../../etc/passwd
help commands nosuch | --nosuch
help schema nosuch | ../x
help completion nosuch | --names nosuch
"""
"""A line: a command, and the arguments of several calls of it."""


def calls_of(command: str) -> list[list[str]]:
    """The invalid calls of a command."""
    lines = [line.removeprefix(f"{command} ") for line in INVALID.splitlines() if command_in(line) == command]
    return [[*command.split(), *words.split()] for line in lines for words in line.split(" | ")]


def command_in(line: str) -> str:
    return command_of(line.split())[0]


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository of two commits, with a stored run, and files that no command can use. All tests share it, because
    none may change it."""
    project = Project(tmp_path_factory.mktemp("used") / "project")
    project.write(demeanor_toml=CONFIG, evals__eval_one_py=ONE, file_txt="x", broken_json="{", key_toml="trails = 1\n")
    project.write(store_toml=f'store = "nosuch://x"\n{CONFIG}', captures_toml=f'captures = "nosuch://x"\n{CONFIG}')
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "1"), ("commit", "-q", "--allow-empty", "-m", "2")):
        subprocess.run(["git", *who, *words], cwd=project.folder, env=project.env, check=True)
    assert project.demeanor("run", "--trials", "1").returncode == 1
    return project


def everything(project: Project) -> dict[str, tuple[object, ...]]:
    """All files of the project, its HOME and its temporary folder."""
    found: dict[str, tuple[object, ...]] = {}
    for path in project.folder.parent.rglob("*"):
        mode = path.lstat().st_mode
        content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(project.folder.parent))] = (mode, content)
    return found


def test_every_command_has_invalid_calls() -> None:
    """No command of the registry is left out, and most have several."""
    assert {command_in(line) for line in INVALID.splitlines()} == set(all_commands())


@pytest.mark.parametrize("command", all_commands())
def test_invalid_input_leaves_nothing_behind(used: Project, command: str) -> None:
    """Neither in the project nor in HOME nor in the temporary folder, and no invalid input is taken for a bug."""
    before = everything(used)
    for words in calls_of(command):
        ran = used.demeanor(*words)
        assert (words, ran.returncode) == (words, 2), ran.stdout + ran.stderr
        after = everything(used)
        assert (words, sorted(set(after.items()) ^ set(before.items()))) == (words, [])


def test_an_export_that_stops_half_way_is_not_a_usage_error(project: Project) -> None:
    """The first task is written, the second can't be: exit code 70, and standard error says so."""
    good = 'policy = "ALWAYS_PASSES"\nprompt = "Do."\n[[checks]]\ncheck = "file_exists"\npath = "a"\n'
    project.write(
        demeanor_toml=CONFIG,
        evals__good__scenario_toml=good,
        evals__eval_one_py=ONE,
    )
    ran = project.demeanor("harbor", "export", "good", "one", "--output", "tasks")
    assert (project.folder / "tasks/good").is_dir(), ran.stderr
    assert ran.returncode == 70, ran.stderr
    assert "exit code is 70" in ran.stderr
