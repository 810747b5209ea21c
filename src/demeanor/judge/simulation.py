"""Rehearsals: a small function plays the agent, and the eval judges it, without a model.

def good(stage: Stage) -> None:
    (stage.workspace / "notes.txt").write_text("buy milk\\n")
    stage.call("write_file", path="notes.txt", content="buy milk\\n")
    stage.say("Saved.")
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from demeanor.core.text.codec import encode
from demeanor.core.text.globs import matches
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.trees.tree import Tree
from demeanor.core.values.eval import Eval, Rehearsal
from demeanor.core.values.evidence import Evidence, Spent
from demeanor.core.values.mcp_fixture import Fixture, shown_arguments
from demeanor.core.values.ports import CommandResult
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.steering import Steering
from demeanor.core.values.trajectory import (
    Aside,
    Asked,
    Called,
    Event,
    Faulted,
    Permission,
    Said,
    Steered,
    Trajectory,
    kind_of,
)
from demeanor.core.values.user import ScriptedUser, UserTurn, scripted_reply, user_said
from demeanor.judge.rig import Rig

LayOut: TypeAlias = Callable[[Scenario, Path], Tree]
"""Creates the starting workspace in an empty folder and returns its content."""

ReadBack: TypeAlias = Callable[[Path], Tree]
"""The content of a folder."""


class Stage:
    """What a function uses to play the agent."""

    def __init__(
        self,
        workspace: Path,
        scenario: Scenario,
        so_far: Callable[[Stage], Any] | None = None,
        home: Path | None = None,
    ) -> None:
        """`so_far` makes the rig that the function of a user gets."""
        self.workspace = workspace
        """The folder to change."""
        self.home = home or workspace.parent / "home"
        """The agent's HOME, with the eval's `home_files`."""
        self._then = [ProcessEnd(exit_code=0) for _ in scenario.then]
        self._told = 0
        self.prompts = scenario.prompts
        """What the agent is asked, turn by turn."""
        self._user = scenario.user
        self._user_used: dict[str, dict[int, int]] = {"replies": {}, "answers": {}}
        self._turns: list[UserTurn] = []
        self._so_far = so_far
        self._steering = Steering(encode(scenario.steer))
        self._due: list[dict[str, Any]] = []
        self._mcp = scenario.mcp
        self._used: dict[str, dict[int, int]] = {}
        self._events: list[Event] = []
        self._turn = 0
        self._together = False
        self._exit_code = 0
        self._spent = Spent(input_tokens=0, output_tokens=0, cost_usd=0.0)

    @property
    def prompt(self) -> str:
        """What the agent is asked first."""
        return self.prompts[0]

    def call(
        self,
        tool: str,
        /,
        *,
        result: str | None = None,
        succeeded: bool | None = True,
        permission: Permission = "unasked",
        sub_agent: int = 0,
        **arguments: Any,
    ) -> None:
        """Record a tool call. The tool does nothing: change the workspace yourself.

        With `permission`, the agent asks first and is answered `allow` or `deny`. With `sub_agent`, the number that
        `Stage.sub_agent` returned, a sub-agent makes the call. `github.search` is the tool `search` of the eval's MCP
        server `github`; without `result`, its fixture replies.
        """
        mcp = tool if tool.partition(".")[0] in self._mcp else ""
        if mcp and result is None:
            result, succeeded = self._reply(tool, arguments)
        if not sub_agent:
            self._next_turn()
        if permission != "unasked":
            self._ask(tool, permission, arguments)
        number = len(self._events) + 1
        event = Called(
            turn=self._turn,
            id=f"call-{number}",
            tool=tool,
            kind=kind_of(tool),
            arguments=arguments,
            result=result or "",
            succeeded=succeeded,
            mcp=mcp,
            permission=permission,
            by_sub_agent=bool(sub_agent),
            sub_agent=sub_agent,
        )
        self._events.append(event)
        if not sub_agent:
            self._steering.called(tool, event.kind)

    def steered(self) -> str | None:
        """What the user says while the agent works, by the eval's `steer`, after what was played so far; None if there
        is nothing. An interruption without a message is an empty text."""
        waiting = self._due or self._steering.due()
        if not waiting:
            return None
        message, *self._due = waiting
        delivery: Literal["hint", "interrupt"] = "interrupt" if message.get("interrupt") else "hint"
        text = str(message.get("say", ""))
        self._events.append(
            Steered(turn=self._turn, text=text, after=str(message.get("after", "call")), delivery=delivery)
        )
        return text

    def _reply(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """The reply of a fixture, and whether the tool succeeded."""
        server, _, tool = name.partition(".")
        fixture = self._mcp[server]
        if not isinstance(fixture, Fixture):
            raise TypeError(f"{name}: {server} is a real server; give the `result` of the call")
        tool_fixture = fixture.tools.get(tool)
        reply = tool_fixture.reply(arguments, self._used.setdefault(name, {})) if tool_fixture else None
        if reply is None:
            raise ValueError(f"the fixture {server} has no reply to {tool}({shown_arguments(arguments)})")
        return reply.filled(arguments), not reply.error

    def _ask(self, tool: str, answer: Literal["allow", "deny"], arguments: Mapping[str, Any]) -> None:
        call = f"call-{len(self._events) + 2}"
        asked = Asked(turn=self._turn, id=call, tool=tool, kind=kind_of(tool), answer=answer, arguments=arguments)
        self._events.append(asked)

    def say(self, text: str) -> None:
        """Write a message to the user; the last one is the final text."""
        self._next_turn()
        self._events.append(Said(turn=self._turn, text=text))

    def reply(self, text: str | None = None) -> str | None:
        """End the agent's turn, and hear what the user says next; None if the conversation is over.

        Rules and functions of the eval's user reply. For a simulated user, which is not asked in a rehearsal, `text` is
        what it says; None ends the conversation.
        """
        user = self._user
        if user is None:
            raise ValueError("the eval has no user")
        to = next((event.text for event in reversed(self._events) if isinstance(event, Said)), "")
        said = text
        if len(user_said(self._turns)) >= user.max_turns:
            said = None
        elif isinstance(user, ScriptedUser):
            if text is not None:
                raise ValueError("the user of the eval replies by itself; call reply() without a text")
            said = self._scripted(user, to)
        self._turns.append(UserTurn(to=to, said=said, reason="" if said else "the user has nothing more to say"))
        return said

    def _scripted(self, user: ScriptedUser, to: str) -> str | None:
        if user.reply is None:
            return scripted_reply(user.replies, to, self._user_used["replies"])
        return user.reply(self._so_far(self) if self._so_far else None)

    def ask_user(self, question: str, *options: str, answer: str | None = None) -> str | None:
        """Ask the user a question within a turn; the eval's `answers` decide, else `answer` is what they say."""
        user = self._user
        if user is None:
            raise ValueError("the eval has no user")
        said = scripted_reply(user.answers, question, self._user_used["answers"])
        said = answer if said is None else said
        if said is None and user.answers:
            raise ValueError(f"the user has no answer to {question!r}")
        self._turns.append(UserTurn(to=question, kind="answer", options=options, said=said))
        return said

    def sub_agent(self, prompt: str, *, says: str = "") -> int:
        """Start a sub-agent, whose last message is `says`; its number is returned. The last call started it."""
        number = 1 + max((event.sub_agent for event in self._events if isinstance(event, Aside)), default=0)
        caller = next((event.id for event in reversed(self._events) if isinstance(event, Called)), "")
        aside = Aside(turn=self._turn, purpose="sub-agent", said=says, sub_agent=number)
        self._events.append(replace(aside, prompt=prompt, started_by=caller))
        return number

    def fault(self, kind: str) -> None:
        """Record an injected fault, as `rig.faults` shows it."""
        self._events.append(Faulted(turn=self._turn + 1, kind=kind, detail=f"{kind}: played in a rehearsal"))

    @contextmanager
    def one_turn(self) -> Iterator[None]:
        """Group messages and calls into one model answer."""
        self._next_turn()
        self._together = True
        try:
            yield
        finally:
            self._together = False

    def exit(self, code: int) -> None:
        """Set the exit code of the agent's process; 0 by default."""
        self._exit_code = code

    def then(self, *, exit_code: int = 0, stdout: str = "", stderr: str = "") -> None:
        """Set the result of the next command of `then`; by default they succeed and print nothing."""
        if self._told == len(self._then):
            raise ValueError(f"the eval has {len(self._then)} commands in `then`")
        streams = [Output(text=text, total_bytes=len(text.encode())) for text in (stdout, stderr)]
        self._then[self._told] = ProcessEnd(exit_code=exit_code, stdout=streams[0], stderr=streams[1])
        self._told += 1

    def spend(self, *, tokens: int = 0, cost_usd: float = 0.0, seconds: float = 0.0) -> None:
        """Use tokens, money or time."""
        self._spent = Spent(
            input_tokens=0,
            output_tokens=(self._spent.output_tokens or 0) + tokens,
            cost_usd=(self._spent.cost_usd or 0.0) + cost_usd,
            seconds=self._spent.seconds + seconds,
        )

    def evidence(
        self, trial: str, before: Tree, after: Tree, *, home_before: Tree | None = None, home_after: Tree | None = None
    ) -> Evidence:
        """The evidence of what was played."""
        trajectory = Trajectory(events=tuple(self._events), requests_told=True, servers=tuple(self._mcp))
        text = trajectory.final_text
        end = ProcessEnd(exit_code=self._exit_code, stdout=Output(text=text, total_bytes=len(text.encode())))
        return Evidence(
            trial=trial,
            trajectory=trajectory,
            before=before,
            after=after,
            ends=(end,),
            prompts=(*self.prompts, *user_said(self._turns)),
            user=tuple(self._turns),
            then=() if self._exit_code else tuple(self._then),
            home_before=home_before or Tree(),
            home_after=home_after,
            spent=replace(self._spent, turns=self._turn),
            misdeed=f"the agent exited with {self._exit_code}" if self._exit_code else None,
        )

    def _next_turn(self) -> None:
        if not self._together:
            self._turn += 1
            self._steering.answered()


