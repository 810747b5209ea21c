"""`dataclass` as in the standard library, with methods that are compiled when they are needed often.

Python 3.11 compiles six functions for every frozen dataclass, which takes a millisecond. A run imports some 230 of them
and creates values of 100, so a third of its start-up was spent there. Here `__init__` is compiled after some calls,
and the other methods are the same functions for all classes. `fields`, `replace`, `copy` and `pickle` work as usual;
type checkers see the decorator of the standard library. Modules that a run, a list or a report imports use it.

Not supported: `order`, `InitVar`, and mixing with frozen dataclasses of the standard library in one inheritance tree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import cache
from inspect import get_annotations
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, cast

_CALLS = 20
"""Calls of `__init__` before it is compiled: compiling takes as long as some fifty of them take longer."""

_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY", "typing.", "dataclasses.")
"""How the annotation of something begins that may not be a field."""

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - exported
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        eq: bool = True,
        frozen: bool = False,
        kw_only: bool = False,
        slots: bool = False,
    ) -> Any:
        """Add the methods of a dataclass to a class."""

        def wrap(cls: type) -> type:
            return _with_methods(cls, eq=eq, frozen=frozen, kw_only=kw_only, slots=slots)

        return wrap if cls is None else wrap(cls)


def _with_methods(cls: type, *, eq: bool, frozen: bool, kw_only: bool, slots: bool) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise the standard library makes one of the signature, slowly
    own = cls.__dict__
    hashable = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    made = _with_fields(cls, kw_only=kw_only, slots=slots)
    methods: dict[str, Any] = {"__init__": _compiled_after_some_calls(made, frozen=frozen), "__repr__": _repr}
    if eq:
        methods["__eq__"] = _eq
    if frozen:
        methods |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
        methods |= {"__getstate__": _state, "__setstate__": _set_state} if slots else {}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    if eq and not hashable:
        made.__hash__ = _hash if frozen else None
    return cast("type", made)


def _with_fields(cls: type, *, kw_only: bool, slots: bool) -> Any:
    """Let the standard library find the fields. It searches each annotation for `ClassVar` and two others, which takes
    a third of the time, so where none occurs, it gets other annotations meanwhile.
    """
    types = get_annotations(cls)
    plain = all(isinstance(one, str) and not one.startswith(_SPECIAL) for one in types.values())
    if plain:
        cls.__annotations__ = dict.fromkeys(types, object)
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=slots)(cls)
    if plain:
        made.__annotations__ = types
        for name, text in types.items():
            made.__dataclass_fields__[name].type = text
    return made


def _compiled_after_some_calls(cls: Any, *, frozen: bool) -> Callable[..., None]:
    """An `__init__` that sets the fields one by one, and replaces itself by the compiled one: after some calls, and for
    arguments that do not fit, because the compiled one says what is wrong with them.
    """
    calls = 0

    def __init__(self: Any, /, *args: object, **values: object) -> None:  # noqa: N807
        nonlocal calls
        calls += 1
        if calls > _CALLS or not _set_fields(cls, self, args, values, frozen=frozen):
            cls.__init__ = _init(cls, frozen=frozen)
            cls.__init__(self, *args, **values)
        elif hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _set_fields(cls: Any, target: object, args: tuple[object, ...], values: dict[str, object], *, frozen: bool) -> bool:
    """Set all fields; False if an argument is missing, unknown or given twice."""
    known, set_value, used = fields(cls), object.__setattr__ if frozen else setattr, 0
    if args:
        names = [field.name for field in known if field.init and not field.kw_only][: len(args)]
        if len(names) < len(args) or not values.keys().isdisjoint(names):
            return False
        values = dict(zip(names, args, strict=True)) | values
    for field in known:
        if field.init and field.name in values:
            used += 1
            set_value(target, field.name, values[field.name])
        elif field.default is not MISSING:
            set_value(target, field.name, field.default)
        elif field.default_factory is not MISSING:
            set_value(target, field.name, field.default_factory())
        elif field.init:
            return False
    return used == len(values)


def _init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_missing": MISSING, "_set": object.__setattr__}
    positional, keywords, body = ["self"], list[str](), list[str]()
    for field in fields(cls):
        name, value, default = field.name, field.name, ""
        if field.default is not MISSING:
            names[f"_default_{name}"], default = field.default, f"=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif field.default_factory is not MISSING:
            names[f"_make_{name}"], default = field.default_factory, "=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}" if field.init else f"_make_{name}()"
        elif not field.init:
            continue
        if field.init:
            (keywords if field.kw_only else positional).append(name + default)
        if frozen and (set_slot := _slot_setter(cls, name)):
            names[f"_set_{name}"] = set_slot
            body.append(f"    _set_{name}(self, {value})")
        else:
            body.append(f"    _set(self, {name!r}, {value})" if frozen else f"    self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("    self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *keywords] if keywords else [])])
    exec("\n".join([f"def __init__({parameters}):", *(body or ["    pass"])]), names)  # noqa: S102
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


def _slot_setter(cls: Any, name: str) -> Callable[[object, object], None] | None:
    """What sets a slot, also of a frozen class, in half the time of `object.__setattr__`; None if it is not a slot."""
    slot = getattr(cls, name, None)
    return slot.__set__ if isinstance(slot, MemberDescriptorType) else None


@cache
def _slot_setters(cls: Any) -> tuple[Callable[[object, object], None], ...]:
    return tuple(getattr(cls, field.name).__set__ for field in fields(cls))


@cache
def _values(cls: Any, *, compared: bool) -> Callable[[Any], tuple[object, ...]]:
    """A function that returns the fields of a value: all, or those that count for `==` and `hash`."""
    names = [field.name for field in fields(cls) if field.compare or not compared]
    return attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)


def _eq(self: Any, other: object) -> Any:
    values = _values(self.__class__, compared=True)
    return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self.__class__, compared=True)(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_assignment(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> tuple[object, ...]:
    return _values(self.__class__, compared=False)(self)


def _set_state(self: Any, state: tuple[object, ...]) -> None:
    for set_slot, value in zip(_slot_setters(self.__class__), state, strict=True):
        set_slot(self, value)
