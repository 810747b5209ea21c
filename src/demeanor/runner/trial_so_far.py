"""What is known about a trial while it runs, for its user: the agent's last message, and the evidence so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_restore import discard_spooled
from demeanor.core.values.agent import Agent, prints_events, tool_kinds
from demeanor.core.values.capture import Capture
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.ports import RunCommand
from demeanor.core.values.trajectory import Event, Said
from demeanor.core.values.trial import Trial
from demeanor.judge import Rig
from demeanor.observe import observe
from demeanor.runner.agent_run import AgentRun

_RUNNING = "the agent's program is still running, so its own log is not complete"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialSoFar:
    """One attempt while it runs."""

    trial: Trial
    """The trial."""

    run: AgentRun
    """The agent at work."""

    before: Tree
    """The workspace at the start."""

    facts: Mapping[str, str]
    """Facts about the environment of the attempt."""

    command: RunCommand
    """Runs commands in a copy of the workspace."""

    def last_message(self) -> str:
        """The agent's last message, after its program has ended."""
        return Rig(self._observed(self.before, ""), self.command).final_text

    async def evidence(self, said: str) -> Evidence:
        """The evidence so far, with the workspace as it is now; `said` is the agent's last message."""
        after = discard_spooled(await self.run.sandbox.look())
        return self._observed(after, said)

    def _observed(self, after: Tree, said: str) -> Evidence:
        run = self.run
        capture = Capture(
            trial=self.trial.id,
            attempt=1,
            prompts=run.task.prompts,
            exchanges=run.gateway.exchanges() if run.gateway else (),
            ends=tuple(run.ends),
            leavings=run.sandbox.collect_files(run.orders.leavings),
            before=self.before,
            after=after,
            facts=self.facts,
        )
        if run.ends:
            capture = with_agent_log(run.agent, capture)
        else:
            log = (Said(turn=1, text=said),) if said and not capture.exchanges else ()
            capture = replace(capture, log=log, gaps=(_RUNNING,), prints_events=prints_events(run.agent))
        return replace(observe(capture, tool_kinds(run.agent, self.trial.eval.scenario)), trouble=None, misdeed=None)


def with_agent_log(agent: Agent, capture: Capture) -> Capture:
    """The capture with the agent's own log and the meaning of its exit code, as the adapter reads them today."""
    log: tuple[Event, ...] = ()
    problem = None
    try:
        log = agent.read_log(capture.ends, capture.leavings)
    except ValueError as error:
        problem = str(error)
    return replace(
        capture,
        log=log,
        log_problem=problem,
        requests_told=agent.tells_requests and problem is None,
        prints_events=prints_events(agent),
        exit_ok=agent.exit_ok(capture.ends[-1]),
    )
