"""Works (a) and (b): many trials of a program that writes a file, with and without a model exchange."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.comparison.measure import Failed, Sample, environment, measure_alone
from benchmarks.comparison.peers import JOBS, Peer, peer_environment

SHELL = ("sh", "-c", "printf hi > out.txt")
PYTHON = (sys.executable, "-I", "-S", "-c", "open('out.txt', 'w').write('hi')")
_ASK = """
import json, os, urllib.request
url = os.environ.get("OPENAI_BASE_URL") or os.environ["MODEL_URL"]
body = {"model": "echo", "messages": [{"role": "user", "content": "Write hi."}]}
head = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")}
request = urllib.request.Request(url + "/chat/completions", json.dumps(body).encode(), head)
answer = json.load(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request))
open("out.txt", "w").write(answer["choices"][0]["message"]["content"])
"""
ASKING = (sys.executable, "-I", "-S", "-c", _ASK)
PROGRAMS: Mapping[str, tuple[str, ...]] = {"sh": SHELL, "python": PYTHON, "model": ASKING}
"""The programs of trials: the cheapest process that there is, an interpreter, and one that asks a model over HTTP."""

_MANY = 1000
"""Trials from which slow tools get fewer rounds."""

_CONFIG = """\
subjects = ["writer{model}"]
attempts = 1
[agents.writer]
adapter = "command"
command = {command}
{more}
"""
_MODEL = """\
dialect = "openai-chat"
base_url_env = ["OPENAI_BASE_URL"]
token_env = ["OPENAI_API_KEY"]
[providers.bench]
base_url = "{url}"
dialect = "openai-chat"
key = "of-the-bench"
[models.echo]
provider = "bench"
"""
_EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write out.txt.")
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool that does the work."""

    name: str
    """Its name in tables."""

    run: Callable[[int, str], Sample]
    """Does so many trials of one of the programs."""

    most: int | None = None
    """The most trials that it is given."""

    slow: bool = False
    """Whether it gets fewer rounds of many trials."""

    keeps: str = ""
    """What it keeps and isolates."""

    asks: bool = True
    """Whether its trials can ask the model server."""


_BWRAP = (
    *("bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--new-session"),
    *("--uid", "1000", "--gid", "1000"),
    *("--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev"),
    *("--tmpfs", "/tmp", "--tmpfs", "/home/agent", "--remount-ro", "/", "--chdir", "/workspace"),
)


