"""The questions of `demeanor init`, and what an answer or an option may be."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from demeanor.agents import BUILT_IN
from demeanor.commands.init.own_agent import own_agent, tried
from demeanor.commands.init.starter_files import CI, NATIVE, StarterChoice
from demeanor.config import WELL_KNOWN, maker_of
from demeanor.core.values.errors import BadInput, UnknownName, UsageError
from demeanor.runner import BARE_AGENTS

_OWN = "or the command that starts your own agent, such as './agent.sh {prompt}'"
_A_COMMAND = re.compile(r"[\s/{]|\.\w+$")

T = TypeVar("T")


def checked(
    folder: Path, agent: str | None, model: str | None, service: str | None, *, smoke: bool = False
) -> StarterChoice:
    """The choice that options make, with defaults for those that were not given."""
    ci = _service(service or "github")
    if smoke and ci != "github":
        raise BadInput("the workflow is one of GitHub", where="--smoke", remedy=f"leave it out, or --ci {ci}")
    choice = _agent(folder, agent or NATIVE)
    if model and not choice.needs_model:
        raise BadInput(
            f"{choice.agent} was not seen to call a model, so none can be chosen for it",
            where="--model",
            remedy="leave it out, and see what `demeanor init` writes into demeanor.toml",
        )
    return replace(choice, model=_model(model or ""), ci=ci, smoke=smoke)


def asked(folder: Path, *, smoke: bool = False) -> StarterChoice:
    """The choice that a person makes. A wrong answer is explained, and the question asked again."""
    print("What do you test? Your own agent: write the command that starts it, such as ./agent.sh {prompt}")
    print(f"Or one of these: {', '.join(BARE_AGENTS)}")
    choice = _ask(f"Which agent do you test? [{NATIVE}] ", NATIVE, "--agent", partial(_agent, folder))
    model = ""
    if choice.needs_model:
        print(f"Providers: {', '.join(WELL_KNOWN)}")
        question = "Which model, as PROVIDER/MODEL? [a small one on this machine, without a key] "
        model = _ask(question, "", "--model", _model)
    service = _ask(f"Which CI service: {', '.join(CI)}? [github] ", "github", "--ci", _service)
    return replace(choice, model=model, ci=service, smoke=smoke)


def _ask(question: str, default: str, option: str, check: Callable[[str], T]) -> T:
    while True:
        print(question, end="", flush=True)
        try:
            return check(sys.stdin.readline().strip() or default)
        except UsageError as error:
            print(str(error).removeprefix(f"{option}: "))


def _agent(folder: Path, text: str) -> StarterChoice:
    """The choice of a shipped agent, or of one's own, which is started once to see which model API it uses."""
    if text in BARE_AGENTS:
        return StarterChoice(agent=text)
    if not _A_COMMAND.search(text) and not (folder / text).is_file():
        raise UnknownName("agent", text, BARE_AGENTS, where="--agent", hint=_OWN)
    own = own_agent(text, folder, BUILT_IN)
    print(f"Starting {own.name} once in a sandbox, with a scripted model in place of every API …", flush=True)
    own = tried(own, folder, os.environ)
    print(own.seen)
    return StarterChoice(agent=own.name, own=own)


def _model(name: str) -> str:
    provider, slash, model = name.partition("/")
    if maker_of(name):
        return f"{maker_of(name)}/{name}"
    if name and not (slash and model):
        raise BadInput(f"{name!r} is not PROVIDER/MODEL", where="--model", remedy="such as openai/gpt-5-mini")
    if name and provider not in WELL_KNOWN:
        raise UnknownName("provider", provider, WELL_KNOWN, where="--model")
    return name


def _service(name: str) -> str:
    if name not in CI:
        raise UnknownName("CI service", name, CI, where="--ci")
    return name
