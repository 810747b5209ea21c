"""Helpers for the tests of adapters: tasks, agents without their program, recorded output and broken output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from demeanor.agents.recipe import Recipe, RecipeAgent, Setup
from demeanor.agents.registry import make_agent
from demeanor.config.table import Table
from demeanor.core.values.agent import Agent, Orders, Task
from demeanor.core.values.process import Launch, Output, ProcessEnd
from demeanor.core.values.scenario import Approval, PriorMessage
from demeanor.core.values.trajectory import Called, Event

SAMPLES = Path(__file__).parent / "samples"
BASE_URL = "http://127.0.0.1:4711/t/1"
PRIOR = (PriorMessage(role="user", text="My name is Zebra."), PriorMessage(role="assistant", text="Hello."))
NO_SHELL = Approval(rules={"execute": "deny"})
NO_EDITS = Approval(rules={"edit": "deny"})


def task(*prompts: str, **changes: Any) -> Task:
    """A task like that of a trial."""
    fields: dict[str, Any] = {
        "prompts": prompts or ("Do it.",),
        "model": "large",
        "workspace": Path("/bench/workspace"),
        "home": Path("/bench/home"),
        "base_url": BASE_URL,
        "token": "demeanor-token",
        "seed": 7,
    }
    return Task(**{**fields, **changes})


def agent(name: str, **table: Any) -> Agent:
    """An agent with this table in the configuration; its program need not exist."""
    return make_agent(name, name, Table({"program": "the-agent", **table}, where="demeanor.toml"))


def orders(recipe: Recipe, *prompts: str, settings: dict[str, Any] | None = None, **changes: Any) -> Orders:
    """How an agent with default configuration, or with these settings, is started."""
    setup = Setup(program=("agent",), dialect=recipe.dialects[0], settings=settings or {})
    return RecipeAgent(name=recipe.name, recipe=recipe, setup=setup).orders(task(*prompts, **changes))


def option(launch: Launch, name: str) -> str | None:
    """The value of a command-line option; None if it is absent."""
    return launch.argv[launch.argv.index(name) + 1] if name in launch.argv else None


def home_json(found: Orders, path: str) -> Any:
    """The content of a JSON file in HOME."""
    return json.loads(found.home_files[path])


def sample(name: str) -> str:
    """Output or a file of the real program."""
    return (SAMPLES / name).read_text("utf-8")


def end(text: str = "", exit_code: int = 0, left_out: int = 0) -> ProcessEnd:
    """A process that printed this."""
    stdout = Output(text=text, total_bytes=len(text) + left_out, left_out=left_out)
    return ProcessEnd(exit_code=exit_code, stdout=stdout)


def outline(events: tuple[Event, ...]) -> list[tuple[Any, ...]]:
    """The main fields of each event."""
    return [
        (event.turn, event.tool, dict(event.arguments), event.succeeded)
        if isinstance(event, Called)
        else (event.turn, event.type, getattr(event, "text", ""))
        for event in events
    ]


def broken_lines(genuine: str) -> st.SearchStrategy[str]:
    """Lines that resemble genuine ones: with a value replaced, made of the same words, or not JSON at all."""
    words = sorted(set(re.findall(r'"([\w.]{1,24})"', genuine)))
    texts = st.sampled_from(words) | st.text(max_size=8)
    numbers = st.integers() | st.floats() | st.just(10**400)
    values = st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=6),
        max_leaves=24,
    )
    rows = [json.loads(line) for line in genuine.splitlines() if line.startswith("{")]
    replaced = st.builds(_replace_one, st.sampled_from(rows), st.randoms(use_true_random=False), values)
    lines = (replaced | st.dictionaries(texts, values, max_size=6) | values).map(json.dumps)
    return st.lists(lines | st.text(max_size=30), max_size=12).map("\n".join)


def _replace_one(value: Any, random: Any, other: Any) -> Any:
    """The value with something in it replaced by `other`."""
    if isinstance(value, Mapping) and value and random.random() < 0.85:  # mostly go deeper
        key = random.choice(sorted(value))
        return {**value, key: _replace_one(value[key], random, other)}
    if isinstance(value, list) and value and random.random() < 0.85:  # mostly go deeper
        return [_replace_one(value[0], random, other), *value[1:]]
    return other


def each_value_replaced(genuine: str) -> Iterator[str]:
    """Genuine lines many times, each time with one other value replaced, until all were."""
    lines = genuine.splitlines()
    for at, line in enumerate(lines):
        for changed in _variants(json.loads(line)):
            yield "\n".join([*lines[:at], json.dumps(changed), *lines[at + 1 :]])


def _variants(data: Any) -> Iterator[Any]:
    yield from (None, True, 10**400, "", [], {}, [[]], {"type": {}})
    if isinstance(data, dict):
        for key, value in data.items():
            yield from ({**data, key: other} for other in _variants(value))
    elif isinstance(data, list):
        for at, value in enumerate(data):
            yield from ([*data[:at], other, *data[at + 1 :]] for other in _variants(value))
