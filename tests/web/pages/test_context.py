"""What pages keep between requests."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.web.pages import context as module
from demeanor.web.pages.context import PageContext


@pytest.fixture
def context(tmp_path: Path) -> PageContext:
    """A project without anything."""
    (tmp_path / "demeanor.toml").write_text("")
    return PageContext(config=read_config(tmp_path), environ={}, results=tmp_path / "results")


def test_a_value_is_made_anew_when_its_state_changes(context: PageContext) -> None:
    """And only then."""
    found = [context.cached("x", state, lambda value=value: value) for value, state in enumerate((1, 1, 2, 2))]  # type: ignore[misc]
    assert found == [0, 0, 2, 2]


def test_a_value_that_takes_long_is_not_made_for_every_trial(
    context: PageContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During a run its state changes all the time; a reader gets the last value until it has rested."""
    monkeypatch.setattr(module, "_SLOW", -1.0)
    monkeypatch.setattr(module, "_REST", 1e15)
    assert [context.cached("x", state, lambda state=state: state) for state in (1, 2, 3)] == [1, 1, 1]  # type: ignore[misc]
    monkeypatch.setattr(module, "_REST", 0)
    assert context.cached("x", 4, lambda: 4) == 4


def test_many_readers_have_a_value_made_once(context: PageContext) -> None:
    """The first one makes it, the others wait; while it is made anew they take the last one."""
    started, go, made = threading.Event(), threading.Event(), []

    def make() -> str:
        made.append(1)
        started.set()
        assert go.wait(60)
        return f"value {len(made)}"

    found: list[str] = []
    readers = [threading.Thread(target=lambda: found.append(context.cached("x", 1, make))) for _ in range(8)]
    for reader in readers:
        reader.start()
    assert started.wait(60)
    go.set()
    for reader in readers:
        reader.join(60)
    assert (found, made) == (["value 1"] * 8, [1])
    started.clear()
    go.clear()
    slow = threading.Thread(target=lambda: context.cached("x", 2, make))
    slow.start()
    assert started.wait(60)
    assert context.cached("x", 2, make) == "value 1"
    go.set()
    slow.join(60)
    assert context.cached("x", 2, make) == "value 2"


def test_a_page_does_not_wait_for_what_takes_long(context: PageContext) -> None:
    """It shows what it has, and the server tells its readers when there is more; later the last value is shown."""
    go = threading.Event()

    def make() -> str:
        assert go.wait(60)
        return "changes"

    assert context.in_background("x", 1, make) is None
    assert context.in_background("x", 1, make) is None
    go.set()
    while not context.made:
        threading.Event().wait(0.001)
    assert context.in_background("x", 1, make) == "changes"
    go.clear()
    assert context.in_background("x", 2, make) == "changes"
    go.set()
