"""The report of `cover`, as a value that all formats are rendered from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.text.instructions import InstructionKind, PromptPiece
from demeanor.core.values.exit_code import ExitCode
from demeanor.render import ReportDocument

FOLDER = "cover"
"""The folder of these runs, below that of all results."""


REPORT = "cover.json"
"""The file of the report, in the folder of a run."""


CoverOperator: TypeAlias = Literal["remove", "negate", "shorten", "swap"]


DEEDS: Mapping[CoverOperator, str] = {
    "remove": "removed",
    "negate": "negated (by fixed rules) instead of removed",
    "shorten": "shortened to its first sentence or clause instead of removed; others were not tried",
    "swap": "swapped with the next one instead of removed: the first with the second, the third with the fourth, …",
}


InstructionAnswer: TypeAlias = Literal["held", "not held", "redundant", "harmful", "not tried"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticedBy:
    """An eval whose pass rate changes without an instruction."""

    eval: str
    """The eval."""

    change: Literal["drop", "rise", "same"]
    """Whether its rate falls or rises."""

    before_passed: int
    """Trials that passed with the prompt as it is."""

    before_judged: int
    """Trials that passed or failed with the prompt as it is."""

    after_passed: int
    """Trials that passed without the instruction."""

    after_judged: int
    """Trials that passed or failed without the instruction."""

    doubt: float
    """The probability of a false alarm is at most this, for a rate that has not changed."""

    together: tuple[str, ...] = ()
    """The other instructions that were removed with it, by id; empty if it was removed alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CoveredInstruction:
    """One instruction of the prompt, and what the evals say about it."""

    id: str
    """Its id, as `demeanor trace --prompt` prints it."""

    kind: InstructionKind
    """What it is."""

    place: str
    """`system`, the name of a tool, or `tool.parameter`."""

    text: str
    """Its text. Hostile: an agent sent it."""

    file: str | None
    """The tracked file that contains it; None if none does."""

    line: int | None
    """Its first line in the file."""

    answer: InstructionAnswer
    """Whether an eval notices that it is missing."""

    noticed_by: tuple[NoticedBy, ...] = ()
    """The evals that notice it."""

    untried: tuple[str, ...] = ()
    """The evals that might still notice it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CoveringEval:
    """An eval, and what it could notice."""

    eval: str
    """The eval."""

    passed: int
    """Trials that passed with the prompt as it is."""

    judged: int
    """Trials that passed or failed with the prompt as it is."""

    source: Literal["history", "measured"]
    """Where these trials are from: the nights, or this command."""

    notices_below: float | None
    """It notices a pass rate of at most this, as often as promised; None if it can't notice a drop."""

    notices_above: float | None
    """It notices a pass rate of at least this; None if it can't notice a rise."""

    instructions: int
    """The instructions that its agent sends."""

    unusable: str | None
    """Why it can't answer; None if it can."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """How many instructions are held by an eval."""

    held: int
    """Instructions that an eval holds."""

    tried: int
    """Instructions with an answer."""

    instructions: int
    """Instructions that were to be tried."""

    rate: float | None
    """The share of the tried instructions that are held; None if none was tried."""

    low: float | None
    """The lower end of the 95 % interval of the true share of all instructions."""

    high: float | None
    """The upper end of the interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CoverReport:
    """Which instructions of a prompt could be deleted without any eval noticing."""

    subject: str
    """The subject, as `agent:model`."""

    run: str
    """The run that contains the trials."""

    folder: str
    """Its folder."""

    coverage: Coverage
    """The total."""

    min_coverage: float | None
    """The required coverage; None if none is required."""

    complete: bool
    """Whether every instruction has an answer that no further trial would change."""

    exit_code: ExitCode
    """The exit code of the command."""

    operator: CoverOperator
    """What was done to instructions."""

    drop: float
    """The change of a pass rate that must be noticed."""

    sure: float
    """The probability to notice it."""

    false_alarm: float
    """The accepted probability to report an instruction that changes nothing, for each that is tried alone."""

    since: str | None
    """Only instructions that changed since this revision were tried; None if all were."""

    instructions: tuple[CoveredInstruction, ...]
    """The instructions, in the order of the prompt."""

    prompt: tuple[PromptPiece, ...]
    """The prompt and the tools as a whole, as the first eval sends them. Hostile text."""

    evals: tuple[CoveringEval, ...]
    """The evals, in the order in which they were asked."""

    trials: int
    """Trials of this run, including void ones."""

    voided: int
    """Void trials of this run."""

    reused: int
    """Trials of earlier runs that were used."""

    cost_usd: float | None
    """The cost of the trials of this run, as far as known."""

    notes: tuple[str, ...] = ()
    """Warnings and remarks."""


COVER_DOCUMENT = ReportDocument("cover", CoverReport)
"""The JSON document of this report."""
