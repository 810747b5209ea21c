"""A package of somebody else, installed with pip: a verb, a format of evals, an engine that runs them, an executor, and
a reader.

It uses the same entry points as our own plug-ins, and no file of Demeanor names it.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.helpers.project import Project

ENTRY_POINTS: Mapping[str, Mapping[str, str]] = {
    "demeanor.commands": {"abacus": "demeanor_abacus.verb", "abacus add": "demeanor_abacus.add"},
    "demeanor.sources": {"sum.toml": "demeanor_abacus.source"},
    "demeanor.engines": {"abacus": "demeanor_abacus.engine:Abacus"},
    "demeanor.executors": {"abacus": "demeanor_abacus.executor"},
    "demeanor.imports": {"abacus": "demeanor_abacus.reader"},
}

CODE: Mapping[str, str] = {
    "__init__": '"""Sums."""\n',
    "verb": '''\
"""`demeanor abacus`."""

SUMMARY = "show what an abacus is"


def arguments(parser):
    parser.add_argument("--beads", type=int, default=10)


def run(args):
    print(f"an abacus with {args.beads} beads")
    return 0
''',
    "add": '''\
"""`demeanor abacus add`."""

from demeanor.core.values.errors import UsageError

SUMMARY = "add numbers"
EXAMPLES = (("demeanor abacus add 1 2", "3"),)


def arguments(parser):
    parser.add_argument("numbers", nargs="+")


def run(args):
    try:
        print(sum(map(int, args.numbers)))
    except ValueError as error:
        raise UsageError(f"{error}\\n  → write whole numbers") from None
    return 0
''',
    "source": '''\
"""Evals in sum.toml."""

import tomllib
from dataclasses import dataclass
from hashlib import sha256

from demeanor.core.values.checks import RewardCheck
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.whole_task import WholeTask

FILE = "sum.toml"
TABLE = ("eval",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sum(WholeTask):
    """A sum."""

    engine: str = "abacus"
    numbers: tuple[int, ...] = ()
    answer: int = 0


def looks_like(path):
    return path.name == FILE if path.is_file() else (path / FILE).is_file()


def is_complete(folder):
    return (folder / FILE).is_file()


def read(path):
    folder = path.parent if path.is_file() else path
    text = (folder / FILE).read_text()
    data = tomllib.loads(text)
    if "numbers" not in data:
        raise BadInput("is required", where=folder / FILE, key="numbers", remedy="for example: numbers = [1, 2]")
    table = data["eval"]
    task = Sum(
        folder=folder.resolve(),
        name=table["name"],
        content=sha256(text.encode()).hexdigest(),
        numbers=tuple(data["numbers"]),
        answer=data["answer"],
    )
    return (
        Eval(
            name=table["name"],
            policy=Policy(table["policy"]),
            scenario=Scenario(prompts=(f"What is the sum of {task.numbers}?",)),
            checks=(RewardCheck(key="right", at_least=1.0),),
            source=Source(path=folder),
            task=task,
        ),
    )
''',
    "engine": '''\
"""Runs sums."""

from dataclasses import dataclass

from demeanor.core.values.capture import Capture
from demeanor.core.values.fingerprints import TASK_ENVIRONMENT, scenario_hashes
from demeanor.core.values.process import ProcessEnd
from demeanor.judge.offline_test import Complaint, SelfTest, SelfTestFault
from demeanor.runner.engines import EngineRun, EngineStatus


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How sums are run."""

    beads: int = 10
    """The number of beads."""


class Abacus:
    def __init__(self, catalog):
        self.rules = self.read_config(catalog.config.engine_table("abacus"))

    @staticmethod
    def read_config(table):
        return Rules(beads=table.whole("beads", least=1) or 10)

    def agents(self):
        return {"bead-counter": None, "guesser": None}

    def status(self):
        return EngineStatus(state="ok", detail=f"{self.rules.beads} beads")

    def environment(self, request):
        return request.env or "wood"

    def refusals(self, cells, request):
        few = {cell.id: len(cell.eval.task.numbers) for cell in cells}
        return {name: "too few beads" for name, count in few.items() if count > self.rules.beads}

    def prepare(self, plan, request, gateway, *, seed):
        async def attempt(trial, number):
            task = trial.eval.task
            said = sum(task.numbers) if trial.subject.agent == "bead-counter" else 42
            return Capture(
                trial=trial.id,
                attempt=number,
                ends=(ProcessEnd(exit_code=0),),
                gaps=(),
                scenario=scenario_hashes(trial.eval.scenario, task),
                rewards={"right": float(said == task.answer)},
                facts={TASK_ENVIRONMENT: self.environment(request)},
            )

        return EngineRun(attempt=attempt, notes=("Sums are added by hand.",))

    def self_tests(self, tasks, options, show):
        for one in tasks:
            wrong = sum(one.task.numbers) != one.task.answer
            detail = f"the sum is {sum(one.task.numbers)}"
            complaints = (Complaint(fault=SelfTestFault.IMPOSSIBLE, detail=detail),) if wrong else ()
            yield SelfTest(eval=one.name, rehearsed=1, complaints=complaints)
