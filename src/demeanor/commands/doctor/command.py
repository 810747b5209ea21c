"""`demeanor doctor`: show what is installed, what works and what to do."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from demeanor._version import __version__
from demeanor.cli import config_argument, load_config, sandbox_argument, with_sandbox
from demeanor.config import Config, read_config
from demeanor.core.text.wording import printable
from demeanor.core.trees.git import require_git, unreadable
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.capture import NOTE_REMEDY
from demeanor.core.values.errors import DemeanorError, UsageError
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.verdict import Pass

if TYPE_CHECKING:
    from demeanor.core.values.agent import Agent
    from demeanor.core.values.record import Record
    from demeanor.runner import Catalog


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorItem:
    """One thing that was checked."""

    name: str
    """Its name."""

    state: str
    """ok, warning or broken."""

    detail: str
    """What was found."""

    remedy: str = ""
    """What to do about it."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--sandboxes",
        action="store_true",
        help="run hostile probes in each sandbox level, and print the results",
    )
    parser.add_argument(
        "--hostile",
        action="store_true",
        help="run hostile agents in each sandbox level that works here, and compare their verdicts with what is right",
    )
    sandbox_argument(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Check everything and print it; exit with 1 if something is broken."""
    if args.sandboxes:
        from demeanor.commands.doctor.probes import print_matrix

        return print_matrix(load_config(args), as_json=args.json)
    if args.hostile:
        from demeanor.commands.doctor.hostile import HOSTILE_TIMEOUT, print_hostile
        from demeanor.commands.doctor.probes import working_levels

        levels = [name for name in working_levels(load_config(args)) if name != "none" or os.getuid() != 0]
        return print_hostile(levels, timeout=HOSTILE_TIMEOUT, as_json=args.json)
    items = list(_check(args))
    if args.json:
        from demeanor.core.text.codec import encode

        print(json.dumps(encode(items), indent=2))
    else:
        width = max(len(item.name) for item in items)
        indent = " " * (width + 11)
        for item in items:
            print(f"{item.state:<8} {item.name:<{width}}  {item.detail.replace(chr(10), chr(10) + indent)}")
            if item.remedy:
                print(f"{'':<8} {'':<{width}}  → {item.remedy.replace(f'{chr(10)}  → ', f'{chr(10)}{indent}→ ')}")
    return ExitCode.REJECTED if any(item.state == "broken" for item in items) else ExitCode.ACCEPTED


def _check(args: argparse.Namespace) -> Iterator[DoctorItem]:
    yield DoctorItem(name="demeanor", state="ok", detail=__version__)
    yield DoctorItem(name="python", state="ok", detail=f"{platform.python_version()} ({sys.executable})")
    yield _git()
    try:
        config = with_sandbox(load_config(args), args)
    except DemeanorError as error:
        yield DoctorItem(name="configuration", state="broken", detail=str(error))
        return
    yield _configuration(config)
    yield from _repository(config)
    yield from _ci_files(config)
    yield _agent_folders()
    yield from _agents(config)
    yield _sandbox(config)
    yield from _store(config)
    yield from _engines(config)
    yield from _executors(read_config(config.root, config.file))  # for doctor itself, none is selected
    yield _evals(config)


def _git() -> DoctorItem:
    try:
        require_git()
    except UsageError as error:
        return _problem("git", error)
    done = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False)
    return DoctorItem(name="git", state="ok", detail=done.stdout.strip().removeprefix("git version "))


def _repository(config: Config) -> Iterator[DoctorItem]:
    """A repository that git can't read: its runs have no commit."""
    if why := unreadable(config.root):
        remedy = "repair it: runs have no commit and no branch, so nights don't count"
        yield DoctorItem(name="repository", state="broken", detail=f"git can't read it: {why}", remedy=remedy)


def _configuration(config: Config) -> DoctorItem:
    if config.file is None:
        return DoctorItem(
            name="configuration",
            state="warning",
            detail="none; using the defaults",
            remedy="create one with `demeanor init`",
        )
    return DoctorItem(name="configuration", state="ok", detail=str(config.file))


def _ci_files(config: Config) -> Iterator[DoctorItem]:
    """The CI files that do not say what pip installs, with what to write if it is known by now."""
    from demeanor.cli import VARIABLE, example, unfilled_lines
    from demeanor.core.installation import installed_from

    for line, extra in unfilled_lines(config.root).items():
        detail = f"{line}: {VARIABLE} is empty, so its jobs fail"
        package = installed_from().requirement(extra) or f"what pip installs, such as {example(extra)}"
        yield DoctorItem(name="ci", state="warning", detail=detail, remedy=f"write {package}")


def _agent_folders() -> DoctorItem:
    """Where installed agents are looked for."""
    from demeanor.agents.packages import agents_folders, record_file

    usual, *recorded = agents_folders(os.environ)
    missing = [folder for folder in recorded if not folder.is_dir()]
    return DoctorItem(
        name="agent folders",
        state="warning" if missing else "ok",
        detail="\n".join(f"{path}{' (does not exist)' if path in missing else ''}" for path in (usual, *recorded)),
        remedy=f"install the agents again, or remove the line from {record_file(os.environ)}" if missing else "",
    )


def _agents(config: Config) -> Iterator[DoctorItem]:
    from demeanor.runner import NATIVE, Catalog

    catalog = Catalog(config=config, environ=os.environ)
    in_subjects = (text.partition(":")[0] for text in catalog.subjects)
    installed: dict[str, Agent] = {}
    for name in dict.fromkeys((NATIVE, *config.agents, *in_subjects)):
        try:
            agent = catalog.agent(name)
        except DemeanorError as error:
            yield DoctorItem(name=f"agent {name}", state="broken", detail=str(error))
            continue
        missing = agent.missing()
        if missing:
            what, _, remedy = missing.partition("; ")
            yield DoctorItem(name=f"agent {name}", state="broken", detail=what, remedy=remedy)
        else:
            installed[name] = agent
    started, why_not = _started(catalog, [name for name in installed if name not in catalog.only_for_tasks])
    agents = {name: _agent(name, agent, started.get(name), why_not) for name, agent in installed.items()}
    yield from agents.values()
    for name in catalog.models.names():
        yield _checked(f"model {name}", partial(catalog.models.model, name), _MODEL.get(name, "available"))
    yield from _local_models()
    for text in catalog.subjects:
        agent_item = agents.get(text.partition(":")[0])
        if agent_item is None or agent_item.state == "broken":
            yield DoctorItem(name=f"subject {text}", state="broken", detail="its agent does not work; see above")
        else:
            yield _checked(f"subject {text}", partial(catalog.subject, text), "available")


def _started(catalog: Catalog, names: Sequence[str]) -> tuple[Mapping[str, Record], str]:
    """Start the agents in the sandbox; also returns why others are not started."""
    from demeanor.cli import make_ui
    from demeanor.runner import start_agents

    try:
        with TemporaryDirectory(prefix=temp_prefix()) as folder:
            records = start_agents(catalog, names, Path(folder), make_ui(quiet=True, kept=False))
        return records, "only sandboxes keep it from calling a model of its own"
    except DemeanorError as error:
        return {}, str(error).partition("\n")[0]


def _agent(name: str, agent: Agent, started: Record | None, why_not: str) -> DoctorItem:
    """An installed agent; `started` is the record of its start in the sandbox."""
    speaks = f"speaks {agent.dialect}" if agent.dialect else "needs no model"
    detail = f"{agent.version() or 'version unknown'}, {speaks}"
    if started is None:
        return DoctorItem(name=f"agent {name}", state="ok", detail=f"{detail}; not started: {why_not}")
    hidden = [note.partition(NOTE_REMEDY) for note in started.notes if NOTE_REMEDY in note]
    if isinstance(started.verdict, Pass) and not hidden:
        return DoctorItem(name=f"agent {name}", state="ok", detail=f"{detail}; starts in the sandbox")
    reason = "" if isinstance(started.verdict, Pass) else printable(started.verdict.reason)
    for note in hidden:
        reason = reason.replace("".join(note), "")
    problem = "\n".join(
        [f"{detail}; does not work in the sandbox:", reason.rstrip("\n"), *(note for note, _, _ in hidden)]
    )
    remedy = "; ".join(remedy for _, _, remedy in hidden)
    return DoctorItem(name=f"agent {name}", state="broken", detail=problem.replace("\n\n", "\n"), remedy=remedy)


def _local_models() -> Iterator[DoctorItem]:
    from demeanor.gateway.local import WEIGHTS, missing_requirement

    for weights in WEIGHTS.values():
        problem, _, remedy = (missing_requirement(weights, os.environ) or "").partition("\n  → ")
        detail = f"optional; {problem}" if problem else f"a language model on this machine: {weights.title}"
        yield DoctorItem(name=f"model {weights.name}", state="ok", detail=detail, remedy=remedy)


_MODEL = {"scripted": "a set of rules in place of a model; not a language model"}


def _checked(name: str, check: Callable[[], object], detail: str) -> DoctorItem:
    try:
        check()
    except DemeanorError as error:
        return _problem(name, error)
    return DoctorItem(name=name, state="ok", detail=detail)


def _problem(name: str, error: DemeanorError, state: str = "broken") -> DoctorItem:
    """What does not work, with the remedy that the error names."""
    detail, _, remedy = str(error).partition("\n  → ")
    return DoctorItem(name=name, state=state, detail=detail, remedy=remedy)


def _sandbox(config: Config) -> DoctorItem:
    """Run a program in the sandbox."""
    from demeanor.commands.doctor.probes import probe_sandbox

    try:
        facts = probe_sandbox(config.sandbox, config)
    except DemeanorError as error:
        return _problem(f"sandbox {config.sandbox}", error)
    promise = _PROMISES.get(config.sandbox, "")
    if config.sandbox == "landlock" and facts["ends"] != "pid namespace":
        promise += ", and the host's, because namespaces can't be created here"
    return DoctorItem(name=f"sandbox {config.sandbox}", state="ok", detail=f"works: {promise}")


def _store(config: Config) -> Iterator[DoctorItem]:
    from demeanor.commands.doctor.store import check_store

    for name, detail, error in check_store(config, os.environ):
        problem, _, remedy = error.partition("\n  → ")
        yield DoctorItem(name=name, state="broken" if error else "ok", detail=detail or problem, remedy=remedy)


_PROMISES = {
    "none": "separate workspace, HOME and environment, reliable cleanup; no protection against hostile code",
    "landlock": "reads an allow-list, writes its own folders, connects to one port; sees its own processes",
    "docker": "one container per attempt: sees an allow-list of the host, reaches only its gateway, hard limits",
    "podman": "one container per attempt: sees an allow-list of the host, reaches only its gateway, hard limits",
    "bubblewrap": "sees an allow-list of the host, reaches only its gateway, limits, reliable cleanup",
}


def _engines(config: Config) -> Iterator[DoctorItem]:
    from demeanor.runner import Catalog, installed_engines

    catalog = Catalog(config=config, environ=os.environ)
    for name in installed_engines():
        try:
            status = catalog.engine(name).status()
        except DemeanorError as error:
            yield _problem(name, error)
        else:
            yield DoctorItem(name=name, state=status.state, detail=status.detail, remedy=status.remedy)


def _executors(config: Config) -> Iterator[DoctorItem]:
    from demeanor.runner import executor_module, installed_executors

    for name in installed_executors():
        try:
            status = executor_module(name).status(used=config.executor.executor == name)
        except DemeanorError as error:
            yield _problem(name, error)
        else:
            yield DoctorItem(name=name, state=status.state, detail=status.detail, remedy=status.remedy)


def _evals(config: Config) -> DoctorItem:
    from demeanor.runner import choose_evals

    try:
        evals = choose_evals(config)
    except DemeanorError as error:
        return _problem("evals", error, "warning")
    return DoctorItem(name="evals", state="ok", detail=f"{len(evals)} defined; check them with `demeanor validate`")
