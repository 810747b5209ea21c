"""A person's own agent: the command that starts it, and the model API that it turns out to use."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from demeanor.cli import make_ui
from demeanor.config import WELL_KNOWN, Config, asked_itself
from demeanor.core.text.wording import one_line
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.trees.tree import Tree
from demeanor.core.values.dialects import DIALECT_FACTS
from demeanor.core.values.errors import BadInput, DemeanorError
from demeanor.core.values.trajectory import Kind, kind_of
from demeanor.core.values.verdict import Void

if TYPE_CHECKING:
    from demeanor.core.values.capture import Capture
    from demeanor.core.values.record import Record
    from demeanor.runner import Catalog

_PROMPT = "{prompt}"
_INTERPRETERS = re.compile(r"python[\d.]*|node|deno|bun|ruby|perl|bash|sh|npx|uvx|uv|run|pipx|tsx|env")
_WAIT = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnAgent:
    """An agent that the person starts with a command."""

    name: str
    """Its name in the configuration, made from its program's."""

    command: tuple[str, ...]
    """Program and arguments, one of them with `{prompt}`."""

    api: str = ""
    """The model API that it used when it was tried; empty if it used none, or could not be tried."""

    edits: bool = False
    """Whether it offered the model a tool that edits files, under a usual name."""

    seen: str = ""
    """What was seen when it was tried, in one sentence."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the project that its command names."""
        return tuple(word[2:] for word in self.command if word.startswith("./") and not word.startswith("./."))

    def lines(self) -> list[str]:
        """Its table in the configuration."""
        table = [f"[agents.{self.name}]", 'adapter = "command"', f"command = {_texts(self.command)}"]
        if self.api:
            facts = DIALECT_FACTS[self.api]
            variables = f"base_url_env = {_texts(facts.url_env)}", f"token_env = {_texts([facts.key_env])}"
            return [*table, f'dialect = "{self.api}"', *variables]
        return [
            *table,
            f"# {self.seen}",
            "# If it calls a model, say which API it uses and which variables it reads; then evals see its tool calls:",
            '# dialect = "openai-chat"    # or openai-responses, anthropic, gemini',
            '# base_url_env = ["OPENAI_BASE_URL"]',
            '# token_env = ["OPENAI_API_KEY"]',
        ]


def own_agent(text: str, folder: Path, taken: Sequence[str]) -> OwnAgent:
    """The agent that a command line starts from `folder`; raises BadInput if its program is missing."""
    from demeanor.agents.environments import why_missing

    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadInput(f"{text!r} can't be split into words: {error}", where="--agent") from None
    words = [_in_project(word, folder) for word in words]
    program = str(folder.resolve() / words[0]) if "/" in words[0] else words[0]
    if reason := why_missing(program):
        raise BadInput(reason, where="--agent", remedy="write the command that starts your agent, as in a shell")
    if not any(_PROMPT in word for word in words):
        words.append(_PROMPT)
    return OwnAgent(name=_name(words, taken), command=tuple(words))


def tried(agent: OwnAgent, folder: Path, environ: Mapping[str, str]) -> OwnAgent:
    """The agent with what was seen when it was started once in a sandbox, with a scripted model behind every API."""
    from demeanor.runner import Catalog

    table = {
        "adapter": "command",
        "command": list(agent.command),
        "dialect": "openai-chat",
        "env": {
            **{name: "{base_url}" + api.base_path for api in DIALECT_FACTS.values() for name in api.url_env},
            **{api.key_env: "{token}" for api in DIALECT_FACTS.values()},
        },
    }
    config = Config(root=folder.resolve(), agents={agent.name: table}, timeout=_WAIT)
    try:
        with TemporaryDirectory(prefix=temp_prefix()) as scratch:
            record, capture = _start(Catalog(config=config, environ=environ), agent.name, Path(scratch))
    except DemeanorError as error:
        return replace(agent, seen=f"It could not be tried: {str(error).splitlines()[0]}")
    exchanges = capture.exchanges
    if not exchanges:
        return replace(agent, seen=_silence(record, capture))
    tools = [tool.name for exchange in exchanges for tool in exchange.request.tools]
    return replace(
        agent,
        api=exchanges[0].dialect,
        edits=any(kind_of(tool) is Kind.EDIT for tool in tools),
        seen=f"It called its model by the API {exchanges[0].dialect}.",
    )


def _start(catalog: Catalog, name: str, folder: Path) -> tuple[Record, Capture]:
    """The record of one start of the agent, and what it left."""
    from demeanor.runner import start_agents
    from demeanor.store.captures import read_capture
    from demeanor.store.runs import RunFolder

    record = start_agents(catalog, [name], folder, make_ui(quiet=True, kept=False))[name]
    (run,) = (RunFolder(path.parent) for path in folder.glob("*/run.json"))
    return record, read_capture(record, Tree(), run=run)


def _silence(record: Record, capture: Capture) -> str:
    """Why no model request was seen, as far as the verdict and the output tell."""
    output = f"{record.stdout}\n{record.stderr}"
    named = [host for provider in WELL_KNOWN.values() if (host := urlsplit(provider.base_url).hostname or "") in output]
    if why := asked_itself((*(host for end in capture.ends for host in end.asked_hosts), *named)):
        return f"{why[0].upper()}{why[1:]}."
    if isinstance(record.verdict, Void):
        return f"When it was tried, {one_line(record.verdict.detail, width=200)}"
    return "When it was tried, it called no model through the usual variables."


def _in_project(word: str, folder: Path) -> str:
    """A word of the command; the path of a file in the folder starts with `./`, so that it is known to be one."""
    is_path = not word.startswith(("/", "./", "../", "-", "{")) and (folder / word).is_file()
    return f"./{word}" if is_path else word


def _name(words: Sequence[str], taken: Sequence[str]) -> str:
    """The name of the program, or of the script that an interpreter runs."""
    candidates = [PurePath(word).stem for word in words if not word.startswith(("-", "{"))]
    stem = next((word for word in candidates if not _INTERPRETERS.fullmatch(word)), "")
    name = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "mine"
    return f"my-{name}" if name in taken else name


def _texts(values: Sequence[str]) -> str:
    """A list in TOML; its strings are those of JSON."""
    return json.dumps(list(values), ensure_ascii=False)
