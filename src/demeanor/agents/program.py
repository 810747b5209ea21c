"""A program that the configuration describes: what the generic adapters (`command`, `acp`) start.

Texts of the configuration may contain placeholders, such as {model}, which are filled in for each trial.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from demeanor.agents.environments.executables import printed_version, why_missing, with_executables
from demeanor.config import Table, path_problem
from demeanor.core.values.agent import Task
from demeanor.core.values.dialects import DIALECT_FACTS
from demeanor.core.values.errors import nearest
from demeanor.core.values.process import Launch
from demeanor.core.values.trajectory import Kind

"""The model APIs, each with the path that its clients expect at the end of a base URL."""

PLACEHOLDERS = ("model", "workspace", "home", "base_url", "token", "seed")
PROMPT = "prompt"
MCP_CONFIG = "mcp_config"
PROJECT = "project"
_INTERPRETERS = re.compile(r"python[\d.]*|node|deno|bun|tsx|ruby|perl|bash|sh")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([a-z_]+)\}")


def placeholder_values(task: Task) -> dict[str, str]:
    """The values of all placeholders for a task, except for the prompt."""
    return {
        "model": task.model,
        "workspace": str(task.workspace),
        "home": str(task.home),
        "base_url": task.base_url,
        "token": task.token,
        "seed": str(task.seed),
    }


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders in `text`; doubled braces become single ones."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]] if match[1] else match[0][0], text)


def check_placeholders(table: Table, key: str, text: str, placeholders: Iterable[str]) -> None:
    """Reject an unknown placeholder."""
    placeholders = tuple(placeholders)
    for match in _PLACEHOLDER.finditer(text):
        if match[1] and match[1] not in placeholders:
            close = nearest(match[1], placeholders)
            hint = (
                f"did you mean {{{close}}}?" if close else "known: " + ", ".join(f"{{{name}}}" for name in placeholders)
            )
            table.fail(key, f"unknown placeholder {match[0]}", f"{hint} (write {{{{…}}}} for literal braces)")


def has_placeholder(text: str, name: str) -> bool:
    """Whether `text` contains a placeholder."""
    return any(match[1] == name for match in _PLACEHOLDER.finditer(text))


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentProgram:
    """How to start a program, and what it needs."""

    command: tuple[str, ...]
    """Program and arguments, with placeholders; never a shell command line."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables to set, with placeholders."""

    pass_env: tuple[str, ...] = ()
    """Environment variables of the host to pass on."""

    base_url_env: tuple[str, ...] = ()
    """Variables to set to the gateway's URL, with the path that clients of the dialect expect."""

    token_env: tuple[str, ...] = ()
    """Variables to set to the key for the gateway."""

    dialect: str | None = None
    """The model API that it uses; None if it does not use the gateway."""

    home_files: Mapping[str, str] = field(default_factory=dict)
    """Files to write into its HOME: path → text, with placeholders."""

    reads: tuple[str, ...] = ()
    """Additional paths that must be readable."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The kinds of its tools."""

    version_command: tuple[str, ...] = ()
    """The command that prints its version."""

    @property
    def names_model(self) -> bool:
        """Whether it is told the name of a model."""
        texts = (*self.command, *self.env.values(), *self.home_files.values())
        return any(has_placeholder(text, "model") for text in texts)

    def environment(self, values: Mapping[str, str]) -> dict[str, str]:
        """Its environment variables; `env` of the configuration overrides the others."""
        passed = {name: os.environ[name] for name in self.pass_env if name in os.environ}
        facts = DIALECT_FACTS.get(self.dialect or "")
        url = values["base_url"] + (facts.base_path if facts else "")
        gateway = dict.fromkeys(self.base_url_env, url) | dict.fromkeys(self.token_env, values["token"])
        return {**passed, **gateway, **{name: fill(text, values) for name, text in self.env.items()}}

    def files(self, values: Mapping[str, str]) -> dict[str, bytes]:
        """The files to write into its HOME."""
        return {path: fill(text, values).encode() for path, text in self.home_files.items()}

    def readable(self, launch: Launch, resume_command: tuple[str, ...] = ()) -> Launch:
        """The launch with the paths of the host that the command, and another one that continues, must read."""
        words = (*self.command, *resume_command)
        files = named_files((*words, *self.env.values()))
        scripts = (path for path in files if os.access(path, os.X_OK))
        programs = dict.fromkeys((self.command[0], *resume_command[:1], "node", *scripts))
        launch = replace(launch, reads=(*launch.reads, *files, *self.reads), lists=self._lists(files))
        return with_executables(launch, programs)

    def _lists(self, files: Iterable[str]) -> tuple[str, ...]:
        """The folders in which Python looks for what is in `reads`: those of its scripts, and those of PYTHONPATH."""
        folders = [str(Path(file).parent) for file in files if file.endswith(".py")]
        folders += [folder for folder in self.env.get("PYTHONPATH", "").split(os.pathsep) if folder.startswith("/")]
        return tuple(folder for folder in folders if any(Path(path).is_relative_to(folder) for path in self.reads))

    def missing(self, name: str) -> str | None:
        """Why it can't be started; None if it can."""
        program, *arguments = self.command
        reason = why_missing(program)
        script = arguments[0] if arguments and _INTERPRETERS.fullmatch(Path(program).name) else ""
        if reason is None and script.startswith("/") and not Path(script).exists():
            reason = f"{script} does not exist"
        return f"{reason}; install it, or correct agents.{name}.command" if reason else None

    def version(self) -> str | None:
        """The first line that its version command prints."""
        return printed_version(self.version_command) if self.version_command else None


