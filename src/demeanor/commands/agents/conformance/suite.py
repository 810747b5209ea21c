"""Runs the suite on one agent and says, ability by ability, what it has shown."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from demeanor.commands.agents.conformance.model import SLEEP
from demeanor.commands.interrupts import make_ui
from demeanor.config.config import Config
from demeanor.core.agent import Ability
from demeanor.core.errors import UsageError
from demeanor.core.eval import Eval
from demeanor.core.progress import AttemptJudged, Progress
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.trajectory import Called, Event
from demeanor.core.verdict import Pass, Void, VoidCause
from demeanor.define.discover import discover
from demeanor.gateway.cassette.rules import settled
from demeanor.runner.catalog import Catalog
from demeanor.runner.execute import execute, prepare
from demeanor.runner.plan import plan_evals
from demeanor.store.runs.run_folder import RunFolder

State: TypeAlias = Literal["shown", "declared", "failed", "unknown"]

MODEL = "conformance"
_HERE = Path(__file__).parent
_AT_ONCE = 3
_BENCH = re.compile(r"[^\s'\"`]*/demeanor-[0-9a-f]{12}/[0-9]+(?=/)")
"""The folder of an attempt, which calls and answers of tools name."""
_LATER = {
    Ability.REPLAY: "Repeats itself from a cassette, with no live exchange.",
    Ability.QUIET: "Needs, and waits for, no other host than its model.",
}
_REPLAYED = (Ability.CREATE, Ability.EDIT, Ability.PARALLEL, Ability.TURNS)
_MAY_BE_VOID: Mapping[Ability, tuple[VoidCause, ...]] = {
    Ability.OUTAGE: (VoidCause.PROVIDER,),
    Ability.HANG: (VoidCause.STALLED,),
    Ability.CUT: (VoidCause.PROVIDER,),
}
"""Where the provider breaks down for good the trial says nothing of the agent, and must say so."""
_MUST_BE_VOID = (Ability.OUTAGE, Ability.HANG)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What became of one ability."""

    ability: Ability
    """Which."""

    state: State
    """Shown; declared, so that nobody expects it; failed; or unknown, where it can't be tried here."""

    meaning: str
    """What the ability is, in a sentence."""

    detail: str = ""
    """Why it is not shown."""

    seconds: float = 0.0
    """How long the agent took."""


def check(
    config: Config,
    agent_name: str,
    environ: Mapping[str, str],
    tell: Callable[[str], None],
    only: Sequence[Ability] = (),
) -> tuple[Shown, ...]:
    """Run the suite, or only some of it, on one agent."""
    script = {"script": str(_HERE / "model.py")}
    config = replace(
        config, models={**config.models, MODEL: script}, trials=1, attempts=1, faults=(), budgets={}, jobs=_AT_ONCE
    )
    catalog = Catalog(config=config, environ=environ)
    agent = catalog.agent(agent_name)
    if missing := agent.missing():
        raise UsageError(missing.replace("; ", "\n  → ", 1))
    if agent.dialect is None:
        raise UsageError(f"{agent_name} does not reach a model through the gateway, so nothing can be played to it")
    evals = discover([str(_HERE / "eval_conformance.py")])
    meanings = {Ability(one.name): one.description for one in evals} | _LATER
    wanted = set(only or Ability)
    able = [one for one in evals if Ability(one.name) in wanted - agent.cannot.keys()]
    found = {
        ability: Shown(ability=ability, state="declared", meaning=meanings[ability], detail=why)
        for ability, why in agent.cannot.items()
        if ability in wanted
    }
    with tempfile.TemporaryDirectory(prefix="demeanor-check-") as scratch:
        run = _SuiteRun(catalog=catalog, subject=f"{agent_name}:{MODEL}", folder=Path(scratch), tell=tell)
        records = run.execute(able)
        for one in able:
            ability = Ability(one.name)
            own = [record for record in records.values() if record.eval == one.name]
            found[ability] = _judged(ability, own, meanings[ability])
        if Ability.REPLAY in wanted - agent.cannot.keys():
            found[Ability.REPLAY] = run.replayed([one for one in able if Ability(one.name) in _REPLAYED], records)
        if Ability.QUIET in wanted - agent.cannot.keys():
            found[Ability.QUIET] = _quiet(run.network, list(found.values()))
    return tuple(found[ability] for ability in Ability if ability in found)