def bubblewrap(folder: Path, words: Sequence[str]) -> list[str]:
    """A command in a bubblewrap sandbox as anyone would write it, whose workspace is `folder`."""
    links = (path for path in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32") if Path(path).is_symlink())
    system = [word for path in links for word in ("--symlink", str(Path(path).readlink()), path)]
    return [_BWRAP[0], *system, "--bind", str(folder), "/workspace", *_BWRAP[1:], "--", *words]


def bare_loop(trials: int, program: str, *, isolated: bool = False) -> None:
    """The minimum that any tool must do, in this process; or with each program in bubblewrap, if that finds it."""
    slots = asyncio.Semaphore(JOBS)

    async def one(place: Path) -> bool:
        async with slots:
            place.mkdir()  # noqa: ASYNC240 - as fast as it gets
            words = bubblewrap(place, PROGRAMS[program]) if isolated else PROGRAMS[program]
            process = await asyncio.create_subprocess_exec(
                *words, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            await process.communicate()
            file = place / "out.txt"
            return file.exists() and file.read_text() == "hi"

    async def everything(folder: Path) -> None:
        passed = sum(await asyncio.gather(*(one(folder / str(number)) for number in range(trials))))
        assert passed == trials, f"{passed} of {trials} trials passed"

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(everything(Path(folder)))


def bare_tool(model_url: str, *, isolated: bool = False) -> Tool:
    """The bare loop, in a new interpreter."""

    def run(trials: int, program: str) -> Sample:
        call = f"bare_loop({trials}, {program!r}, isolated={isolated})"
        code = f"from benchmarks.comparison.trials import bare_loop; {call}"
        root = Path(__file__).resolve().parents[2]
        with tempfile.TemporaryDirectory() as folder:
            env = environment(PYTHONPATH=str(root), MODEL_URL=model_url)
            return measure_alone([sys.executable, "-c", code], Path(folder), env)

    if isolated:
        keeps = "keeps nothing; isolated from the machine: the lower limit with bubblewrap"
        return Tool(name="bare asyncio loop, `bwrap`", run=run, keeps=keeps)
    return Tool(name="bare asyncio loop", run=run, keeps="keeps nothing, isolates nothing: the lower limit")


def demeanor_tool(level: str, model_url: str, projects: Path) -> Tool:
    """Demeanor at an isolation level. Each run gets a new project in the folder `projects`, where it stays: on some
    file systems, deleting many files slows down whatever is measured in the next minutes."""

    def run(trials: int, program: str) -> Sample:
        folder = project(Path(tempfile.mkdtemp(prefix=f"{level}-", dir=projects)), program, model_url)
        command = [demeanor(), "run", "--trials", str(trials), "--jobs", str(JOBS), "--sandbox", level]
        found = measure_alone(command, folder, environment())
        ledger = (folder / "results/latest/ledger.jsonl").read_text().splitlines()
        passed = sum(json.loads(line)["verdict"]["outcome"] == "pass" for line in ledger)
        if passed != trials:
            raise Failed(f"demeanor: {passed} of {trials} trials passed")
        return found

    keeps = "keeps everything; " + ("processes of the user" if level == "none" else "isolated from the machine")
    return Tool(name=f"Demeanor, `--sandbox {level}`", run=run, keeps=keeps)


def project(folder: Path, program: str, model_url: str) -> Path:
    """A project whose agent is one of the programs."""
    words = [word.replace("{", "{{").replace("}", "}}") for word in PROGRAMS[program]]
    asks = program == "model"
    more = _MODEL.format(url=model_url) if asks else ""
    config = _CONFIG.format(command=json.dumps([*words, "{prompt}"]), more=more, model=":echo" if asks else "")
    (folder / "demeanor.toml").write_text(config)
    (folder / "evals").mkdir(parents=True)
    (folder / "evals/eval_writes.py").write_text(_EVAL)
    return folder


def demeanor() -> str:
    """The command of this environment."""
    return str(Path(sys.executable).with_name("demeanor"))


def peer_tool(peer: Peer, model_url: str) -> Tool:
    """Another tool."""

    def run(trials: int, program: str) -> Sample:
        work = peer.home / "bench-work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        try:
            peer.prepare(work, trials)
            words = json.dumps(PROGRAMS[program])
            env = {**peer_environment(work, trials, words), "MODEL_URL": model_url}
            found = measure_alone(list(peer.command(peer.home, trials, words)), work, env)
            if peer.passed is not None and (passed := peer.passed(work)) != trials:
                raise Failed(f"{peer.name}: {passed} of {trials} trials passed")
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return found

    name = f"{peer.name} {peer.version()}"
    return Tool(name=name, run=run, most=peer.most, slow=peer.slow, keeps=peer.keeps, asks=peer.asks)


def interleaved(
    tools: Sequence[Tool], program: str, trials: int, rounds: int, slow_rounds: int = 2
) -> dict[str, list[Sample]]:
    """Let every tool do the work in every round, so that a busy moment affects all of them.

    Slow tools get `slow_rounds` rounds of many trials, and those that get few trials anyway none.
    """
    found: dict[str, list[Sample]] = {tool.name: [] for tool in tools}
    for number in range(rounds):
        for tool in tools:
            if trials > _MANY and ((tool.slow and number >= slow_rounds) or tool.most is not None):
                continue
            try:
                sample = tool.run(min(trials, tool.most or trials), program)
            except Failed as error:
                print(f"  {tool.name}: {error}", file=sys.stderr)
                continue
            found[tool.name].append(sample)
            print(
                f"  {trials} x {program}, round {number + 1}: {tool.name}  {sample.wall:.2f} s, {sample.cpu:.2f} CPU s"
            )
    return {name: samples for name, samples in found.items() if samples}


def check_server(url: str) -> None:
    """Ask the model server once."""
    body = json.dumps({"model": "echo", "messages": []}).encode()
    head = {"Content-Type": "application/json"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(f"{url}/chat/completions", body, head)) as answer:  # noqa: S310
        assert json.load(answer)["choices"][0]["message"]["content"] == "hi"