def read_program(table: Table, *, prompt: bool) -> AgentProgram:
    """Read the keys that `command` and `acp` share. `prompt`: whether {prompt} and {mcp_config} are placeholders."""
    placeholders = (*((PROMPT, MCP_CONFIG) if prompt else ()), *PLACEHOLDERS)
    command = read_command(table, "command", placeholders)
    if not command:
        example = '["my-agent", "{prompt}"]' if prompt else '["my-agent", "acp"]'
        table.fail("command", "is required", f"write the program and its arguments, such as {example}")
    texts = {
        kind: _read_texts(table, kind, placeholders if kind == "env" else PLACEHOLDERS)
        for kind in ("env", "home_files")
    }
    for path in texts["home_files"]:
        if problem := path_problem(path):
            table.fail(f"home_files.{path}", problem, "write a path relative to HOME, such as '.config/agent.json'")
    base_url_env, token_env = table.texts("base_url_env"), table.texts("token_env")
    written = (*command, *texts["env"].values(), *texts["home_files"].values())
    uses_gateway = bool(base_url_env) or any(has_placeholder(text, "base_url") for text in written)
    return AgentProgram(
        command=command,
        env=texts["env"],
        pass_env=table.texts("pass_env"),
        base_url_env=base_url_env,
        token_env=token_env,
        dialect=_read_dialect(table, uses_gateway),
        home_files=texts["home_files"],
        reads=read_paths(table),
        tool_kinds=read_tool_kinds(table),
        version_command=read_command(table, "version_command", ()),
    )


def read_command(table: Table, key: str, names: Iterable[str]) -> tuple[str, ...]:
    """A program and its arguments, in which paths of the project are absolute."""
    words = [in_project(table, word) for word in table.command(key)]
    for index, word in enumerate(words):
        check_placeholders(table, f"{key}[{index}]", word, (*names, PROJECT))
    return project_command(table, words) if words else ()


def read_paths(table: Table) -> tuple[str, ...]:
    """`reads`: paths of the host, relative to the configuration file. Only a build may create them later."""
    root = Path(table.where).resolve().parent
    paths = tuple(str(root / Path(in_project(table, path)).expanduser()) for path in table.texts("reads"))
    for index, path in enumerate(paths):
        created_later = table.unbuilt and Path(path).resolve().is_relative_to(root)
        if not Path(path).exists() and not created_later:
            table.fail(f"reads[{index}]", f"{path} does not exist", "correct the path, or remove it")
    return paths


def project_path(table: Table, word: str) -> str:
    """A word of a command; one that starts with `./` or `../` is a path relative to the configuration file."""
    return str(Path(table.where).resolve().parent / word) if word.startswith(("./", "../")) else word


def project_command(table: Table, words: Iterable[str]) -> tuple[str, ...]:
    """A command whose paths are absolute. Its program is looked up on PATH, or relative to the configuration file."""
    program, *arguments = words
    if "/" in program and not program.startswith("{"):
        program = str(Path(table.where).resolve().parent / Path(program).expanduser())
    return (program, *(project_path(table, word) for word in arguments))


def named_files(words: Iterable[str]) -> tuple[str, ...]:
    """The arguments or variables that are the absolute path of a file: the agent must be able to read them."""
    return tuple(word for word in words if word.startswith("/") and Path(word).is_file())


def in_project(table: Table, text: str) -> str:
    """The text with {project} replaced by the folder of the configuration file; in a comparison of commits, this is the
    folder in the checkout of the commit."""
    root = str(Path(table.where).resolve().parent)
    return _PLACEHOLDER.sub(lambda match: root if match[1] == PROJECT else match[0], text)


def _read_texts(table: Table, kind: str, names: Iterable[str]) -> dict[str, str]:
    """A table of texts with placeholders."""
    texts = {name: in_project(table, text) for name, text in table.strings(kind).items()}
    for name, text in texts.items():
        check_placeholders(table, f"{kind}.{name}", text, (*names, PROJECT))
    return texts


def _read_dialect(table: Table, uses_gateway: bool) -> str | None:
    dialect = table.choice("dialect", tuple(DIALECT_FACTS))
    if uses_gateway and dialect is None:
        table.fail(
            "dialect",
            "is required with base_url_env or {base_url}",
            f"set it to the model API that the agent uses: {', '.join(DIALECT_FACTS)}",
        )
    return dialect


def read_tool_kinds(table: Table) -> dict[str, Kind]:
    """`tool_kinds`: tool → kind."""
    kinds = {}
    for tool, kind in table.strings("tool_kinds").items():
        if kind not in list(Kind):
            table.fail(f"tool_kinds.{tool}", f"unknown kind {kind!r}", f"known: {', '.join(Kind)}")
        kinds[tool] = Kind(kind)
    return kinds