def _judged(ability: Ability, records: Sequence[Record], meaning: str) -> Shown:
    """What the trials of one ability say."""
    problem = next(filter(None, (_problem(ability, record) for record in records)), None)
    if not problem and not records:
        problem = "nothing was tried"
    if ability is Ability.CLEAN and (left := _left_behind()):
        problem = f"left {', '.join(left)} running"
    if ability is Ability.TOGETHER and len({record.fingerprint for record in records}) > 1:
        problem = "its trials have different fingerprints: what it tells its model differs from trial to trial"
    return Shown(
        ability=ability,
        state="failed" if problem else "shown",
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
    if ability in _MUST_BE_VOID:
        return f"expected to be void, but it is a {verdict.outcome}"
    if not isinstance(verdict, Pass):
        return verdict.reason
    disagreement = next((note for note in record.notes if "agent's log" in note), None)
    return f"its own log and the wire disagree: {disagreement}" if disagreement else None


def _left_behind() -> list[str]:
    """Processes of the suite that are still there."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if any(word.startswith(f"{SLEEP}.".encode()) for word in words):
            found.append(f"process {place.parent.name}")
    return found


def _quiet(network: str, found: Sequence[Shown]) -> Shown:
    """Shown by all the others, where there was nothing to reach but the gateway."""
    meaning = _LATER[Ability.QUIET]
    if network != "gateway":
        why = "the sandbox shares the host's network, so nobody can tell; try --sandbox bubblewrap"
        return Shown(ability=Ability.QUIET, state="unknown", meaning=meaning, detail=why)
    if any(one.state == "shown" for one in found):
        return Shown(ability=Ability.QUIET, state="shown", meaning=meaning)
    return Shown(ability=Ability.QUIET, state="failed", meaning=meaning, detail="nothing worked without a network")


@dataclass(kw_only=True)
class _SuiteRun:
    """The runs that the suite consists of."""

    catalog: Catalog
    subject: str
    folder: Path
    tell: Callable[[str], None]
    network: str = ""

    def execute(self, evals: Sequence[Eval]) -> dict[str, Record]:
        """Run them, recording cassettes."""
        self.store, records = self._conduct(self.catalog, evals, record=str(self.folder / "cassettes"))
        return records

    def replayed(self, evals: Sequence[Eval], before: Mapping[str, Record]) -> Shown:
        """Run some of them again from their cassettes, and compare."""
        catalog = replace(self.catalog, replaying=True, made=dict(self.catalog.made))
        evals = [one for one in evals if all(_passed(record) for record in before.values() if record.eval == one.name)]
        store, after = self._conduct(catalog, evals, replay=str(self.folder / "cassettes"))
        problem = next(self._differences(store, before, after), "" if after else "nothing could be replayed")
        return Shown(
            ability=Ability.REPLAY,
            state="failed" if problem else "shown",
            meaning=_LATER[Ability.REPLAY],
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
            elif _timeless(store.events(record)) != _timeless(self.store.events(before[trial])):
                yield f"{record.eval}: another trajectory than the recorded one"

    def _conduct(
        self, catalog: Catalog, evals: Sequence[Eval], *, record: str | None = None, replay: str | None = None
    ) -> tuple[RunFolder, dict[str, Record]]:
        request = RunRequest(subjects=(self.subject,), policy="all", record=record, replay=replay)
        plan = plan_evals(catalog, evals, request, catalog.environ)
        run = prepare(catalog, plan, request, self.folder / "results", in_history=False)
        result = execute(run, ui=make_ui(quiet=True), watch=self._watch)
        if result.interrupted:
            raise KeyboardInterrupt
        self.network = run.context.sandbox.facts.get("network", "host")
        return run.folder, {one.trial: one for one in result.records if one.final}

    def _watch(self, news: Progress) -> None:
        if isinstance(news, AttemptJudged):
            record = news.record
            self.tell(f"  {record.eval}: {record.verdict.outcome}, {record.spent.seconds:.1f} s")


def _passed(record: Record) -> bool:
    return isinstance(record.verdict, Pass)


def _timeless(events: Sequence[Event]) -> list[Event]:
    """The events without how long things took, and without what else of a call never comes twice."""
    return [_settled(event) if isinstance(event, Called) else event for event in events]


def _settled(call: Called) -> Called:
    arguments = json.loads(_BENCH.sub("", json.dumps(dict(call.arguments))))
    result = None if call.result is None else _BENCH.sub("", settled(call.result))
    return replace(call, seconds=None, arguments=arguments, result=result)
