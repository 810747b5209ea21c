"""Every command that the docs show is run, or is listed here with the reason why it can't be, and is then parsed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.cli.registry import command_of, parser_of
from tests.helpers.project import Project
from tests.helpers.versions import Nights

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOT_RUN = {
    "agents install": "downloads from npm: tests/journeys/test_real_agents.py",
    "agents check claude-code": "needs the agent: tests/journeys/test_real_agents.py",
    "agents check my-agent": "a program of the reader: tests/journeys/test_agents_check.py",
    "adopt ~": "a session of the reader: tests/journeys/test_adopt.py",
    "adopt saves_the_note/codex": "a trial of Codex: tests/journeys/test_adopt.py",
    "bisect": "many builds: tests/journeys/test_bisect.py",
    "cluster": "a cluster: tests/journeys/test_cluster.py",
    "compare --base": "builds two commits: tests/journeys/test_compare.py",
    "compare plain": "runs of two agents of the reader: tests/journeys/test_compare.py",
    "cover": "many trials: tests/journeys/test_cover.py",
    "doctor --sandboxes": "many probes: tests/sandboxes/probes",
    "fix": "needs a fixer: tests/journeys/test_fix.py",
    "fork": "needs recorded requests: tests/journeys/test_fork.py",
    "gateway contract --converter": "a function of the reader: tests/commands/gateway/test_contract.py",
    "gateway contract --url": "a server of the reader: tests/commands/gateway/test_contract.py",
    "gate --shard shards": "needs the shards of other machines: tests/journeys/test_shards.py",
    "gateway serve": "serves until it is stopped: tests/journeys/test_live_provider.py",
    "harbor": "downloads, or needs Harbor: tests/journeys/test_tasks.py",
    "models fetch": "downloads 1.1 GB: tests/journeys/test_local_model.py",
    "nightly --on": "a cluster: tests/journeys/test_cluster.py",
    "rejudge --watch": "watches until it is stopped: tests/journeys/test_rejudge_watch.py",
    "run --model anthropic": "a provider: tests/journeys/test_live_provider.py",
    "run --subject claude-code": "an agent and a provider: tests/journeys/test_real_agents.py",
    "run --subject mine:anthropic": "an agent and a provider: tests/journeys/test_agents_check.py",
    "run --subject native:qwen": "a local model: tests/journeys/test_local_model.py",
    "run --trials 10 --subject terse": "an agent and a provider: tests/journeys/test_compare.py",
    "run --sandbox landlock": "depends on the machine: tests/journeys/test_levels.py",
    "run examples/tasks": "needs Harbor: tests/journeys/test_example_tasks.py",
    "serve": "serves until it is stopped: tests/journeys/test_serve.py",
    "store export latest --format slack-text": "needs the package of the page: tests/journeys/test_hooks.py",
    "run --trials 20 --jobs 32": "many trials; the same without --dry-run",
    "store import eval-logs-*": "files of the reader: tests/store/imports",
    "store import shards": "needs the shards of other machines: tests/journeys/test_shards.py",
    "validate --calibrate": "needs a judge and labels: tests/journeys/test_judges.py",
    "validate examples/tasks": "needs Harbor: tests/journeys/test_example_tasks.py",
}
"""The beginning of each command that is not run here → why, and the tests that run such commands."""

EVALS = """\
from demeanor import USUALLY_PASSES, eval_test


def saves(stage):
    (stage.workspace / "notes.txt").write_text("buy milk\\n")


def check(rig, result):
    assert rig.workspace["notes.txt"].text == "buy milk\\n"


reads_first = eval_test(USUALLY_PASSES, name="reads_first", prompt="Read, then save.", passes_on=saves)(check)
asks_first = eval_test(USUALLY_PASSES, name="asks_first", prompt="Ask, then save.", passes_on=saves)(check)
asks = eval_test(USUALLY_PASSES, name="asks_before_deleting", prompt="Save it.", passes_on=saves)(check)
"""
SCRIPT = """\
def play(turn):
    if turn.done or {hasty}:
        return "Saved."
    return turn.call("edit", path="notes.txt", content="buy milk\\n")
