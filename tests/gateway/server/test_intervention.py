"""Instructions that the gateway removes or replaces on the way to the model, in every dialect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from demeanor.core.text.instructions import instructions
from demeanor.core.values.exchange import Request, Response
from demeanor.core.values.intervention import Intervention, intervene
from demeanor.core.values.messages import Message, Text, Tool
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.upstream import FullReply, ModelCall, Reply
from tests.gateway.helpers import a_trial, post, running

FACTS = {"workspace": "/tmp/a/work"}
ASKED = Request(
    model="played",
    messages=(
        Message(role="system", parts=(Text(text="Work in /tmp/a/work. Read before you edit. Be brief.\n"),)),
        Message(role="user", parts=(Text(text="Read before you edit."),)),
    ),
    tools=(
        Tool(
            name="edit",
            description="Edit a file.",
            schema={"type": "object", "properties": {"path": {"type": "string", "description": "A path."}}},
        ),
    ),
)
ID = {one.text: one.id for one in instructions(ASKED, FACTS)}


class Provider:
    """An upstream that keeps the calls that reach it."""

    notes = ()
    price: Price | None = FREE

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []

    @asynccontextmanager
    async def answer(self, call: ModelCall) -> AsyncIterator[Reply]:
        """Keep the call, and answer."""
        self.calls.append(call)
        yield FullReply(response=Response(parts=(Text(text="Done."),)))

    async def close(self) -> None:
        """Nothing to release."""


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "change",
    [
        Intervention(without=(ID["Read before you edit."], ID["Edit a file."], ID["A path."])),
        Intervention(replacements={ID["Work in /tmp/a/work."]: "Work anywhere.", ID["Edit a file."]: "Change it."}),
        Intervention(without=("00000000",)),
        Intervention(),
    ],
    ids=["remove", "replace", "not there", "none"],
)
async def test_the_model_gets_the_changed_request(name: str, change: Intervention) -> None:
    """As bytes of the agent's dialect; without a change, the agent's own bytes."""
    dialect, provider = DIALECTS[name], Provider()
    wire = dialect.write_request(ASKED)
    trial = a_trial()
    trial = replace(trial, subject=change.on(trial.subject))
    async with running({"played": provider}) as gateway, gateway.session(trial, seed=1) as session:
        session.set_facts(FACTS)
        headers = {"Authorization": f"Bearer {session.token}", "x-goog-api-key": session.token}
        answer = await post(session, wire.body, path=wire.path, headers=headers)
        assert answer.status == 200, answer.body
        (call,), (exchange,), notes = provider.calls, session.exchanges(), session.notes
    arrived = dialect.read_request(wire.body, call.route)
    wanted, found = intervene(arrived, change, FACTS)
    assert call.request == wanted
    assert dialect.read_request(call.body, call.route) == wanted
    assert set(exchange.interventions) == set(found) == change.ids - {"00000000"}
    assert exchange.request.system == wanted.system
    assert (call.body == wire.body) == (not found)
    assert len([note for note in notes if note.startswith("the instruction ")]) == len(found)
