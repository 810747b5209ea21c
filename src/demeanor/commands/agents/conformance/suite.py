"""Run the conformance suite with one agent, and judge each ability."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from demeanor.cli import make_ui
from demeanor.commands.agents.conformance.model import SLEEP
from demeanor.config import Config
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.agent import Ability, Agent, start_seconds
from demeanor.core.values.errors import UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.progress import AttemptJudged, Progress
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trajectory import Called, Event
from demeanor.core.values.trial import trial_seed
from demeanor.core.values.verdict import Pass, Void, VoidCause
from demeanor.define import discover
from demeanor.gateway.cassette import mask_volatile
from demeanor.runner import Catalog, execute, plan_evals, prepare
from demeanor.store.runs import RunFolder

State: TypeAlias = Literal["shown", "declared", "failed", "unknown"]

MODEL = "conformance"
_HERE = Path(__file__).parent
DEFAULT_JOBS = 3
DEFAULT_TIMEOUT = 60.0
"""Seconds for an ordinary trial of the suite; the limits of the others are in proportion to it."""
_ATTEMPT_DIR = re.compile(r"[^\s'\"`]*/demeanor-[0-9a-f-]+/[0-9]+(?=/)")
"""The folder of an attempt, which occurs in tool calls and results."""
_DERIVED = {
    Ability.REPLAY: "Can be replayed from a cassette, without a live exchange.",
    Ability.QUIET: "Needs no network access except to its model.",
}
_REPLAYED = (Ability.CREATE, Ability.EDIT, Ability.PARALLEL, Ability.TURNS)
_MAY_BE_VOID: Mapping[Ability, tuple[VoidCause, ...]] = {
    Ability.OUTAGE: (VoidCause.PROVIDER,),
    Ability.HANG: (VoidCause.STALLED,),
    Ability.CUT: (VoidCause.PROVIDER,),
}
"""If the provider fails for good, the trial says nothing about the agent, so it must be void."""
_MUST_BE_VOID = (Ability.OUTAGE, Ability.HANG)
_NO_TOOL = "no tool on offer"
"""What the model says if the agent offers it no tool for an ability; then there is nothing to test."""
_MORE_TIME = 4
"""How much longer an agent gets that was stopped before its first request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AbilityResult:
    """The result for one ability."""

    ability: Ability
    """The ability."""

    state: State
    """`shown`; `declared` as missing by the adapter; `failed`; or `unknown` if it can't be tested here."""

    meaning: str
    """A description of the ability."""

    detail: str = ""
    """Why it is not shown."""

    seconds: float = 0.0
    """How long the agent took."""


def check(
    config: Config,
    agent_name: str,
    environ: Mapping[str, str],
    log: Callable[[str], None],
    only: Sequence[Ability] = (),
    *,
    timeout: float = DEFAULT_TIMEOUT,
    jobs: int = DEFAULT_JOBS,
) -> tuple[AbilityResult, ...]:
    """Run the suite, or only some abilities of it, with one agent."""
    script = {"script": str(_HERE / "model.py")}
    config = replace(
        config, models={**config.models, MODEL: script}, trials=1, attempts=1, faults=(), budgets={}, jobs=jobs
    )
    catalog = Catalog(config=config, environ=environ)
    agent = catalog.agent(agent_name)
    if missing := agent.missing():
        raise UsageError(missing.replace("; ", "\n  → ", 1))
    if agent.dialect is None:
        raise UsageError(
            f"{agent_name} does not use a model through the gateway, so the suite can't run with it\n"
            f"  → set `dialect` and `base_url_env` of [agents.{agent_name}]: demeanor help test-your-agent"
        )
    starting = start_seconds(agent) if timeout == DEFAULT_TIMEOUT else 0.0
    evals = [
        _longer(eval_, timeout / DEFAULT_TIMEOUT, starting) for eval_ in discover([str(_HERE / "eval_conformance.py")])
    ]
    meanings = {Ability(eval_.name): eval_.description for eval_ in evals} | _DERIVED
    abilities = set(only or Ability)
    cannot = _cannot(agent)
    able = [eval_ for eval_ in evals if Ability(eval_.name) in abilities - cannot.keys()]
    able.sort(key=lambda eval_: Ability(eval_.name) not in _MUST_BE_VOID)  # the longest first: they mostly wait
    answers = {
        ability: AbilityResult(ability=ability, state="declared", meaning=meanings[ability], detail=why)
        for ability, why in cannot.items()
        if ability in abilities
    }
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as scratch:
        run = _SuiteRun(catalog=catalog, subject=f"{agent_name}:{MODEL}", folder=Path(scratch), log=log)
        records = run.record(able)
        records |= run.repeat(_with_more_time(able, records))
        for eval_ in able:
            ability = Ability(eval_.name)
            own = [record for record in records.values() if record.eval == eval_.name]
            answers[ability] = _judge(ability, own, meanings[ability], run.store.info().seed)
        if Ability.REPLAY in abilities - cannot.keys():
            answers[Ability.REPLAY] = run.replay([eval_ for eval_ in able if Ability(eval_.name) in _REPLAYED], records)
        if Ability.QUIET in abilities - cannot.keys():
            answers[Ability.QUIET] = _quiet(run.network, list(answers.values()))
    return tuple(answers[ability] for ability in Ability if ability in answers)


