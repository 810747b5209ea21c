"""Any program as an agent, by configuration alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.agents.installation import installation
from holdfast.core.agent import Ability, Orders, Task
from holdfast.core.errors import nearest
from holdfast.core.process import Launch, ProcessEnd
from holdfast.core.table import Table
from holdfast.core.trajectory import Event, Kind

_PLACES = ("prompt", "model", "workspace", "home", "base_url", "token", "seed")
_PLACE = re.compile(r"\{\{|\}\}|\{([a-z_]+)\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandAgent:
    """A program that is started once per prompt, in the same workspace and HOME."""

    name: str
    """As written in a subject."""

    command: tuple[str, ...]
    """Program and arguments, with places such as {prompt}; never a shell line."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables to set, with places too."""

    pass_env: tuple[str, ...] = ()
    """Variables of the host that it may see."""

    exit_codes: tuple[int, ...] | None = (0,)
    """Exit codes that mean success; None where its exit code says nothing."""

    stdout_contains: str | None = None
    """A string that its output must contain on success."""

    dialect: str | None = None
    """The model API it speaks through {base_url}; None where it uses no gateway."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """What its own tools do."""

    cannot: Mapping[Ability, str] = field(default_factory=dict)
    """What it can't do, with the reason."""

    params: tuple[str, ...] | None = None
    """An eval may hand any setting to it."""

    version_command: tuple[str, ...] = ()
    """Prints its version."""

    reads: tuple[str, ...] = ()
    """Folders and files of the host that it needs besides its own program."""

    def orders(self, task: Task) -> Orders:
        """One start per prompt."""
        passed = {name: os.environ[name] for name in self.pass_env if name in os.environ}
        return Orders(launches=tuple(self._launch(task, prompt, passed) for prompt in task.prompts))

    def _launch(self, task: Task, prompt: str, passed: Mapping[str, str]) -> Launch:
        places = {
            "prompt": prompt,
            "model": task.model,
            "workspace": str(task.workspace),
            "home": str(task.home),
            "base_url": task.base_url,
            "token": task.token,
            "seed": str(task.seed),
        }
        env = {name: _fill(value, places) for name, value in self.env.items()}
        argv = tuple(_fill(word, places) for word in self.command)
        return Launch(argv=argv, env={**passed, **env}, reads=(*self._reads(), *self.reads))

    def _reads(self) -> Iterator[str]:
        """What its command names of the host: the program with its installation, and files by their whole path."""
        yield from installation(self.command[0])
        yield from (word for word in self.command[1:] if word.startswith("/") and Path(word).is_file())

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """By exit code and output, as configured."""
        if self.stdout_contains is not None and self.stdout_contains not in end.stdout.text:
            return False
        return None if self.exit_codes is None else end.exit_code in self.exit_codes

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """Nothing is known of its output."""
        return ()

    def missing(self) -> str | None:
        """The program itself."""
        if shutil.which(self.command[0]):
            return None
        return f"{self.command[0]!r} is not on PATH; install it, or correct agents.{self.name}.command"

    def version(self) -> str | None:
        """The first line of what its version command prints."""
        if not self.version_command:
            return None
        try:
            done = subprocess.run(self.version_command, capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return next(iter(done.stdout.splitlines()), None)


def _fill(text: str, places: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda match: places[match[1]] if match[1] else match[0][0], text)


def _check_places(table: Table, key: str, text: str) -> None:
    for match in _PLACE.finditer(text):
        if match[1] and match[1] not in _PLACES:
            close = nearest(match[1], _PLACES)
            known = f"did you mean {{{close}}}?" if close else "known places: " + ", ".join(f"{{{p}}}" for p in _PLACES)
            table.fail(key, f"unknown place {match[0]}", f"{known} (write {{{{…}}}} for literal braces)")


def read(name: str, table: Table) -> CommandAgent:
    """The agent of an `[agents.NAME]` table with `adapter = "command"`."""
    command = table.texts("command")
    env = table.strings("env")
    if not command:
        table.fail("command", "is required", 'write the program and its arguments, such as ["my-agent", "{prompt}"]')
    for index, word in enumerate(command):
        _check_places(table, f"command[{index}]", word)
    for variable, value in env.items():
        _check_places(table, f"env.{variable}", value)
    if not any("{prompt}" in text for text in (*command, *env.values())):
        table.fail("command", "the prompt reaches the agent nowhere", "write {prompt} where it belongs")
    uses_gateway = any("{base_url}" in text for text in (*command, *env.values()))
    dialect = table.maybe_text("dialect")
    if uses_gateway and dialect is None:
        table.fail("dialect", "is required where {base_url} is used", "name the model API it speaks: openai-chat, …")
    return CommandAgent(
        name=name,
        command=command,
        env=env,
        pass_env=table.texts("pass_env"),
        exit_codes=_exit_codes(table),
        stdout_contains=table.maybe_text("stdout_contains"),
        dialect=dialect,
        tool_kinds=_tool_kinds(table),
        version_command=table.texts("version_command"),
        reads=_reads(table),
    )


def _reads(table: Table) -> tuple[str, ...]:
    """Paths of the host; relative ones are taken from where the configuration is."""
    paths = tuple(str(Path(table.where).resolve().parent / Path(path).expanduser()) for path in table.texts("reads"))
    for index, path in enumerate(paths):
        if not Path(path).exists():
            table.fail(f"reads[{index}]", f"{path} is not there", "correct the path, or leave it out")
    return paths


def _exit_codes(table: Table) -> tuple[int, ...] | None:
    if table.flag("ignore_exit_code"):
        return None
    codes: list[object] = table.take("exit_codes", list, [0]) or []
    numbers = tuple(code for code in codes if isinstance(code, int) and not isinstance(code, bool))
    if len(numbers) != len(codes):
        table.fail("exit_codes", "expected a list of whole numbers", "for example: exit_codes = [0]")
    return numbers


def _tool_kinds(table: Table) -> dict[str, Kind]:
    found = {}
    for tool, kind in table.strings("tool_kinds").items():
        if kind not in list(Kind):
            table.fail(f"tool_kinds.{tool}", f"unknown kind {kind!r}", f"known: {', '.join(Kind)}")
        found[tool] = Kind(kind)
    return found