def _rig(evidence: Evidence) -> Rig:
    """The rig for the function of a user."""

    def run_command(tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        raise RuntimeError("the function of a user can't run commands in a rehearsal")

    return Rig(evidence, run_command)


def does_nothing(stage: Stage) -> None:
    """An agent that ends at once."""


def rehearse(eval: Eval, behaviour: Rehearsal, *, lay_out: LayOut, read_back: ReadBack) -> Evidence:  # noqa: A002
    """The evidence of playing `behaviour` in a fresh workspace of the eval."""
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        before = _in_memory(lay_out(eval.scenario, workspace))
        home = Path(folder) / "home"
        home.mkdir()
        write_files(home, eval.scenario.home_files)
        home_before = _in_memory(read_back(home))
        name = f"{eval.name}/rehearsal/{getattr(behaviour, '__name__', 'behaviour')}"
        stage = Stage(
            workspace, eval.scenario, lambda now: _rig(now.evidence(name, before, read_back(workspace))), home
        )
        play: Callable[[Stage], object] = behaviour  # authors' functions return anything
        returned = play(stage)
        if isinstance(returned, Generator | AsyncGenerator | Coroutine):
            raise TypeError(f"the behaviour returned a {type(returned).__name__}, so nothing in it was run")
        after = _in_memory(read_back(workspace))
        if not eval.scenario.keep_home:
            return stage.evidence(name, before, after)
        kept = [_kept(tree, eval.scenario) for tree in (home_before, _in_memory(read_back(home)))]
        return stage.evidence(name, before, after, home_before=kept[0], home_after=kept[1])


@contextmanager
def template_copies(scenario: Scenario, lay_out: LayOut) -> Iterator[LayOut]:
    """Create the workspace once, and provide copies of it, which is much faster than creating each."""
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
        start = Path(folder) / "start"
        start.mkdir()
        tree = _in_memory(lay_out(scenario, start))

        def copied(_: Scenario, workspace: Path) -> Tree:
            shutil.copytree(start, workspace, symlinks=True, dirs_exist_ok=True)
            return tree

        yield copied


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, with the folders they are in."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def _kept(home: Tree, scenario: Scenario) -> Tree:
    kept = {
        path: entry
        for path, entry in home.entries.items()
        if any(matches(path, pattern) for pattern in scenario.keep_home)
    }
    return replace(home, entries=kept)


def _in_memory(tree: Tree) -> Tree:
    """The same tree with all contents in memory, since the folder will change and be deleted."""
    entries = {path: replace(entry, content=entry.read()) for path, entry in tree.entries.items()}
    return replace(tree, entries=entries)