def _cannot(agent: Agent) -> dict[Ability, str]:
    """What the agent does not support, with what follows from it."""
    cannot = dict(agent.cannot)
    if Ability.DENY in cannot:
        cannot.setdefault(Ability.DENY_KIND, cannot[Ability.DENY])
    if "mcp_servers" not in (agent.params or ()):
        cannot.setdefault(Ability.MCP, "its adapter can't give it MCP servers")
    return cannot


def _with_more_time(evals: Sequence[Eval], records: Mapping[str, Record]) -> list[Eval]:
    """The evals of failing providers whose agent was stopped before its first request, with a longer time limit.

    Their limit is short, since the agent uses all of it; on a busy machine an agent may need longer to start.
    """
    unasked = {record.eval for record in records.values() if record.prompt_hash is None}
    return [
        _longer(eval_, _MORE_TIME) for eval_ in evals if Ability(eval_.name) in _MUST_BE_VOID and eval_.name in unasked
    ]


def _longer(eval_: Eval, factor: float, starting: float = 0.0) -> Eval:
    """The eval with a time limit that is `factor` times as long, and longer by the time of starting for each prompt.

    If the provider hangs, the agent uses all of its time, so that limit stays short.
    """
    extra = 0.0 if eval_.name == Ability.HANG else starting * len(eval_.scenario.prompts)
    return replace(eval_, scenario=replace(eval_.scenario, timeout=(eval_.scenario.timeout or 0) * factor + extra))


def _judge(ability: Ability, records: Sequence[Record], meaning: str, seed: int) -> AbilityResult:
    """Judge one ability by its trials; `seed` is that of their run."""
    problem = next(filter(None, (_problem(ability, record) for record in records)), None)
    if not problem and not records:
        problem = "no trial was run"
    if ability is Ability.CLEAN and (left := _left_behind(records, seed)):
        problem = f"left {', '.join(left)} running"
    if ability is Ability.TOGETHER and len({record.fingerprint for record in records}) > 1:
        problem = "its trials have different fingerprints: what it sends to its model differs from trial to trial"
    state: State = "failed" if problem else "shown"
    if problem and _NO_TOOL in problem:
        state = "unknown"
    return AbilityResult(
        ability=ability,
        state=state,
        meaning=meaning,
        detail=problem or "",
        seconds=max((record.spent.seconds for record in records), default=0.0),
    )


def _problem(ability: Ability, record: Record) -> str | None:
    verdict = record.verdict
    if isinstance(verdict, Void):
        if verdict.cause in _MAY_BE_VOID.get(ability, ()):
            return None
        return f"void ({verdict.cause}): {verdict.reason}"
    if ability in _MUST_BE_VOID and record.prompt_hash is None:
        return "it sent no request to its model within its time limit"
    if ability in _MUST_BE_VOID:
        return f"expected to be void, but it is a {verdict.outcome}"
    if not isinstance(verdict, Pass):
        return verdict.reason
    disagreement = next((note for note in record.notes if "agent's log" in note), None)
    return f"its own log and the wire disagree: {disagreement}" if disagreement else None


def _left_behind(records: Sequence[Record], seed: int) -> list[str]:
    """Return the processes of these trials that still run; other suites may run at the same time."""
    left, own = [], {f"{SLEEP}.{trial_seed(seed, record.trial)}".encode() for record in records}
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:  # the process has ended
            continue
        if own & {*words}:
            left.append(f"process {place.parent.name}")
    return left