''',
    "executor": '''\
"""Makes attempts, a few at a time, and counts them."""

from contextlib import nullcontext
from dataclasses import dataclass, replace

from demeanor.core.values.executor_spec import ExecutorSpec
from demeanor.runner import EngineStatus, LocalExecutor, WrappedExecutor

PLACES = "abacus to count attempts"


@dataclass(frozen=True, kw_only=True, slots=True)
class Counting(ExecutorSpec):
    """How attempts are counted."""

    executor: str = "abacus"

    wires: int = 2
    """Attempts at a time."""


def read_config(table):
    return Counting(wires=table.whole("wires", least=1) or 2)


def at(place, settings):
    return settings or Counting() if place == "abacus" else None


def make(spec, run):
    return Counter(LocalExecutor(slots=spec.wires, attempt=run.attempt))


def status(*, used):
    return EngineStatus(state="ok", detail="attempts are counted" if used else "it can count attempts")


shared = nullcontext


class Counter(WrappedExecutor):
    count = 0

    @property
    def notes(self):
        return (f"{self.count} attempts were counted, {self.slots} at a time.",)

    async def run_attempt(self, trial, attempt):
        capture = await super().run_attempt(trial, attempt)
        self.count += 1
        return replace(capture, facts={**capture.facts, "counted": str(self.count)})
''',
    "reader": '''\
"""Reads what an abacus has written."""

from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Pass
from demeanor.store.history.run_writer import WrittenRecord
from demeanor.store.imports.common import Imported, cells_of, import_uid, imported_run, read_json

FORMAT = "the notes of an abacus"


def matches(path):
    return path.is_file() and "abacus" in read_json(path)


def read(path, options):
    names = read_json(path)["abacus"]
    records = tuple(
        WrittenRecord(record=Record(eval=name, subject="abacus", number=1, attempt=1, verdict=Pass(findings=())))
        for name in names
    )
    run = imported_run("abacus", started="2026-11-18T00:00:00.000+00:00", uid=import_uid("abacus", *names), kind="ci")
    return Imported(run=run, origin="abacus", source=path, cells=cells_of(records), records=records)
''',
}

BACKEND = '''\
"""Builds a wheel with the standard library only, so that pip needs no network."""

