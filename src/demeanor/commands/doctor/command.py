"""`demeanor doctor`: show what is installed, what works and what to do."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from demeanor._version import __version__
from demeanor.commands.options import config_argument, load_config
from demeanor.config.config import Config
from demeanor.core.errors import DemeanorError
from demeanor.core.exit_code import ExitCode


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One thing looked at."""

    name: str
    """What it is."""

    state: str
    """ok, warning or broken."""

    detail: str
    """What was found."""

    remedy: str = ""
    """What to do about it."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "--sandboxes",
        action="store_true",
        help="try what hostile programs try, at each level, and print what came of it",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Look at everything, print it; 1 where something is broken."""
    if args.sandboxes:
        from demeanor.commands.doctor.sandbox_matrix import show

        return show(load_config(args), as_json=args.json)
    items = list(_look(args))
    if args.json:
        from demeanor.core.codec import encode

        print(json.dumps(encode(items), indent=2))
    else:
        width = max(len(item.name) for item in items)
        for item in items:
            print(f"{item.state:<8} {item.name:<{width}}  {item.detail}")
            if item.remedy:
                print(f"{'':<8} {'':<{width}}  → {item.remedy}")
    return ExitCode.REJECTED if any(item.state == "broken" for item in items) else ExitCode.ACCEPTED


def _look(args: argparse.Namespace) -> Iterator[Item]:
    yield Item(name="demeanor", state="ok", detail=__version__)
    yield Item(name="python", state="ok", detail=f"{platform.python_version()} ({sys.executable})")
    yield _git()
    try:
        config = load_config(args)
    except DemeanorError as error:
        yield Item(name="configuration", state="broken", detail=str(error))
        return
    yield _configuration(config)
    yield from _agents(config)
    yield _sandbox(config)
    yield _harbor(config)
    yield _evals(config)


def _git() -> Item:
    path = shutil.which("git")
    if path is None:
        remedy = "install git: every workspace is a repository, so that agents and checks can rely on it"
        return Item(name="git", state="broken", detail="not found", remedy=remedy)
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return Item(name="git", state="ok", detail=done.stdout.strip().removeprefix("git version "))


def _configuration(config: Config) -> Item:
    if config.file is None:
        return Item(
            name="configuration",
            state="warning",
            detail="none; the defaults hold",
            remedy="`demeanor init` writes one to begin with",
        )
    return Item(name="configuration", state="ok", detail=str(config.file))


def _agents(config: Config) -> Iterator[Item]:
    from demeanor.runner.catalog import NATIVE, Catalog

    catalog = Catalog(config=config, environ=os.environ)
    for name in dict.fromkeys((NATIVE, *config.agents)):
        try:
            agent = catalog.agent(name)
        except DemeanorError as error:
            yield Item(name=f"agent {name}", state="broken", detail=str(error))
            continue
        missing = agent.missing()
        if missing:
            what, _, remedy = missing.partition("; ")
            yield Item(name=f"agent {name}", state="broken", detail=what, remedy=remedy)
        else:
            speaks = f"speaks {agent.dialect}" if agent.dialect else "needs no model"
            yield Item(name=f"agent {name}", state="ok", detail=f"{agent.version() or 'version unknown'}, {speaks}")
    for name in catalog.models.names():
        yield _checked(f"model {name}", partial(catalog.models.model, name), _MODEL.get(name, "can be asked"))
    yield from _local_models()
    for text in catalog.subjects:
        yield _checked(f"subject {text}", partial(catalog.subject, text), "can be tried")


def _local_models() -> Iterator[Item]:
    from demeanor.gateway.local.model import obstacle
    from demeanor.gateway.local.weights import WEIGHTS

    for weights in WEIGHTS.values():
        problem, _, remedy = (obstacle(weights, os.environ) or "").partition("\n  → ")
        detail = f"optional; {problem}" if problem else f"a language model on this machine: {weights.title}"
        yield Item(name=f"model {weights.name}", state="ok", detail=detail, remedy=remedy)


_MODEL = {"scripted": "a rule-reader that stands in for a model; it is no language model"}


def _checked(name: str, check: Callable[[], object], detail: str) -> Item:
    try:
        check()
    except DemeanorError as error:
        problem, _, remedy = str(error).partition("\n  → ")
        return Item(name=name, state="broken", detail=problem, remedy=remedy)
    return Item(name=name, state="ok", detail=detail)


def _sandbox(config: Config) -> Item:
    """Start a program in the sandbox, really, and see it end."""
    from demeanor.commands.doctor.probes import probe_sandbox

    try:
        probe_sandbox(config.sandbox, config)
    except DemeanorError as error:
        problem, _, remedy = str(error).partition("\n  → ")
        return Item(name=f"sandbox {config.sandbox}", state="broken", detail=problem, remedy=remedy)
    promise = _PROMISES.get(config.sandbox, "")
    return Item(name=f"sandbox {config.sandbox}", state="ok", detail=f"works: {promise}")


_PROMISES = {
    "none": "own workspace, HOME and environment, certain end; no wall against hostile code",
    "landlock": "reads an allow-list, writes its own folders, connects to one port; sees the host's processes",
    "seatbelt": "reads an allow-list, writes its own folders, connects to one port; best effort",
    "docker": "a container each: sees an allow-list of the host, reaches its gateway only, has hard limits",
    "podman": "a container each: sees an allow-list of the host, reaches its gateway only, has hard limits",
    "bubblewrap": "sees an allow-list of the host, reaches its gateway only, has limits, ends for certain",
}


def _harbor(config: Config) -> Item:
    from demeanor.runner.tasks import HARBOR, find_harbor, harbor_problem, harbor_version

    problem, _, remedy = (harbor_problem(config, os.environ) or "").partition("\n  → ")
    words = find_harbor(config, os.environ)
    if problem:
        wanted = bool(words or config.harbor.program)
        detail = problem if wanted else f"optional; {problem}"
        return Item(name="harbor", state="broken" if wanted else "ok", detail=detail, remedy=remedy)
    version = harbor_version(words)
    tried = "" if version == HARBOR.version else f"; {HARBOR.version} was tried"
    return Item(name="harbor", state="warning" if tried else "ok", detail=f"{version} ({' '.join(words)}){tried}")


def _evals(config: Config) -> Item:
    from demeanor.runner.plan import choose_evals

    try:
        evals = choose_evals(config)
    except DemeanorError as error:
        first, _, remedy = str(error).partition("\n  → ")
        return Item(name="evals", state="warning", detail=first, remedy=remedy)
    return Item(name="evals", state="ok", detail=f"{len(evals)} defined; `demeanor validate` proves them")
