"""Dataclasses that are compiled when they are first used behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any, ClassVar

import pytest

from demeanor.core.lazy_dataclass import _CALLS, dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A value that can be pickled."""

    x: int
    y: float = 0.0
    tags: tuple[str, ...] = ()
    seen: list[int] = field(default_factory=list, compare=False, repr=False)


@dataclass(slots=True)
class Counter:
    """A value that changes."""

    name: str
    count: int = 0

    def __post_init__(self) -> None:
        self.name = self.name.strip()


def test_values_are_created_compared_shown_and_replaced_by_their_fields() -> None:
    one = Point(x=1, tags=("a",))
    assert (one.x, one.y, one.tags, one.seen) == (1, 0.0, ("a",), [])
    assert repr(one) == "Point(x=1, y=0.0, tags=('a',))"
    assert one == Point(x=1, tags=("a",), seen=[1])
    assert hash(one) == hash(Point(x=1, tags=("a",), seen=[1]))
    assert one not in (Point(x=2), "Point")
    assert replace(one, x=2) == Point(x=2, tags=("a",))
    assert [entry.name for entry in fields(one)] == ["x", "y", "tags", "seen"]
    assert not hasattr(one, "__dict__")
    assert Point(x=1).seen is not Point(x=1).seen


@pytest.mark.parametrize("change", [lambda one: setattr(one, "x", 2), lambda one: delattr(one, "x")])
def test_a_frozen_value_stays_as_it_is(change: Callable[[Point], None]) -> None:
    one = Point(x=1)
    with pytest.raises(FrozenInstanceError, match="'x'"):
        change(one)
    assert one == Point(x=1)


def test_a_frozen_value_can_be_pickled_and_copied() -> None:
    one = Point(x=1, seen=[1])
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):  # noqa: S301 - our own bytes
        assert (other, other.seen) == (one, [1])
        assert other.seen is not one.seen


def test_a_value_that_is_not_frozen_can_change_and_has_no_hash() -> None:
    one = Counter(" a ")
    one.count += 1
    assert (one.name, one.count) == ("a", 1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("standard", [False, True])
def test_wrong_arguments_are_refused_with_the_name_of_the_class(standard: bool) -> None:
    def made() -> Any:
        @(dataclasses.dataclass if standard else dataclass)(frozen=True, kw_only=True, slots=True)
        class Wrong:
            x: int
            hidden: int = field(default=1, init=False)

        return Wrong

    cls = made()
    with pytest.raises(TypeError, match=r"Wrong.__init__\(\) missing 1 required keyword-only argument: 'x'"):
        cls()
    with pytest.raises(TypeError, match=r"Wrong.__init__\(\) got an unexpected keyword argument 'hidden'"):
        cls(x=1, hidden=2)
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        cls(1)
    assert cls(x=1).hidden == 1


@pytest.mark.parametrize("standard", [False, True])
def test_methods_of_the_class_itself_are_kept(standard: bool) -> None:
    @(dataclasses.dataclass if standard else dataclass)(frozen=True)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    assert (repr(Own(1)), Own(1) == Own(2), hash(Own(1))) == ("own", True, 7)


@pytest.mark.parametrize("standard", [False, True])
def test_without_eq_values_are_compared_by_identity(standard: bool) -> None:
    @(dataclasses.dataclass if standard else dataclass)(frozen=True, eq=False)
    class Same:
        x: int

    one = Same(1)
    assert one != Same(1)
    assert hash(one) == object.__hash__(one)


@pytest.mark.parametrize("standard", [False, True])
def test_a_subclass_has_the_fields_of_both(standard: bool) -> None:
    decorate: Any = dataclasses.dataclass if standard else dataclass

    @decorate(frozen=True, kw_only=True, slots=True)
    class Base:
        x: int = 1

    @decorate(frozen=True, kw_only=True, slots=True)
    class Derived(Base):
        y: int = 2

    class Plain(Derived):
        pass

    assert (Base(), Derived(x=3), Plain(y=4).y) == (Base(x=1), Derived(x=3, y=2), 4)
    assert Base() != Derived()


@pytest.mark.parametrize("standard", [False, True])
def test_the_first_values_are_created_like_all_later_ones(standard: bool) -> None:
    @(dataclasses.dataclass if standard else dataclass)(frozen=True, slots=True)
    class Both:
        a: int
        b: list[int] = field(default_factory=list)
        c: int = field(default=3, kw_only=True)
        seen: int = field(default=0, init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "seen", self.a + 1)

    for number in range(2 * _CALLS):
        one = Both(number, c=5)
        assert (one.a, one.b, one.c, one.seen) == (number, [], 5, number + 1)
        assert one == replace(one, a=number) != Both(b=[1], a=number)


@pytest.mark.parametrize("calls", [0, 1, 2 * _CALLS])
@pytest.mark.parametrize("standard", [False, True])
@pytest.mark.parametrize(
    ("args", "values", "problem"),
    [
        ((), {}, r"Wrong.__init__\(\) missing 1 required positional argument: 'a'"),
        ((1, 2, 3), {}, r"takes from 2 to 3 positional arguments but 4 were given"),
        ((1,), {"a": 2}, r"got multiple values for argument 'a'"),
        ((1,), {"z": 2}, r"got an unexpected keyword argument 'z'"),
    ],
)
def test_wrong_arguments_are_refused_at_any_call(
    standard: bool, calls: int, args: tuple[int, ...], values: dict[str, int], problem: str
) -> None:
    @(dataclasses.dataclass if standard else dataclass)
    class Wrong:
        a: int
        b: int = 2

    for number in range(calls):
        Wrong(number)
    made: Any = Wrong
    with pytest.raises(TypeError, match=problem):
        made(*args, **values)
    assert made(1) == made(1, b=2)


@pytest.mark.parametrize("standard", [False, True])
def test_the_types_of_fields_and_the_annotations_are_those_of_the_source(standard: bool) -> None:
    @(dataclasses.dataclass if standard else dataclass)(slots=True)
    class Typed:
        a: int
        b: list[str] = field(default_factory=list)
        kept: ClassVar[int] = 7

    assert {entry.name: entry.type for entry in fields(Typed)} == {"a": "int", "b": "list[str]"}
    assert Typed.__annotations__ == {"a": "int", "b": "list[str]", "kept": "ClassVar[int]"}
    assert (Typed(1).kept, Typed.__match_args__) == (7, ("a", "b"))


def test_types_that_are_plain_words_are_those_of_the_source() -> None:
    assert {entry.name: entry.type for entry in fields(Point)}["tags"] == "tuple[str, ...]"
    assert Point.__annotations__["tags"] == "tuple[str, ...]"


A_RUN = """\
import sys
from dataclasses import is_dataclass
import demeanor.commands.run.command, demeanor.commands.run.live, demeanor.commands.run.terminal
import demeanor.commands.run.workflow, demeanor.store.runs.run_store, demeanor.agents.command, demeanor.agents.native
for name, module in list(sys.modules.items()):
    for value in list(vars(module).values()) if name.startswith("demeanor.") else ():
        if isinstance(value, type) and is_dataclass(value) and value.__dataclass_params__.init:
            print(value.__module__, value.__qualname__)
"""


def test_every_module_that_a_run_imports_uses_it() -> None:
    """One class of the standard library takes as long to create as thirty of these. The exception imports nothing else
    of Demeanor, because agents in sandboxes use it too."""
    done = subprocess.run([sys.executable, "-c", A_RUN], capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == {"demeanor.core.steering Steer"}
