"""The rig: what an author's check sees. The evidence of one trial, read-only, with helper methods.

    rig.workspace["notes.txt"].text     what the agent wrote
    rig.calls.of_kind("edit").count()   what it did
    rig.final_text                      its last message
    rig.main, rig.sub_agents            who did it
    rig.user.replies                    what its user said

Nothing is guessed: if the evidence is insufficient, a question raises Unknowable and the trial is void.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from demeanor.core.values.evidence import Evidence
from demeanor.core.values.ports import CommandResult, RunCommand
from demeanor.core.values.trajectory import Asked, Faulted, Said, Steered, Trajectory
from demeanor.core.values.user import UserTurn, user_said
from demeanor.judge.agents_view import MainAgent, SubAgents
from demeanor.judge.call_context import CallContext
from demeanor.judge.call_matching import same_path
from demeanor.judge.calls_view import Calls
from demeanor.judge.opinion import DEFAULT_EVIDENCE, JudgeAccess, Opinion, Shown, ask_judge
from demeanor.judge.unfinished import UnfinishedText
from demeanor.judge.unknowable import UncertainCount, unknowable
from demeanor.judge.workspace_view import WorkspaceView


class Rig:
    """The evidence of one trial."""

    def __init__(self, evidence: Evidence, run_command: RunCommand, judge: JudgeAccess | None = None) -> None:
        self._evidence = evidence
        self._judge = judge or JudgeAccess()
        self._run_command = run_command
        self._opinions: list[Opinion] = []

    def _needs_the_end(self, what: str) -> None:
        """What an unfinished trial ended with says nothing: more could have followed."""
        if self._evidence.unfinished:
            raise unknowable(f"{what} at the end", (self._evidence.unfinished,))

    @cached_property
    def workspace(self) -> WorkspaceView:
        """The folder the agent worked in: files, changes since the start, git, commands in a copy of it."""
        self._needs_the_end("the workspace")
        return WorkspaceView(self._evidence.before, self._evidence.after, self._run_command)

    @cached_property
    def home(self) -> WorkspaceView:
        """The files of the agent's HOME that `keep_home` names: as `workspace`, at the start and at the end."""
        self._needs_the_end("the kept files of HOME")
        after = self._evidence.home_after
        if after is None:
            raise LookupError("no file of HOME was kept: name those that the check reads, as keep_home=['.agent/**']")
        return WorkspaceView(self._evidence.home_before, after, self._run_command, place="the kept files of HOME")

    @cached_property
    def then(self) -> tuple[CommandResult, ...]:
        """The results of the commands of `then`: `exit_code`, `stdout` and `stderr`. Empty if the agent failed."""
        self._needs_the_end("the commands after the agent")
        return tuple(
            CommandResult(
                exit_code=end.exit_code if end.exit_code is not None else -(end.signal or 0),
                stdout=end.stdout.text,
                stderr=end.stderr.text,
                timed_out=end.ended_by != "exit",
            )
            for end in self._evidence.then
        )

    @cached_property
    def calls(self) -> Calls:
        """The tool calls, in order."""
        calls = self._evidence.trajectory.calls
        files = frozenset(self._evidence.before.entries)
        order = {id(call): index for index, call in enumerate(calls)}
        context = CallContext(
            order,
            tools=self._evidence.trajectory.tools,
            servers=frozenset(self._evidence.trajectory.servers),
            existed=lambda path: _is_in(path, files),
        )
        return Calls(
            calls, gaps=(*self._evidence.trajectory.gaps, *self._evidence.trajectory.call_gaps), context=context
        )

    @cached_property
    def main(self) -> MainAgent:
        """The agent itself, without its sub-agents: `calls`, `said`, `final_text`, `turns`."""
        return MainAgent(calls=self.calls.by_main(), said=self.said, final_text=self.final_text, turns=self.turns)

    @cached_property
    def sub_agents(self) -> SubAgents:
        """Its sub-agents, each with `prompt`, `started_by`, `calls`, `said`, `final_text` and `turns`."""
        return SubAgents(self._evidence.trajectory, self.calls)

    @property
    def said(self) -> tuple[str, ...]:
        """The agent's messages to its user, in order, without those of sub-agents."""
        self._needs_the_end("what the agent said")
        return tuple(event.text for event in self._evidence.trajectory.events if isinstance(event, Said))

    @property
    def final_text(self) -> str:
        """The agent's last message: the result that its own log names, or else its last message to the user.

        If there is none, the output of its last program, unless that is a log of events.
        """
        self._needs_the_end("the final text")
        printed = "" if self._evidence.prints_events or not self._evidence.ends else self._evidence.ends[-1].stdout.text
        return self._evidence.trajectory.final_text or printed.strip()

    @property
    def exit_code(self) -> int | None:
        """The exit code of the agent's last program; None if a signal killed it or none ran."""
        self._needs_the_end("the exit code")
        return self._evidence.ends[-1].exit_code if self._evidence.ends else None

    @property
    def stdout(self) -> str:
        """The standard output of the agent's programs."""
        self._needs_the_end("the output")
        return "".join(end.stdout.text for end in self._evidence.ends)

    @property
    def stderr(self) -> str:
        """The standard error of the agent's programs."""
        self._needs_the_end("the error output")
        return "".join(end.stderr.text for end in self._evidence.ends)

    @property
    def turns(self) -> int:
        """The number of model answers to the agent itself; a lower bound like `calls.count()` if some may be missing.

        Answers to sub-agents are counted in `sub_agents`.
        """
        gaps = self._evidence.trajectory.gaps
        return UncertainCount(self._evidence.spent.turns, gaps) if gaps else self._evidence.spent.turns

    @property
    def tokens(self) -> int | None:
        """Tokens in both directions; None if they were not counted."""
        return self._evidence.spent.tokens

    @property
    def cost_usd(self) -> float | None:
        """The cost of the model; None if no price is known."""
        return self._evidence.spent.cost_usd

    @property
    def seconds(self) -> float:
        """How long the agent took."""
        return self._evidence.spent.seconds

    @property
    def subject(self) -> str:
        """The subject under test, as `agent:model`."""
        return self._evidence.trial.partition("/")[2].rpartition("/")[0]

    @property
    def asked(self) -> str:
        """System prompt and tools as first sent, with placeholders for paths, dates and ids that vary."""
        if self._evidence.asked is None:
            raise unknowable("the agent's prompt", ("the gateway recorded no exchanges",))
        return self._evidence.asked

    @property
    def trajectory(self) -> Trajectory:
        """All events, in order."""
        self._needs_the_end("all events")
        return self._evidence.trajectory

    @cached_property
    def user(self) -> UserView:
        """The user of the trial: `said`, `replies`, `questions` and `ended`."""
        self._needs_the_end("all that the user said")
        replies = len(user_said(self._evidence.user))
        prompts = self._evidence.prompts
        return UserView(prompts[: len(prompts) - replies], self._evidence.user)

    @property
    def faults(self) -> tuple[Faulted, ...]:
        """The faults that Demeanor injected into the model's answers, in order, each with its `kind` and `turn`."""
        self._needs_the_end("all faults")
        return tuple(event for event in self._evidence.trajectory.events if isinstance(event, Faulted))

    @property
    def steered(self) -> tuple[Steered, ...]:
        """What the user said while the agent worked, in order, each with its `text`, `turn`, `after` and `delivery`."""
        self._needs_the_end("all that the user said while it worked")
        return tuple(event for event in self._evidence.trajectory.events if isinstance(event, Steered))

    @property
    def permissions(self) -> tuple[Asked, ...]:
        """The agent's requests for permission, in order, each with `tool`, `kind`, `arguments`, `answer`.

        Raises Unknowable if the agent does not report its requests; `rig.calls.unasked()` decides call by call.
        """
        if not self._evidence.trajectory.requests_told:
            raise unknowable("what the agent asked permission for", ("it does not report its requests",))
        return tuple(event for event in self._evidence.trajectory.events if isinstance(event, Asked))

    @property
    def rewards(self) -> Mapping[str, float] | None:
        """The rewards of a Harbor task's verifier, by key; None without a verifier or a reward."""
        return self._evidence.rewards

    @property
    def step_rewards(self) -> Mapping[str, Mapping[str, float]]:
        """The rewards of each step, for a task with several steps."""
        return self._evidence.step_rewards

    @property
    def verifier_said(self) -> str:
        """The last lines of the verifier's output."""
        return self._evidence.verifier_said

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the trial."""
        return self._evidence.notes

    def judge(
        self,
        question: str,
        *,
        rubric: str = "",
        model: str | None = None,
        votes: int = 1,
        evidence: Shown = DEFAULT_EVIDENCE,
    ) -> Opinion:
        """Ask a model about the evidence: `assert rig.judge("The answer asks before it deletes")`.

        `rubric` says how to decide, `model` which model to ask (default: that of `[judge]`), `votes` how many times:
        the majority decides. `evidence` is what the model is shown: `prompt`, `final_text`, `said`, `trajectory`,
        `diff`, or texts of your own by title. If the model fails, refuses or can't tell, the trial is void.
        """
        opinion = ask_judge(
            self, self._judge, question=question, rubric=rubric, model=model, votes=votes, evidence=evidence
        )
        self._opinions.append(opinion)
        return opinion

    def __repr__(self) -> str:
        return f"<rig of {self._evidence.trial}>"


def result_of(rig: Rig) -> str | UnfinishedText:
    """What a check gets as its `result`: the final text."""
    return UnfinishedText(rig._evidence.unfinished) if rig._evidence.unfinished else rig.final_text


def unused_opinion(rig: Rig) -> Opinion | None:
    """An answer of the judge that the check did not look at."""
    return next((opinion for opinion in rig._opinions if not opinion.used), None)


def _is_in(path: str, files: frozenset[str]) -> bool:
    """Whether a path, as an agent writes it, is one of these files."""
    return path in files or any(same_path(path, file) for file in files)


@dataclass(frozen=True, kw_only=True, slots=True)
class UserQuestion:
    """A question that the agent asked its user within a turn."""

    text: str
    """The question."""

    options: tuple[str, ...] = ()
    """The answers that the agent offered."""

    answer: str | None = None
    """The user's answer; None if they did not answer."""


class UserView:
    """The user of a trial."""

    def __init__(self, prompts: Sequence[str], turns: Sequence[UserTurn]) -> None:
        self.said: tuple[str, ...] = (*prompts, *user_said(turns))
        """Everything that the user said, in order, the eval's prompts first."""
        self.replies: tuple[str, ...] = user_said(turns)
        """What the user replied after the agent's turns."""
        self.questions: tuple[UserQuestion, ...] = tuple(
            UserQuestion(text=turn.to, options=turn.options, answer=turn.said)
            for turn in turns
            if turn.kind == "answer"
        )
        """The questions that the agent asked within its turns, with the answers."""
        self.ended: str = next((turn.reason for turn in turns if turn.kind == "reply" and turn.said is None), "")
        """Why the conversation ended; empty if the user had not been asked for another message."""

    def __repr__(self) -> str:
        return f"<user: {len(self.replies)} replies, {len(self.questions)} questions>"