import tomllib
import zipfile
from pathlib import Path


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    about = f"{stem}.dist-info"
    points = "".join(
        f"[{group}]\\n" + "".join(f"{name} = {value}\\n" for name, value in own.items())
        for group, own in project["entry-points"].items()
    )
    files = {str(path): path.read_text() for path in Path("demeanor_abacus").glob("*.py")}
    files[f"{about}/METADATA"] = f"Metadata-Version: 2.1\\nName: {project['name']}\\nVersion: {project['version']}\\n"
    files[f"{about}/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    files[f"{about}/entry_points.txt"] = points
    files[f"{about}/RECORD"] = "".join(f"{name},,\\n" for name in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(Path(wheel_directory, f"{stem}-py3-none-any.whl"), "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return f"{stem}-py3-none-any.whl"
'''


def pyproject() -> str:
    """The project file of the package."""
    lines = [
        *("[build-system]", "requires = []", 'build-backend = "backend"', 'backend-path = ["."]'),
        *("[project]", 'name = "demeanor-abacus"', 'version = "1.0"'),
    ]
    for group, points in ENTRY_POINTS.items():
        lines += [f'[project.entry-points."{group}"]', *(f'"{name}" = "{value}"' for name, value in points.items())]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip has installed the package into."""
    source, target = tmp_path_factory.mktemp("abacus"), tmp_path_factory.mktemp("packages")
    (source / "demeanor_abacus").mkdir()
    (source / "pyproject.toml").write_text(pyproject())
    (source / "backend.py").write_text(BACKEND)
    for name, text in CODE.items():
        (source / "demeanor_abacus" / f"{name}.py").write_text(text)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True)
    return target


def sum_toml(name: str, answer: int, policy: str = "USUALLY_PASSES") -> str:
    return f'numbers = [1, 2, 3]\nanswer = {answer}\n[eval]\nname = "{name}"\npolicy = "{policy}"\n'


@pytest.fixture
def stranger(project: Project, packages: Path) -> Project:
    """A project with two sums and an eval in Python, in which the package is installed."""
    project.env["PYTHONPATH"] = str(packages)
    project.write(
        demeanor_toml='subjects = ["bead-counter"]\nsandbox = "none"\n',
        evals__right__sum_toml=sum_toml("right", 6),
        evals__wrong__sum_toml=sum_toml("wrong", 7),
    )
    return project


def test_its_verb_is_listed_and_runs(stranger: Project) -> None:
    """With sub-commands, help and suggestions like our own verbs."""
    shown = stranger.demeanor("--help").stdout
    assert "\nother packages\n  abacus    show what an abacus is\n" in shown
    assert stranger.demeanor("abacus", "--beads", "3").stdout == "an abacus with 3 beads\n"
    assert stranger.demeanor("abacus", "add", "1", "2").stdout == "3\n"
    assert "  demeanor abacus add 1 2  3\n" in stranger.demeanor("help", "abacus", "add").stdout
    wrong = stranger.demeanor("abacus", "add", "one")
    assert (wrong.returncode, "→ write whole numbers" in wrong.stderr) == (2, True)
    assert "did you mean '--beads'?" in stranger.demeanor("abacus", "--bead-s").stderr
    assert "did you mean 'abacus'?" in stranger.demeanor("abacas").stderr
    assert "usage: demeanor abacus add" in stranger.demeanor("help", "commands").stdout


def test_its_evals_are_found_and_run_by_its_engine(stranger: Project) -> None:
    """Listed, planned, run and kept like any others."""
    listed = json.loads(stranger.demeanor("validate", "--list", "--json").stdout)
    assert [(one["name"], one["source"], one["task"]["name"]) for one in listed] == [
        ("right", "evals/right", "right"),
        ("wrong", "evals/wrong", "wrong"),
    ]
    plan = stranger.demeanor("run", "--policy", "all", "--dry-run", "--env", "brass")
    assert "2 cells of whole tasks, run in brass" in plan.stdout, plan.stderr
    ran = stranger.demeanor("run", "--policy", "all", "--trials", "3")
    assert ran.returncode == 1, ran.stderr
    assert "bead-counter  1 of 2 evals" in ran.stdout
    assert "Sums are added by hand." in ran.stdout
    guessed = stranger.demeanor("run", "evals/right", "--subject", "guesser", "--trials", "1")
    assert guessed.returncode == 1
    shown = stranger.demeanor("report", "--eval", "right", "--kind", "all")
    assert "guesser" in shown.stdout
    assert "bead-counter" in shown.stdout


def test_its_evals_run_beside_others_and_its_agents_run_nothing_else(stranger: Project) -> None:
    eval_text = "from demeanor import USUALLY_PASSES, eval_test\n\n@eval_test(USUALLY_PASSES, prompt='x')\n"
    stranger.write(evals__eval_a_py=f"{eval_text}def a(rig, result):\n    assert result\n")
    plan = stranger.demeanor("run", "--policy", "all", "--dry-run", "--subject", "native:scripted").stdout
    assert "2 cells of whole tasks" in plan
    skipped = stranger.demeanor("run", "--policy", "all", "--dry-run").stdout
    assert "skipped: bead-counter runs whole tasks only" in skipped
    ran = stranger.demeanor("run", "-k", "right or a", "--subject", "bead-counter", "--trials", "1")
    assert ran.returncode == 0, ran.stderr
    assert "PASS  right" in ran.stderr


def test_attempts_run_on_its_executor(stranger: Project) -> None:
    """Those of an agent in a sandbox, and those of an engine; the place is an option, or a key with settings."""
    eval_text = "from demeanor import USUALLY_PASSES, eval_test\n\n@eval_test(USUALLY_PASSES, prompt='Say hello.')\n"
    stranger.write(evals__eval_a_py=f"{eval_text}def a(rig, result):\n    assert result\n")
    stranger.write(demeanor_toml="[executor.abacus]\nwires = 1\n")
    agents = ("--subject", "native:scripted", "--subject", "bead-counter")
    ran = stranger.demeanor("run", "-k", "right or a", *agents, "--trials", "2", "--on", "abacus")
    assert "PASS  a · native:scripted · trial 2" in ran.stderr
    assert "PASS  right · bead-counter · trial 2" in ran.stderr
    assert "6 attempts were counted, 1 at a time." in ran.stdout
    with gzip.open(stranger.folder / "results/latest/captures.jsonl.gz", "rt") as captures:
        counted = sorted(json.loads(line)["facts"]["counted"] for line in captures)
    assert counted == ["1", "2", "3", "4", "5", "6"]
    here = stranger.demeanor("run", "-k", "a", "--subject", "native:scripted", "--trials", "1")
    assert "counted" not in here.stdout
    stranger.write(demeanor_toml='[executor]\non = "abacus"\n[executor.abacus]\nwire = 1\n')
    wrong = stranger.demeanor("run", "--dry-run")
    assert "executor.abacus.wire: unknown key\n  → did you mean 'wires'?" in wrong.stderr
    stranger.write(demeanor_toml='[executor]\non = "abacus"\n')
    assert "attempts are counted" in stranger.demeanor("doctor").stdout
    nowhere = stranger.demeanor("run", "--on", "abacas")
    assert "--on: 'abacas' is not a place where attempts can run" in nowhere.stderr
    assert "abacus to count attempts" in nowhere.stderr


def test_its_evals_are_validated_and_promoted(stranger: Project) -> None:
    """By its self-test; and its file says the policy, also at an earlier commit."""
    valid = stranger.demeanor("validate")
    assert valid.returncode == 1
    assert "impossible: the sum is 6" in valid.stdout
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    for words in (("init", "-q"), ("add", "evals"), ("commit", "-qm", "1"), ("checkout", "-qb", "change")):
        subprocess.run([*git, *words], cwd=stranger.folder, env=stranger.env, check=True)
    stranger.write(evals__right__sum_toml=sum_toml("right", 6, "ALWAYS_PASSES"))
    shown = stranger.demeanor("validate", "evals/right", "--base", "main")
    assert "warning: right: ALWAYS_PASSES without a recorded promotion" in shown.stdout, shown.stderr


def test_it_reads_its_table_of_the_configuration(stranger: Project) -> None:
    """Strictly, and only if it is there."""
    stranger.write(demeanor_toml='subjects = ["bead-counter"]\n[abacus]\nbeads = 2\n')
    assert "skipped: too few beads" in stranger.demeanor("run", "--policy", "all", "--dry-run").stdout
    assert "abacus" in stranger.demeanor("doctor").stdout
    stranger.write(demeanor_toml="[abacus]\nbead = 2\n")
    wrong = stranger.demeanor("validate", "--list")
    assert wrong.returncode == 2
    assert "abacus.bead: unknown key\n  → did you mean 'beads'?" in wrong.stderr
    stranger.write(demeanor_toml="[abakus]\nbeads = 2\n")
    assert "abakus: unknown key\n  → did you mean 'abacus'?" in stranger.demeanor("validate", "--list").stderr


def test_what_it_can_t_read_is_an_error_with_its_place(stranger: Project) -> None:
    stranger.write(evals__right__sum_toml="answer = 1\n")
    wrong = stranger.demeanor("validate", "--list")
    assert wrong.returncode == 2
    assert "evals/right/sum.toml: numbers: is required" in wrong.stderr


def test_pytest_collects_its_evals(stranger: Project) -> None:
    """And nothing inside of their folders."""
    stranger.write(evals__right__tests__test_x_py="raise RuntimeError('must not be imported')\n")
    ran = stranger.pytest("evals", "-p", "demeanor", "--collect-only", "-q", RUN_EVALS="1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "evals/right/sum.toml::right[bead-counter]" in ran.stdout
    assert "evals/wrong/sum.toml::wrong[bead-counter]" in ran.stdout


def test_it_reads_results_of_its_own_tool(stranger: Project) -> None:
    stranger.write(notes_json='{"abacus": ["one", "two"]}')
    read = stranger.demeanor("store", "import", "notes.json")
    assert read.returncode == 0, read.stderr
    assert "abacus, ci: 2 attempts" in read.stdout
    stranger.write(other_json='{"x": 1}')
    unknown = stranger.demeanor("store", "import", "other.json")
    assert "or the notes of an abacus" in unknown.stderr


def test_a_package_that_is_broken_breaks_only_what_needs_it(stranger: Project, tmp_path: Path) -> None:
    """The help and all other verbs work; its own verb says what is wrong."""
    about = tmp_path / "broken/demeanor_broken-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: demeanor-broken\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[demeanor.commands]\nbroken = no_such_module\nrun = no_such_module\n"
        "[demeanor.engines]\nbroken = no_such_module:X\n[demeanor.executors]\nbroken = no_such_module\n"
    )
    stranger.env["PYTHONPATH"] += f":{tmp_path / 'broken'}"
    shown = stranger.demeanor("--help")
    assert "  broken    can't be loaded; try it to see why\n" in shown.stdout
    ran = stranger.demeanor("run", "evals/right", "--trials", "1", "--on", "abacus")
    assert ran.returncode == 0, ran.stderr
    nowhere = stranger.demeanor("run", "evals/right", "--on", "nowhere")
    assert "demeanor.executors 'broken': no_such_module can't be loaded" in nowhere.stderr
    own = stranger.demeanor("broken")
    assert own.returncode == 2
    assert "demeanor.commands 'broken': no_such_module can't be loaded: ModuleNotFoundError" in own.stderr
    assert "demeanor.engines 'broken': no_such_module:X can't be loaded" in stranger.demeanor("doctor").stdout
