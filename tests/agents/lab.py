"""What tests of adapters share: tasks, recorded output, and hostile output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from demeanor.agents.recipe import Recipe, RecipeAgent, Setup
from demeanor.core.agent import Orders, Task
from demeanor.core.process import Launch, Output, ProcessEnd
from demeanor.core.scenario import Approval, PriorMessage

SAMPLES = Path(__file__).parent / "samples"
EARLIER = (PriorMessage(role="user", text="I like zebras."), PriorMessage(role="assistant", text="I like gnus."))
NO_EDITS = Approval(rules={"edit": "deny"})


def task(*prompts: str, **changes: Any) -> Task:
    """A task like those of a trial."""
    given: dict[str, Any] = {
        "prompts": prompts or ("Do it.",),
        "model": "large",
        "workspace": Path("/bench/workspace"),
        "home": Path("/bench/home"),
        "base_url": "http://127.0.0.1:4711/t/0123456789abcdef",
        "token": "hf-token",
        "seed": 7,
    }
    return Task(**{**given, **changes})


def orders(recipe: Recipe, *prompts: str, settings: dict[str, Any] | None = None, **changes: Any) -> Orders:
    """How an agent is started that was set up without a word, or with these settings."""
    setup = Setup(program=("agent",), dialect=recipe.dialects[0], settings=settings or {})
    return RecipeAgent(name=recipe.name, recipe=recipe, setup=setup).orders(task(*prompts, **changes))


def option(launch: Launch, name: str) -> str | None:
    """The word behind an option; None where it is not given."""
    return launch.argv[launch.argv.index(name) + 1] if name in launch.argv else None


def home_json(found: Orders, path: str) -> Any:
    """A file of HOME that is JSON."""
    return json.loads(found.home_files[path])


def sample(name: str) -> str:
    """What an agent really printed, or kept."""
    return (SAMPLES / f"{name}.jsonl").read_text("utf-8")


def printed(text: str, left_out: int = 0) -> tuple[ProcessEnd, ...]:
    """A process that printed this."""
    return (ProcessEnd(exit_code=0, stdout=Output(text=text, total_bytes=len(text), left_out=left_out)),)


def hostile(name: str) -> st.SearchStrategy[str]:
    """Lines that use the words of a sample, and put anything anywhere."""
    words = sorted(set(re.findall(r'"([\w.]{1,24})"', sample(name))))
    texts = st.sampled_from(words) | st.text(max_size=8)
    numbers = st.integers() | st.floats() | st.just(10**400)
    values = st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=6),
        max_leaves=24,
    )
    lines = st.dictionaries(texts, values, max_size=6) | values
    return st.lists(lines.map(json.dumps) | st.text(max_size=20), max_size=12).map("\n".join)


def spoiled(name: str) -> Iterator[str]:
    """A sample again and again, each time with another value in one place, for every place in it."""
    lines = sample(name).splitlines()
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
