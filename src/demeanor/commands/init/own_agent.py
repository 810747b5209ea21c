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
from demeanor.config import WELL_KNOWN, Config
from demeanor.core.text.wording import one_line
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.trees.tree import Tree
from demeanor.core.values.errors import BadInput, DemeanorError
from demeanor.core.values.trajectory import Kind, kind_of
from demeanor.core.values.verdict import Void

if TYPE_CHECKING:
    from demeanor.core.values.exchange import Exchange
    from demeanor.core.values.record import Record
    from demeanor.runner import Catalog

_PROMPT = "{prompt}"
_INTERPRETERS = re.compile(r"python[\d.]*|node|deno|bun|ruby|perl|bash|sh|npx|uvx|uv|run|pipx|tsx|env")
_WAIT = 60

_OPENAI = (("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",))
_VARIABLES: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "anthropic": (("ANTHROPIC_BASE_URL",), ("ANTHROPIC_API_KEY",)),
    "gemini": (("GOOGLE_GEMINI_BASE_URL",), ("GEMINI_API_KEY",)),
}
"""Model API → the variables from which its official clients read the URL and the key."""

_URLS = {"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1", "ANTHROPIC_BASE_URL": "", "GOOGLE_GEMINI_BASE_URL": ""}


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
            urls, keys = _VARIABLES[self.api]
            return [*table, f'dialect = "{self.api}"', f"base_url_env = {_texts(urls)}", f"token_env = {_texts(keys)}"]
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
    from demeanor.agents import why_missing

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
            **{name: "{base_url}" + path for name, path in _URLS.items()},
            **{key: "{token}" for _, keys in _VARIABLES.values() for key in keys},
        },
    }
    config = Config(root=folder.resolve(), agents={agent.name: table}, timeout=_WAIT)
    try:
        with TemporaryDirectory(prefix=temp_prefix()) as scratch:
            record, exchanges = _start(Catalog(config=config, environ=environ), agent.name, Path(scratch))
    except DemeanorError as error:
        return replace(agent, seen=f"It could not be tried: {str(error).splitlines()[0]}")
    if not exchanges:
        return replace(agent, seen=_silence(record))
    tools = [tool.name for exchange in exchanges for tool in exchange.request.tools]
    return replace(
        agent,
        api=exchanges[0].dialect,
        edits=any(kind_of(tool) is Kind.EDIT for tool in tools),
        seen=f"It called its model by the API {exchanges[0].dialect}.",
    )


def _start(catalog: Catalog, name: str, folder: Path) -> tuple[Record, tuple[Exchange, ...]]:
    """The record of one start of the agent, and its model requests."""
    from demeanor.runner import start_agents
    from demeanor.store import RunFolder, read_capture

    record = start_agents(catalog, [name], folder, make_ui(quiet=True, kept=False))[name]
    (run,) = (RunFolder(path.parent) for path in folder.glob("*/run.json"))
    return record, read_capture(record, Tree(), run=run).exchanges


def _silence(record: Record) -> str:
    """Why no model request was seen, as far as the verdict and the output tell."""
    output = f"{record.stdout}\n{record.stderr}"
    hosts = {urlsplit(provider.base_url).hostname: provider for provider in WELL_KNOWN.values()}
    for host, provider in hosts.items():
        if host and host in output:
            url = _VARIABLES[provider.dialects.split()[0]][0][0]
            return f"It asked for {host} itself: let it read its base URL from {url}."
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
