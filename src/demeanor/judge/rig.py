"""The rig: what an author's check sees. The evidence of one trial, read-only, with helpers to ask it questions.

    rig.workspace["notes.txt"].text     what the agent left behind
    rig.calls.of_kind("edit").count()   what it did
    rig.final_text                      what it said last

What the evidence can't tell is never guessed: the question raises Unknowable, and the trial becomes void.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from demeanor.core.evidence import Evidence
from demeanor.core.ports import RunCommand
from demeanor.core.trajectory import Asked, Faulted, Said, Trajectory
from demeanor.judge.calls_view import Calls
from demeanor.judge.unknowable import LowerBound, unknowable
from demeanor.judge.workspace_view import WorkspaceView


class Rig:
    """The evidence of one trial, to be asked."""

    def __init__(self, evidence: Evidence, run_command: RunCommand) -> None:
        self._evidence = evidence
        self._run_command = run_command

    @cached_property
    def workspace(self) -> WorkspaceView:
        """The folder the agent worked in: files, changes since the start, git, commands in a copy of it."""
        return WorkspaceView(self._evidence.before, self._evidence.after, self._run_command)

    @cached_property
    def calls(self) -> Calls:
        """The tool calls, in order."""
        return Calls(self.trajectory.calls, gaps=self.trajectory.gaps)

    @property
    def said(self) -> tuple[str, ...]:
        """Everything the agent said to its user, in order."""
        return tuple(event.text for event in self.trajectory.events if isinstance(event, Said))

    @property
    def final_text(self) -> str:
        """The last thing the agent said; where nobody heard it say anything, what its last program printed."""
        return self.trajectory.final_text or (
            self._evidence.ends[-1].stdout.text.strip() if self._evidence.ends else ""
        )

    @property
    def exit_code(self) -> int | None:
        """The exit code of the agent's last program; None where a signal ended it or where none ran."""
        return self._evidence.ends[-1].exit_code if self._evidence.ends else None

    @property
    def stdout(self) -> str:
        """What the agent's programs printed."""
        return "".join(end.stdout.text for end in self._evidence.ends)

    @property
    def stderr(self) -> str:
        """What the agent's programs printed as errors."""
        return "".join(end.stderr.text for end in self._evidence.ends)

    @property
    def turns(self) -> int:
        """How many answers the model gave; where some may not have been seen, as careful as `calls.count()`."""
        gaps = self.trajectory.gaps
        return LowerBound(self._evidence.spent.turns, gaps) if gaps else self._evidence.spent.turns

    @property
    def tokens(self) -> int | None:
        """Tokens in both directions; None where nobody counted them."""
        return self._evidence.spent.tokens

    @property
    def cost_usd(self) -> float | None:
        """What the model cost; None where no price is known."""
        return self._evidence.spent.cost_usd

    @property
    def seconds(self) -> float:
        """How long the agent took."""
        return self._evidence.spent.seconds

    @property
    def subject(self) -> str:
        """Who was tried, as `agent:model`."""
        return self._evidence.trial.partition("/")[2].rpartition("/")[0]

    @property
    def asked(self) -> str:
        """System prompt and tools as the agent first sent them; paths, dates and ids that vary are taken out."""
        if self._evidence.asked is None:
            raise unknowable("what the agent told its model", ("nothing came through the gateway",))
        return self._evidence.asked

    @property
    def trajectory(self) -> Trajectory:
        """Everything that happened, event by event."""
        return self._evidence.trajectory

    @property
    def faults(self) -> tuple[Faulted, ...]:
        """The faults that Demeanor injected into the model's answers, in order, each with its `kind` and `turn`."""
        return tuple(event for event in self.trajectory.events if isinstance(event, Faulted))

    @property
    def permissions(self) -> tuple[Asked, ...]:
        """The requests for permission that the agent made, in order, each with `tool`, `kind`, `arguments`, `answer`.

        Where the agent does not tell of its requests, nobody can know; `rig.calls.unasked()` asks call by call.
        """
        if not self.trajectory.requests_told:
            raise unknowable("what the agent asked permission for", ("it does not tell of its requests",))
        return tuple(event for event in self.trajectory.events if isinstance(event, Asked))

    @property
    def rewards(self) -> Mapping[str, float] | None:
        """What the verifier of a Harbor task gave, by key; None where it gave nothing, or where there is none."""
        return self._evidence.rewards

    @property
    def step_rewards(self) -> Mapping[str, Mapping[str, float]]:
        """What it gave for each step, of a task with several."""
        return self._evidence.step_rewards

    @property
    def verifier_said(self) -> str:
        """The end of what the verifier of a Harbor task printed."""
        return self._evidence.verifier_said

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the trial."""
        return self._evidence.notes

    def __repr__(self) -> str:
        return f"<rig of {self._evidence.trial}>"
