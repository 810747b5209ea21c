"""The native agent in the bubblewrap environment of the real Harbor: its model is served through the listener."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

from demeanor.core.values.exchange import Exchange
from demeanor.gateway.script import Turn
from demeanor.gateway.script.turn import ScriptOutput
from demeanor.plugins.harbor.trials.model_route import SOCKET_NAME, accept_listeners
from demeanor.sandboxes.host.bwrap_args import PORT
from tests.gateway.helpers import playing
from tests.plugins.harbor.inside.helpers import HarborProject, HarborTrial

AGENT = "demeanor.plugins.harbor.inside:NativeAgent"


def saves(turn: Turn) -> ScriptOutput:
    """A model that does what is asked, and tries the network on the way."""
    if turn.done == 0:
        return turn.call("execute", command="curl -sm 2 http://example.com/ || echo no network")
    if turn.done == 1:
        return turn.call("edit", path="done", content=f"{turn.result.strip()}\n")
    return "Done."


def played(harbor_project: HarborProject, folder: Path) -> tuple[HarborTrial, tuple[Exchange, ...]]:
    """A trial of the native agent, and what went over the wire."""

    async def run_trial() -> tuple[HarborTrial, tuple[Exchange, ...]]:
        async with playing(saves) as session, accept_listeners(session, folder):
            kwargs = {"base_url": f"http://127.0.0.1:{PORT}/t/{session.id}/v1", "token": session.token}
            words = [word for item in kwargs.items() for word in ("--ak", "=".join(item))]
            words += ["-m", "played", "--ek", f"gateway={folder}/{SOCKET_NAME}"]
            run = partial(harbor_project.run, *words, path=harbor_project.tasks / "native", agents=(AGENT,))
            (trial,) = await asyncio.to_thread(run)
            return trial, session.exchanges()

    return asyncio.run(run_trial())


def test_its_model_is_served_through_the_listener_and_nothing_else_is_reached(
    harbor_project: HarborProject, tmp_path: Path
) -> None:
    """Tools work in the sandbox, the gateway sees the requests, and a separate verifier has no listener."""
    harbor_project.task(
        "native",
        top='artifacts = ["/app/done"]\n',
        toml='[environment]\nnetwork_mode = "no-network"\n[verifier]\nenvironment_mode = "separate"\n',
        test=f"exec 2>&1; bash -c '</dev/tcp/127.0.0.1/{PORT}' && echo 0 > /logs/verifier/reward.txt && exit; "
        "grep -c 'no network' /app/done > /logs/verifier/reward.txt",
    )
    trial, exchanges = played(harbor_project, tmp_path)
    assert (trial.exception, trial.reward) == (None, 1.0), harbor_project.output
    assert [len(one.request.tools) > 0 for one in exchanges] == [True] * 3
    events = [json.loads(line) for line in trial.text("agent/native.jsonl").splitlines()]
    assert [one["tool"] for one in events if one["type"] == "called"] == ["shell", "write_file"]
    assert trial.result["agent_info"]["name"] == "demeanor-native"


def test_a_missing_gateway_is_reported(harbor_project: HarborProject, tmp_path: Path) -> None:
    """Before the agent is run."""
    task = harbor_project.task("lonely")
    (trial,) = harbor_project.run("--ek", f"gateway={tmp_path}/nobody", path=task)
    assert trial.exception == "WorldError"
    assert f"the gateway at {tmp_path}/nobody can't be reached" in trial.message
    assert trial.result["agent_result"] is None