def _quiet(network: str, answers: Sequence[AbilityResult]) -> AbilityResult:
    """Judge the network ability: the other abilities show it if only the gateway could be reached."""
    meaning = _DERIVED[Ability.QUIET]
    if network != "gateway":
        why = "the sandbox shares the host's network, so this can't be tested; use --sandbox bubblewrap"
        return AbilityResult(ability=Ability.QUIET, state="unknown", meaning=meaning, detail=why)
    if any(answer.state == "shown" for answer in answers):
        return AbilityResult(ability=Ability.QUIET, state="shown", meaning=meaning)
    return AbilityResult(
        ability=Ability.QUIET, state="failed", meaning=meaning, detail="nothing worked without a network"
    )


@dataclass(kw_only=True)
class _SuiteRun:
    """The runs of the suite."""

    catalog: Catalog
    subject: str
    folder: Path
    log: Callable[[str], None]
    network: str = ""

    def record(self, evals: Sequence[Eval]) -> dict[str, Record]:
        """Run evals and record cassettes."""
        self.store, records = self._run(self.catalog, evals, record=str(self.folder / "cassettes"))
        return records

    def repeat(self, evals: Sequence[Eval]) -> dict[str, Record]:
        """Run evals again, without recording."""
        return self._run(self.catalog, evals)[1] if evals else {}

    def replay(self, evals: Sequence[Eval], before: Mapping[str, Record]) -> AbilityResult:
        """Run evals again from their cassettes, and compare the results."""
        catalog = replace(self.catalog, replaying=True, made=dict(self.catalog.made))
        evals = [
            eval_ for eval_ in evals if all(_passed(record) for record in before.values() if record.eval == eval_.name)
        ]
        store, after = self._run(catalog, evals, replay=str(self.folder / "cassettes"))
        problem = next(self._differences(store, before, after), "" if after else "no trial could be replayed")
        return AbilityResult(
            ability=Ability.REPLAY,
            state="failed" if problem else "shown",
            meaning=_DERIVED[Ability.REPLAY],
            detail=problem,
            seconds=max((record.spent.seconds for record in after.values()), default=0.0),
        )

    def _differences(
        self, store: RunFolder, before: Mapping[str, Record], after: Mapping[str, Record]
    ) -> Iterator[str]:
        for trial, record in after.items():
            if record.verdict.outcome != before[trial].verdict.outcome:
                yield f"{record.eval}: {before[trial].verdict.outcome}, replayed: {record.verdict.outcome}: " + (
                    getattr(record.verdict, "reason", "")
                )
            elif _comparable(store.events(record)) != _comparable(self.store.events(before[trial])):
                yield f"{record.eval}: the trajectory differs from the recorded one"

    def _run(
        self, catalog: Catalog, evals: Sequence[Eval], *, record: str | None = None, replay: str | None = None
    ) -> tuple[RunFolder, dict[str, Record]]:
        request = RunRequest(subjects=(self.subject,), policy="all", record=record, replay=replay)
        plan = plan_evals(catalog, evals, request, catalog.environ)
        run = prepare(catalog, plan, request, self.folder / "results", in_history=False)
        result = execute(run, ui=make_ui(quiet=True, kept=False), watch=self._watch)
        if result.interrupted:
            raise KeyboardInterrupt
        self.network = run.context.sandbox.facts.get("network", "host")
        return run.folder, {record.trial: record for record in result.records if record.final}

    def _watch(self, news: Progress) -> None:
        if isinstance(news, AttemptJudged):
            record = news.record
            self.log(f"  {record.eval}: {record.verdict.outcome}, {record.spent.seconds:.1f} s")


def _passed(record: Record) -> bool:
    return isinstance(record.verdict, Pass)


def _comparable(events: Sequence[Event]) -> list[Event]:
    """Return the events without times, durations, paths and other values that differ from run to run."""
    return [replace(_without_volatile(event) if isinstance(event, Called) else event, at=None) for event in events]


def _without_volatile(call: Called) -> Called:
    arguments = json.loads(_ATTEMPT_DIR.sub("", json.dumps(dict(call.arguments))))
    result = None if call.result is None else _ATTEMPT_DIR.sub("", mask_volatile(call.result))
    return replace(call, seconds=None, arguments=arguments, result=result)
