"""A program that the configuration names: what the generic adapters know of the one they start."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demeanor.agents.placeholders import PLACES, PROMPT, check_places, fill, has_place
from demeanor.agents.readable_paths import installation
from demeanor.agents.version import told_version
from demeanor.config.table import Table, path_problem
from demeanor.core.trajectory import Kind

DIALECTS = {"openai-chat": "/v1", "openai-responses": "/v1", "anthropic": "", "gemini": ""}
"""The model APIs, each with what its clients expect at the end of a base URL."""

_PATIENCE = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentProgram:
    """How a program is started, and what it must find."""

    command: tuple[str, ...]
    """Program and arguments, with places; never a shell line."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables to set, with places too."""

    pass_env: tuple[str, ...] = ()
    """Variables of the host that it may see."""

    base_url_env: tuple[str, ...] = ()
    """Variables that get the gateway's address, in the shape that clients of the dialect expect."""

    token_env: tuple[str, ...] = ()
    """Variables that get the key to present there."""

    dialect: str | None = None
    """The model API it speaks; None where it uses no gateway."""

    home_files: Mapping[str, str] = field(default_factory=dict)
    """Files to lay into its HOME: path → text, with places."""

    reads: tuple[str, ...] = ()
    """Folders that it must be able to read besides its own."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """What its own tools do."""

    version_command: tuple[str, ...] = ()
    """Prints its version."""

    def environment(self, places: Mapping[str, str]) -> dict[str, str]:
        """Its variables; what the configuration writes out wins over what follows from the dialect."""
        passed = {name: os.environ[name] for name in self.pass_env if name in os.environ}
        url = places["base_url"] + DIALECTS.get(self.dialect or "", "")
        gateway = dict.fromkeys(self.base_url_env, url) | dict.fromkeys(self.token_env, places["token"])
        return {**passed, **gateway, **{name: fill(value, places) for name, value in self.env.items()}}

    def files(self, places: Mapping[str, str]) -> dict[str, bytes]:
        """What it must find in its HOME."""
        return {path: fill(text, places).encode() for path, text in self.home_files.items()}

    def readable(self) -> tuple[str, ...]:
        """What of the host must not be hidden from it."""
        named = tuple(word for word in self.command[1:] if word.startswith("/") and Path(word).is_file())
        return (*installation(self.command[0]), *installation("node"), *named, *self.reads)

    def missing(self, name: str) -> str | None:
        """The program itself, where it is not there."""
        if installation(self.command[0]):
            return None
        return f"{self.command[0]!r} is not on PATH; install it, or correct agents.{name}.command"

    def version(self) -> str | None:
        """The first line of what its version command prints."""
        return told_version(self.version_command) if self.version_command else None


def read_program(table: Table, *, prompt: bool) -> AgentProgram:
    """The keys that all such agents share. `prompt`: whether the prompt has a place too."""
    known = (*((PROMPT,) if prompt else ()), *PLACES)
    command = command_of(table, "command", known)
    if not command:
        example = '["my-agent", "{prompt}"]' if prompt else '["my-agent", "acp"]'
        table.fail("command", "is required", f"write the program and its arguments, such as {example}")
    texts = {kind: table.strings(kind) for kind in ("env", "home_files")}
    for kind, found in texts.items():
        for name, value in found.items():
            check_places(table, f"{kind}.{name}", value, known if kind == "env" else PLACES)
    for path in texts["home_files"]:
        if problem := path_problem(path):
            table.fail(f"home_files.{path}", problem, "write a path relative to HOME, such as '.config/agent.json'")
    base_url_env, token_env = table.texts("base_url_env"), table.texts("token_env")
    written = (*command, *texts["env"].values(), *texts["home_files"].values())
    return AgentProgram(
        command=command,
        env=texts["env"],
        pass_env=table.texts("pass_env"),
        base_url_env=base_url_env,
        token_env=token_env,
        dialect=_dialect(table, bool(base_url_env) or any(has_place(text, "base_url") for text in written)),
        home_files=texts["home_files"],
        reads=_reads(table),
        tool_kinds=_tool_kinds(table),
        version_command=table.texts("version_command"),
    )


def command_of(table: Table, key: str, known: Iterable[str]) -> tuple[str, ...]:
    """A program and its arguments; `./agent` lies beside the configuration."""
    words = table.texts(key)
    for index, word in enumerate(words):
        check_places(table, f"{key}[{index}]", word, known)
    root = Path(table.where).resolve().parent
    return tuple(str(root / word) if word.startswith(("./", "../")) else word for word in words)


def _reads(table: Table) -> tuple[str, ...]:
    """Paths of the host; relative ones are taken from where the configuration is."""
    root = Path(table.where).resolve().parent
    paths = tuple(str(root / Path(path).expanduser()) for path in table.texts("reads"))
    for index, path in enumerate(paths):
        if not Path(path).exists():
            table.fail(f"reads[{index}]", f"{path} is not there", "correct the path, or leave it out")
    return paths


def _dialect(table: Table, uses_gateway: bool) -> str | None:
    dialect = table.choice("dialect", tuple(DIALECTS))
    if uses_gateway and dialect is None:
        table.fail(
            "dialect",
            "is required where base_url_env or {base_url} is used",
            f"name the model API it speaks: {', '.join(DIALECTS)}",
        )
    return dialect


def _tool_kinds(table: Table) -> dict[str, Kind]:
    found = {}
    for tool, kind in table.strings("tool_kinds").items():
        if kind not in list(Kind):
            table.fail(f"tool_kinds.{tool}", f"unknown kind {kind!r}", f"known: {', '.join(Kind)}")
        found[tool] = Kind(kind)
    return found
