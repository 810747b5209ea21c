"""Any program as an agent, by configuration alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.agents.jsonl_paths import JsonlPaths, read_line_paths
from demeanor.agents.placeholders import PLACES, PROMPT, fill, has_place, places_of
from demeanor.agents.program import AgentProgram, command_of, read_program
from demeanor.config.table import Table
from demeanor.core.agent import Ability, Orders, Task
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event, Kind

_CANNOT = {
    Ability.MESSAGES: "a command has no place for an earlier conversation",
    Ability.DENY: "nobody answers a command's requests for confirmation; an agent that speaks ACP can be asked",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandAgent:
    """A program that is started once per prompt, in the same workspace and HOME."""

    name: str
    """As written in a subject."""

    program: AgentProgram
    """How it is started, with a place for the prompt."""

    resume_command: tuple[str, ...] = ()
    """How it is started from the second prompt on, where that is another command."""

    events: JsonlPaths | None = None
    """Where the events are in its output; None where that is no more than text."""

    exit_codes: tuple[int, ...] | None = (0,)
    """Exit codes that mean success; None where its exit code says nothing."""

    stdout_contains: str | None = None
    """A string that its output must contain on success."""

    cannot: Mapping[Ability, str] = field(default_factory=lambda: _CANNOT)
    """What it can't do, with the reason."""

    params: tuple[str, ...] | None = None
    """An eval may hand any setting to it."""

    tells_requests: bool = False
    """Nobody knows what it asks of whom."""

    @property
    def dialect(self) -> str | None:
        """The model API it speaks; None where it uses no gateway."""
        return self.program.dialect

    @property
    def tool_kinds(self) -> Mapping[str, Kind]:
        """What its own tools do."""
        return self.program.tool_kinds

    def orders(self, task: Task) -> Orders:
        """One start per prompt."""
        launches = (self._launch(task, prompt, first=place == 0) for place, prompt in enumerate(task.prompts))
        return Orders(launches=tuple(launches), home_files=self.program.files(places_of(task)))

    def _launch(self, task: Task, prompt: str, *, first: bool) -> Launch:
        places = {**places_of(task), PROMPT: prompt}
        words = self.program.command if first else self.resume_command or self.program.command
        return Launch(
            argv=tuple(fill(word, places) for word in words),
            env=self.program.environment(places),
            reads=self.program.readable(),
        )

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """By exit code and output, as configured."""
        if self.stdout_contains is not None and self.stdout_contains not in end.stdout.text:
            return False
        return None if self.exit_codes is None else end.exit_code in self.exit_codes

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """What its output tells, where the configuration says how; plain text tells nothing but last words."""
        return self.events.read(ends, self.tool_kinds) if self.events else ()

    def missing(self) -> str | None:
        """The program itself."""
        return self.program.missing(self.name)

    def version(self) -> str | None:
        """The first line of what its version command prints."""
        return self.program.version()


def read(name: str, table: Table) -> CommandAgent:
    """The agent of an `[agents.NAME]` table with `adapter = "command"`."""
    program = read_program(table, prompt=True)
    resume = command_of(table, "resume_command", (PROMPT, *PLACES))
    for key, words in (("command", program.command), ("resume_command", resume)):
        if words and not any(has_place(text, PROMPT) for text in (*words, *program.env.values())):
            table.fail(key, "the prompt reaches the agent nowhere", "write {prompt} where it belongs")
    return CommandAgent(
        name=name,
        program=program,
        resume_command=resume,
        events=read_line_paths(table),
        exit_codes=_exit_codes(table),
        stdout_contains=table.maybe_text("stdout_contains"),
    )


def _exit_codes(table: Table) -> tuple[int, ...] | None:
    if table.flag("ignore_exit_code"):
        return None
    codes: list[object] = table.take("exit_codes", list, [0]) or []
    numbers = tuple(code for code in codes if isinstance(code, int) and not isinstance(code, bool))
    if len(numbers) != len(codes):
        table.fail("exit_codes", "expected a list of whole numbers", "for example: exit_codes = [0]")
    return numbers
