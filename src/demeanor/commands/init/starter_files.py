"""The files of a new project, for an agent, a model and a CI service."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

from demeanor.cli import package_line, schemas
from demeanor.commands.init.own_agent import OwnAgent
from demeanor.config import WELL_KNOWN
from demeanor.core.installation import install_extra, installed_from
from demeanor.gateway.local import DEFAULT_MODEL

NATIVE = "native"

_SCHEMAS = ("demeanor", "scenario")

_MARK = re.compile(r"(\s*(?:- |# )?)@(\w+)")

_EVALS = {
    "eval_notes.py": "evals/eval_notes.py",
    "scenario.toml": "evals/create-file/scenario.toml",
}
CI: Mapping[str, Mapping[str, str]] = {
    "github": {
        "github-pull-request.yml": ".github/workflows/evals-pull-request.yml",
        "github-nightly.yml": ".github/workflows/evals-nightly.yml",
    },
    "gitlab": {"gitlab.yml": ".gitlab/evals.yml"},
    "buildkite": {"buildkite.yml": ".buildkite/evals.yml"},
    "none": {},
}
"""CI service → its starter files and where they are written."""


_FORK = {"github-fork.yml": ".github/workflows/evals-fork.yml"}
"""The workflow for pull requests of forks, which have no keys."""

SMOKE = {"github-smoke.yml": ".github/workflows/evals-smoke.yml"}
"""The workflow of `--smoke` and where it is written."""

_MACHINE = "github-machine.yml"
"""The steps that prepare the machine of a job on GitHub."""

_CLINE_MODELS = ("claude-sonnet-4-20250514", "gpt-4o", "gemini-2.5-pro-preview-06-05")
"""The models of Cline's own smoke tests, which its router serves."""

_DEFAULT = """\
`native` is Demeanor's own small agent. By default it runs with a small language model on this machine (`demeanor
models fetch` downloads it; no key is needed), or, if that is not there, with `scripted`: a set of rules in place of a
model.
"""

_PLACES = """\
paths = ["{scenarios}"]
results = "{results}"

"""

_BUILD = """
# Builds {agent} from source before the trials, here and in CI. Without `program`, the published version is used.
# build = {build}
#
# [agents.{agent}]
# adapter = "{agent}"
# program = "{program}"
"""

_OWN_AGENT = """\
# Your own agent: any program that takes a prompt. Then: demeanor run --subject mine
#
# [agents.mine]
# adapter = "command"
# command = ["my-agent", "--prompt", "{prompt}"]
"""

_WITHOUT_KEY = """\
if [ -z "${name}" ]; then
  echo "::notice title=Evals::nothing was gated, because this job has no {name} (a fork, Dependabot, or not set up yet)"
  exit 0
fi
"""

_BUDGET = """
# A run that has used this much stops, and says which trials are missing.
[budgets.run]
tokens = 5_000_000
"""

_ABOUT_CALLS = "rig.calls"
"""What the lines of an eval contain that ask about tool calls. Not every agent lets its calls be seen."""

_AGENT_SOURCES: Mapping[str, Sequence[str]] = {"cline": ("src/core/**", "src/shared/**", "proto/**")}
"""What the agent of a project is built from, where it is known."""

_BUILDS = {"cline": ('["sh", "-c", "npm run protos-go && cd cli && go build -o cline ./cmd/cline"]', "cli/cline")}
_ANY_BUILD = ('["make", "build"]', "bin/agent")
"""How an agent is built, and the program that this makes."""

_SMOKE_TESTS = PurePosixPath("evals/smoke-tests")
"""The folder of a project's smoke tests in the layout of Cline's repository."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StarterChoice:
    """What a new project tests, and where."""

    agent: str = NATIVE
    """The agent."""

    model: str = ""
    """The model, as `provider/model`; empty for the small model on this machine."""

    ci: str = "github"
    """The CI service: a key of `CI`."""

    smoke: bool = False
    """Whether a workflow runs all evals once after a merge; on GitHub only."""

    own: OwnAgent | None = None
    """The agent, if it is the person's own."""

    scenarios: str = ""
    """The folder of smoke scenarios that the project has already; empty if it has none."""

    @property
    def needs_model(self) -> bool:
        """Whether its agent calls a model through Demeanor, as far as is known."""
        return self.own is None or bool(self.own.api)

    @property
    def models(self) -> tuple[str, ...]:
        """The models of its subjects; empty for the small model on this machine."""
        if self.model:
            return (self.model,)
        return _CLINE_MODELS if self.agent == "cline" else ()


def existing_scenarios(folder: Path) -> str:
    """The folder of smoke scenarios in a project, relative to it; empty if there is none."""
    scenarios = _SMOKE_TESTS / "scenarios"
    return str(scenarios) if any((folder / scenarios).glob("*/config.json")) else ""


