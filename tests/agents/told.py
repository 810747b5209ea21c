"""What tests of adapters share: a task, an agent without its program, and logs good and bad."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from demeanor.agents import make_agent
from demeanor.config.table import Table
from demeanor.core.agent import Agent, Orders, Task
from demeanor.core.process import Output, ProcessEnd
from demeanor.core.scenario import Approval, PriorMessage
from demeanor.core.trajectory import Called, Event

SAMPLES = Path(__file__).parent / "samples"
PRIOR = (PriorMessage(role="user", text="My name is Zebra."), PriorMessage(role="assistant", text="Hello."))
NO_SHELL = Approval(rules={"execute": "deny"})


def agent(name: str, **table: Any) -> Agent:
    """An agent of an adapter, whose program need not be there."""
    return make_agent(name, name, Table({"program": "the-agent", **table}, where="demeanor.toml"))


def task(*prompts: str, **changes: Any) -> Task:
    """A task at a gateway on this machine."""
    given: dict[str, Any] = {
        "prompts": prompts or ("Do it.",),
        "model": "large",
        "workspace": Path("/bench/workspace"),
        "home": Path("/bench/home"),
        "base_url": "http://127.0.0.1:8/t/1",
        "token": "hf-token",
        "seed": 0,
    }
    return Task(**{**given, **changes})


def in_file(orders: Orders, path: str) -> Any:
    """The JSON in a file that is laid into HOME."""
    return json.loads(orders.home_files[path])


def sample(name: str) -> str:
    """What a real program wrote."""
    return (SAMPLES / name).read_text("utf-8")


def end(text: str = "", exit_code: int = 0) -> ProcessEnd:
    """A program that printed this."""
    return ProcessEnd(exit_code=exit_code, stdout=Output(text=text, total_bytes=len(text)))


def outline(events: tuple[Event, ...]) -> list[tuple[Any, ...]]:
    """Events in a few words each."""
    return [
        (event.turn, event.tool, dict(event.arguments), event.succeeded)
        if isinstance(event, Called)
        else (event.turn, event.type, getattr(event, "text", ""))
        for event in events
    ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def hostile(genuine: str) -> st.SearchStrategy[str]:
    """Logs that nobody meant: the lines of a genuine one with values of any kind in the place of others."""
    rows = [json.loads(line) for line in genuine.splitlines() if line.startswith("{")]
    spoiled = st.builds(_spoil, st.sampled_from(rows), st.randoms(use_true_random=False), _JSON)
    lines = st.one_of(spoiled.map(json.dumps), _JSON.map(json.dumps), st.text(max_size=30))
    return st.lists(lines, max_size=8).map("\n".join)


def _spoil(value: Any, random: Any, other: Any) -> Any:
    """The same value with something else somewhere in it."""
    if isinstance(value, Mapping) and value and random.random() < 0.85:  # mostly go deeper
        key = random.choice(sorted(value))
        return {**value, key: _spoil(value[key], random, other)}
    if isinstance(value, list) and value and random.random() < 0.85:  # mostly go deeper
        return [_spoil(value[0], random, other), *value[1:]]
    return other
