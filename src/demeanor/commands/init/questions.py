"""The questions of `demeanor init`, and what an answer or an option may be."""

from __future__ import annotations

import sys
from collections.abc import Callable

from demeanor.commands.init.starter_files import CI, NATIVE, StarterChoice
from demeanor.config import WELL_KNOWN, maker_of
from demeanor.core.values.errors import BadInput, UnknownName, UsageError
from demeanor.runner import BARE_AGENTS

_OWN = "for your own agent: `demeanor init`, then `demeanor help test-your-agent`"


def checked(agent: str | None, model: str | None, service: str | None, *, smoke: bool = False) -> StarterChoice:
    """The choice that options make, with defaults for those that were not given."""
    ci = _service(service or "github")
    if smoke and ci != "github":
        raise BadInput("the workflow is one of GitHub", where="--smoke", remedy=f"leave it out, or --ci {ci}")
    return StarterChoice(agent=_agent(agent or NATIVE), model=_model(model or ""), ci=ci, smoke=smoke)


def asked() -> StarterChoice:
    """The choice that a person makes. A wrong answer is explained, and the question asked again."""
    print(f"Agents: {', '.join(BARE_AGENTS)}\n({_OWN})")
    agent = _ask(f"Which agent do you test? [{NATIVE}] ", NATIVE, "--agent", _agent)
    print(f"Providers: {', '.join(WELL_KNOWN)}")
    model = _ask("Which model, as PROVIDER/MODEL? [a small one on this machine, without a key] ", "", "--model", _model)
    service = _ask(f"Which CI service: {', '.join(CI)}? [github] ", "github", "--ci", _service)
    return StarterChoice(agent=agent, model=model, ci=service)


def _ask(question: str, default: str, option: str, check: Callable[[str], str]) -> str:
    while True:
        print(question, end="", flush=True)
        try:
            return check(sys.stdin.readline().strip() or default)
        except UsageError as error:
            print(str(error).removeprefix(f"{option}: "))


def _agent(name: str) -> str:
    if name not in BARE_AGENTS:
        raise UnknownName("agent", name, BARE_AGENTS, where="--agent", hint=_OWN)
    return name


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
