"""Who gets which slot of the engine, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from demeanor.gateway.local.slots import EngineError, SavedPrefixes, Slot, SlotPool, best_slot, common_messages

SYSTEM = {"role": "system", "content": "Be brief. " * 60}
ASK, OTHER, ANSWER = (
    {"role": role, "content": text} for role, text in (("user", "a"), ("user", "b"), ("assistant", "c"))
)


def test_messages_are_compared_from_the_start():
    assert common_messages([SYSTEM, ASK], [SYSTEM, ASK, ANSWER]) == 2
    assert common_messages([SYSTEM, ASK], [SYSTEM, OTHER]) == 1
    assert common_messages([], [SYSTEM]) == 0


def test_a_conversation_continues_in_its_slot():
    """Even if it was used later than another one."""
    slots = [Slot(0, held=[SYSTEM, OTHER], used=1), Slot(1, held=[SYSTEM, ASK], used=2)]
    assert best_slot(slots, [SYSTEM, ASK, ANSWER, OTHER], shared=1).number == 1


def test_a_new_conversation_takes_the_slot_that_was_not_used_for_longest():
    """What all of them share is no reason to take a slot that another conversation will continue in."""
    slots = [Slot(0, held=[SYSTEM, OTHER], used=7), Slot(1, held=[SYSTEM, OTHER], used=3), Slot(2, used=5)]
    assert best_slot(slots, [SYSTEM, ASK], shared=1).number == 1


async def test_slots_are_given_in_the_order_of_arrival():
    """A conversation that waits gets the next free slot, whoever comes back meanwhile."""
    pool, order = SlotPool(1), []

    async def talk(name: str) -> None:
        for turn in range(3):
            async with pool.slot([SYSTEM], shared=1, owner=name):
                order.append(f"{name}{turn}")
                await asyncio.sleep(0)

    await asyncio.gather(*(talk(name) for name in "abc"))
    assert order == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]


async def test_a_conversation_that_gives_up_waiting_loses_no_slot():
    """Before it gets a slot, and at the moment when it gets one."""
    pool = SlotPool(1)

    async def wait() -> None:
        async with pool.slot([SYSTEM], shared=1, owner="t"):
            raise AssertionError("not reached")

    async with pool.slot([SYSTEM], shared=1, owner="t"):
        early, late = asyncio.create_task(wait()), asyncio.create_task(wait())
        await asyncio.sleep(0)
        early.cancel()
    late.cancel()
    await asyncio.gather(early, late, return_exceptions=True)
    async with asyncio.timeout(60), pool.slot([SYSTEM], shared=1, owner="t") as slot:
        assert slot.number == 0


class Engine:
    """Records requests; those to a path in `broken` fail."""

    def __init__(self, *broken: str) -> None:
        self.paths: list[str] = []
        self._broken = broken

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        self.paths.append(path)
        await asyncio.sleep(0)
        if path in self._broken:
            raise EngineError("broken")


async def test_a_prefix_is_evaluated_once_and_restored_in_other_slots():
    """Not for a conversation that goes on, and not without a prefix."""
    engine, prefixes, slots = Engine(), SavedPrefixes(), [Slot(0), Slot(1)]
    await asyncio.gather(*(prefixes.load(slot, [SYSTEM, ASK], engine.post, shared=1) for slot in slots))
    assert engine.paths == ["/v1/chat/completions", "/slots/0?action=save", "/slots/1?action=restore"]
    await prefixes.load(Slot(1, held=[SYSTEM, ASK]), [SYSTEM, ASK, ANSWER], engine.post, shared=1)
    await prefixes.load(Slot(1), [ASK], engine.post, shared=0)
    assert len(engine.paths) == 3


async def test_every_new_conversation_starts_from_the_same_state():
    """Also if the slot holds the prefix, or the same request of another trial, with more turns."""
    engine, prefixes = Engine(), SavedPrefixes()
    await prefixes.load(Slot(0), [SYSTEM, ASK], engine.post, shared=1)
    for held in ([SYSTEM, OTHER], [SYSTEM, ASK], [SYSTEM, ASK, ANSWER, OTHER]):
        await prefixes.load(Slot(0, held=held), [SYSTEM, ASK], engine.post, shared=1)
        assert engine.paths.pop() == "/slots/0?action=restore"


async def test_without_a_saved_prefix_conversations_go_on():
    """A prefix that can't be evaluated, saved or restored costs time only."""
    for broken in ("/v1/chat/completions", "/slots/0?action=save", "/slots/1?action=restore"):
        engine, prefixes, slots = Engine(broken), SavedPrefixes(), [Slot(0), Slot(1)]
        async with asyncio.timeout(60):
            await asyncio.gather(*(prefixes.load(slot, [SYSTEM, ASK], engine.post, shared=1) for slot in slots))


async def test_few_prefixes_are_saved():
    engine, prefixes = Engine(), SavedPrefixes()
    for number in range(20):
        await prefixes.load(Slot(0), [{**SYSTEM, "name": str(number)}, ASK], engine.post, shared=1)
    assert sum("save" in path for path in engine.paths) == 8