def starter_files(choice: StarterChoice) -> dict[PurePosixPath, str]:
    """The path and the text of every file. A project that has smoke scenarios needs no other evals to begin with."""
    evals = {} if choice.scenarios else _EVALS
    targets = {"demeanor.toml": "demeanor.toml", **evals, **CI[choice.ci], **(SMOKE if choice.smoke else {})}
    if choice.ci == "github" and _keys(choice):
        targets |= _FORK
    sources = _AGENT_SOURCES.get(choice.agent, ("src/**", "prompts/**", *(choice.own.files if choice.own else ())))
    keys = [f"{name}: ${{{{ secrets.{name} }}}}" for name in _keys(choice)]
    blocks = {
        "subjects": [_subjects(choice)],
        "default": _DEFAULT.splitlines() if choice.agent == NATIVE else [],
        "places": _places(choice),
        "build": _build(choice),
        "agent": choice.own.lines() if choice.own else _OWN_AGENT.splitlines(),
        "paths": [f'- "{pattern}"' for pattern in (*sources, "evals/**", "demeanor.toml")],
        "package": [package_line(installed_from(), _extra(choice))],
        "install": [command for command, _ in _downloads(choice)],
        "node": [] if choice.agent == NATIVE or choice.own else ["apt-get update && apt-get install --yes nodejs npm"],
        "keys": keys,
        "env": ["env:", *(f"  {line}" for line in keys)] if keys else [],
        "without_key": [line for name in _keys(choice) for line in _WITHOUT_KEY.format(name=name).splitlines()],
        "budget": _BUDGET.splitlines() if _keys(choice) else [],
        "key_names": _keys(choice) or ["(none is needed)"],
    }
    folder = files("demeanor.commands.init") / "starter"
    texts = {target: (folder / name).read_text("utf-8") for name, target in targets.items()}
    if choice.own and not choice.own.edits:
        texts = {target: _without(text, _ABOUT_CALLS) for target, text in texts.items()}
    machine = fill((folder / _MACHINE).read_text("utf-8"), blocks)
    return {
        PurePosixPath(target): fill(
            text, {**blocks, "machine": machine.replace("WORKFLOW", PurePosixPath(target).name).splitlines()}
        )
        for target, text in texts.items()
    }


def steps(choice: StarterChoice, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """What has to be installed, set and run for a first result, in order. The built-in agent needs nothing."""
    ready = choice.agent == NATIVE and not choice.models
    check = f"demeanor agents check {choice.agent}"
    runtime = [(install_extra("local"), "the runtime of the local model")] if _extra(choice) else []
    return [
        *([] if ready else [*runtime, *_downloads(choice)]),
        *((f"export {name}=…", "the key of the provider") for name in _keys(choice) if name not in environ),
        ("demeanor validate", "check the evals, without a model"),
        *([(check, "what your agent can do, with a scripted model")] if choice.own and choice.own.api else []),
        ("demeanor run", "run them"),
    ]


def left_for_ci(choice: StarterChoice) -> str:
    """What a person has to do before the workflows run; empty if none were chosen."""
    key = "".join(_keys(choice))
    with_key, rest = {
        "github": (f"add the secret {key} to the repository", "commit the workflows"),
        "gitlab": (f"add the variable {key}", "include .gitlab/evals.yml in .gitlab-ci.yml"),
        "buildkite": (f"make {key} available", "upload .buildkite/evals.yml in your pipeline"),
        "none": ("", ""),
    }[choice.ci]
    return rest and f"In CI: {f'{with_key}, and {rest}' if key else rest}."


def schema_files() -> dict[PurePosixPath, str]:
    """The path and the text of the JSON schemas that the starter files refer to, for editors."""
    files = schemas()
    return {PurePosixPath(".demeanor", files[name].name): files[name].read_text("utf-8") for name in _SCHEMAS}


def fill(template: str, blocks: Mapping[str, Sequence[str]]) -> str:
    """Replace each line that is only `@name` by the lines of that block, with the same indentation, `-` or `#`."""
    lines: list[str] = []
    for line in template.splitlines():
        mark = _MARK.fullmatch(line)
        lines += [f"{mark[1]}{block_line}" for block_line in blocks[mark[2]]] if mark else [line]
    return "\n".join(lines) + "\n"


def _without(text: str, words: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if words not in line)


def _subjects(choice: StarterChoice) -> str:
    if not choice.needs_model:
        return f'subjects = ["{choice.agent}"]'
    names = ", ".join(f'"{choice.agent}:{model}"' for model in choice.models or (DEFAULT_MODEL,))
    return f"{'' if choice.models or choice.agent != NATIVE else '# '}subjects = [{names}]"


def _places(choice: StarterChoice) -> list[str]:
    """Where the evals are and the results go, if that is not the default."""
    results = _SMOKE_TESTS / "results"
    return _PLACES.format(scenarios=choice.scenarios, results=results).splitlines() if choice.scenarios else []


def _build(choice: StarterChoice) -> list[str]:
    """How to build a shipped agent from the project's source."""
    if choice.agent == NATIVE or choice.own:
        return []
    build, program = _BUILDS.get(choice.agent, _ANY_BUILD)
    return _BUILD.format(agent=choice.agent, build=build, program=program).splitlines()


def _extra(choice: StarterChoice) -> str:
    """The extra that the choice needs: the runtime of the local model."""
    return "local" if choice.needs_model and not choice.models else ""


def _downloads(choice: StarterChoice) -> list[tuple[str, str]]:
    """What is downloaded after Demeanor itself, with a few words about each: the local model and the agent."""
    model = [("demeanor models fetch", "its weights")] if _extra(choice) else []
    agent = (f"demeanor agents install {choice.agent}", "unless it is on PATH already")
    return model if choice.agent == NATIVE or choice.own else [*model, agent]


def _keys(choice: StarterChoice) -> list[str]:
    """The variable with the provider's key; only its name is written, never its value."""
    provider = WELL_KNOWN.get("cline" if choice.models == _CLINE_MODELS else choice.model.partition("/")[0])
    return [provider.key_env] if provider else []