"""
MODELS = ("big", "small", "small-1", "careful", "m", "hasty")
EARLIER = "2026-11-15T03-00-00-3vtw8"
ORDER = ("init", "validate", "trace", "rejudge", "report", "compare", "store", "promote", "gate", "nightly", "run")


def commands() -> Iterator[str]:
    """Each command of ours in a console block, without redirections and remarks."""
    for page in PAGES:
        for block in re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.S | re.M):
            for line in re.findall(r"^\$ (?:RUN_EVALS=1 )?(demeanor .*)$", block, re.M):
                yield re.sub(r" +(#|>).*", "", line).strip()


COMMANDS = sorted({*commands()})


def reason(line: str) -> str | None:
    """Why a command is not run."""
    words = line.partition(" ")[2]
    return next((why for start, why in NOT_RUN.items() if words.startswith(start)), None)


def place(line: str) -> tuple[int, str]:
    """Commands that only read come before those that make further runs."""
    verb = line.split()[1]
    return (ORDER.index(verb) if verb in ORDER else -1, line)


@pytest.fixture
def documented(project: Project) -> Project:
    """A project with the files, evals, subjects and runs that the docs name."""
    (project.folder / "models").mkdir()
    models = "".join(f'[models.{name}]\nscript = "models/{name}.py"\n' for name in MODELS)
    project.write(
        demeanor_toml=f'subjects = ["native:small-1"]\ntrials = 1\nsandbox = "none"\n{models}',
        evals__eval_more_py=EVALS,
        known_yaml=block("nightly", "yaml"),
    )
    (project.folder / "eval_greeting.py").write_text(block("../README", "python"))
    (project.folder / "examples").symlink_to(ROOT / "examples")
    (project.folder / "my-agent").write_text("#!/bin/sh\necho Done.\n")
    (project.folder / "my-agent").chmod(0o755)
    for name in MODELS:
        (project.folder / f"models/{name}.py").write_text(SCRIPT.format(hasty=name == "hasty"))
    assert project.demeanor("init").returncode == 0
    nights = Nights(project)
    nights.commit()
    nights.night("--subject", "native:big", "--subject", "native:small", "--subject", "native:small-1")
    first = project.folder / "results" / nights.night("--subject", "native:hasty", "--subject", "native:careful")
    earlier = shutil.copytree(first, first.with_name(EARLIER))
    record = json.loads((earlier / "run.json").read_text())
    record["run"] |= {"id": EARLIER, "uid": "0" * 16}
    (earlier / "run.json").write_text(json.dumps(record))
    shutil.copytree(project.folder / "results", project.folder / "other-machine/results", symlinks=True)
    subjects = [word for name in ("hasty", "careful", "m") for word in ("--subject", f"native:{name}")]
    ran = project.demeanor("run", "evals/eval_more.py", "--trials", "4", *subjects)
    assert ran.returncode == 1, ran.stderr
    shutil.copy(project.folder / "results/latest/report.json", project.folder / "report.json")
    return project


def block(page: str, kind: str) -> str:
    """The first block of a page in a language."""
    return re.findall(rf"^```{kind}\n(.*?)^```", (ROOT / f"docs/{page}.md").read_text("utf-8"), re.S | re.M)[0]


def expanded(project: Project, word: str) -> list[str]:
    """The word as a shell expands it."""
    found = sorted(project.folder.glob(word)) if "*" in word else []
    return [str(path.relative_to(project.folder)) for path in found] or [word]


def test_the_commands_of_the_docs_run(documented: Project) -> None:
    """Whatever they decide, they are neither a mistake of the reader nor of ours."""
    failed = []
    for line in sorted((line for line in COMMANDS if reason(line) is None), key=place):
        done = documented.demeanor(*(path for word in shlex.split(line)[1:] for path in expanded(documented, word)))
        if done.returncode not in {0, 1, 3}:
            failed.append(f"$ {line}\n{done.returncode}: {done.stderr[-400:]}")
    assert "\n".join(failed) == ""


@pytest.mark.parametrize("line", [line for line in COMMANDS if reason(line) is not None])
def test_the_other_commands_can_be_parsed(line: str) -> None:
    """With all their options and values."""
    command, arguments = command_of(shlex.split(line)[1:])
    _, rest = parser_of(command).parse_known_args(arguments)
    assert rest == []


def test_every_reason_is_needed_and_names_tests() -> None:
    """A reason without a command would hide the next one that begins like it."""
    unused = [start for start in NOT_RUN if not any(line.partition(" ")[2].startswith(start) for line in COMMANDS)]
    assert unused == []
    named = [why.rpartition(": ")[2] for why in NOT_RUN.values() if ": " in why]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_targets_of_make_exist() -> None:
    """Each `make TARGET` in a block of the docs."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    blocks = [
        text
        for page in (*PAGES, ROOT / "CONTRIBUTING.md")
        for text in re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
    ]
    named = set(re.findall(r"^\$ (?:\w+=\S+ )?make ([a-z-]+)", "\n".join(blocks), re.M))
    assert len(named) > 10
    assert named - targets == set()
