"""The arguments of `@eval_test`, checked one by one: each mistake names file, line, key, value and remedy."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn, cast

from demeanor.core.errors import BadInput, nearest
from demeanor.core.eval import Rehearsal
from demeanor.core.policy import Policy
from demeanor.core.sandbox_spec import NETWORKS, Network
from demeanor.core.scenario import Answer, Answers, Approval, PriorMessage

_ANSWERS = ("allow", "deny")
_ROLES = ("user", "assistant")


class Arguments:
    """Checks what was given to one `@eval_test`."""

    def __init__(self, where: str) -> None:
        self.where = where

    def refuse(self, key: str, value: object, wanted: str, remedy: str | None = None) -> NoReturn:
        """Refuse the value of `key`."""
        shown = repr(value)
        shown = shown if len(shown) <= 80 else f"{shown[:79]}…"
        raise BadInput(f"expected {wanted}, found {shown}", where=self.where, key=key, remedy=remedy)

    def check_is_one(self, check: Any) -> None:
        """The decorated thing must be a function that can be called as `check(rig, result)`."""
        if not _takes(check, 2):
            self.refuse("check", _signature(check), "a function of two arguments", "write `def check(rig, result):`")

    def policy(self, value: Any) -> Policy:
        """The first argument."""
        if not isinstance(value, Policy):
            close = nearest(value, list(Policy)) if isinstance(value, str) else None
            self.refuse("policy", value, "a policy", f"write it first: eval_test({close or 'USUALLY_PASSES'}, …)")
        return value

    def name(self, value: Any, *, default: str) -> str:
        """The eval's name."""
        name = default if value is None else value
        problem = name_problem(name) if isinstance(name, str) else "it is not a string"
        if problem:
            self.refuse("name", name, "a name", problem)
        return str(name)

    def prompts(self, prompt: Any, prompts: Any) -> tuple[str, ...]:
        """What the agent is asked: exactly one of the two is given, and nothing in it is empty."""
        if prompt is not None and prompts is not None:
            self.refuse("prompts", prompts, "only one of prompt and prompts", "put all turns into prompts=[…]")
        if prompt is None and prompts is None:
            raise BadInput("is required", where=self.where, key="prompt", remedy='write prompt="…", what is asked')
        key = "prompt" if prompts is None else "prompts"
        if prompts is None and not isinstance(prompt, str):
            self.refuse("prompt", prompt, "a string", "for several turns write prompts=[…]")
        found = self.texts(key, [prompt] if prompts is None else prompts)
        if not found:
            self.refuse(key, prompts, "at least one prompt")
        return found

    def texts(self, key: str, values: Any) -> tuple[str, ...]:
        """Several strings, none of them empty."""
        if isinstance(values, str) or not isinstance(values, Sequence | set | frozenset):
            self.refuse(key, values, "a list of strings", f"write {key}=[{values!r}]" if values else None)
        for value in values:
            if not isinstance(value, str) or not value.strip():
                self.refuse(key, value, "a string that is not empty")
        return tuple(sorted(values)) if isinstance(values, set | frozenset) else tuple(values)

    def text(self, key: str, value: Any) -> str | None:
        """One string, or nothing."""
        if value is not None and (not isinstance(value, str) or not value.strip()):
            self.refuse(key, value, "a string that is not empty")
        return value

    def flag(self, key: str, value: Any) -> bool:
        """True or false."""
        if not isinstance(value, bool):
            self.refuse(key, value, "True or False")
        return value

    def mapping(self, key: str, value: Any) -> dict[str, Any]:
        """Settings by name."""
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            self.refuse(key, value, "a mapping with strings as keys")
        return dict(value)

    def timeout(self, value: Any) -> float | None:
        """Seconds."""
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            self.refuse("timeout", value, "a number of seconds above 0")
        return float(value)

    def network(self, value: Any) -> Network | None:
        """What the agent can reach."""
        if value is not None and value not in NETWORKS:
            self.refuse("network", value, " or ".join(f'"{known}"' for known in NETWORKS))
        return cast("Network | None", value)

    def trials(self, value: Any) -> int | None:
        """How many."""
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            self.refuse("trials", value, "a whole number from 1 on")
        return value

    def approval(self, value: Any) -> Approval:
        """`"allow"`, `"deny"`, a list of these, such answers by tool or kind, or the value itself."""
        if isinstance(value, Approval):
            return value
        if isinstance(value, str | list | tuple):
            return Approval(default=self._answers(value))
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            self.refuse("approval", value, '"allow", "deny", a list of these, a mapping or an Approval')
        rules = {name: self._answers(answer) for name, answer in value.items()}
        return Approval(default=rules.pop("default", "allow"), rules=rules)

    def _answers(self, value: Any) -> Answers:
        if isinstance(value, list | tuple) and value:
            return tuple(self._answer(answer) for answer in value)
        return self._answer(value)

    def _answer(self, value: Any) -> Answer:
        if value not in _ANSWERS:
            self.refuse("approval", value, '"allow" or "deny"')
        return cast("Answer", value)

    def messages(self, values: Any) -> tuple[PriorMessage, ...]:
        """The earlier conversation."""
        if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
            self.refuse("messages", values, 'a list of {"role": …, "text": …}')
        return tuple(self._message(value) for value in values)

    def _message(self, value: Any) -> PriorMessage:
        if isinstance(value, PriorMessage):
            return value
        if not isinstance(value, Mapping) or set(value) != {"role", "text"} or not isinstance(value["text"], str):
            self.refuse("messages", value, '{"role": "user" or "assistant", "text": "…"}')
        if value["role"] not in _ROLES:
            self.refuse("messages", value["role"], '"user" or "assistant" as role')
        return PriorMessage(role=cast('Literal["user", "assistant"]', value["role"]), text=value["text"])

    def function(self, key: str, value: Any, *, arguments: int) -> Callable[..., Any] | None:
        """A function of so many arguments, or nothing."""
        if value is not None and not _takes(value, arguments):
            self.refuse(key, value, f"a function of {arguments} argument{'s' if arguments > 1 else ''}")
        return cast("Callable[..., Any] | None", value)

    def rehearsals(self, key: str, value: Any) -> tuple[Rehearsal, ...]:
        """One function of a stage, or several."""
        several = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
        for function in several:
            if not _takes(function, 1):
                self.refuse(key, function, "a function of one argument, the stage", "write `def good(stage):`")
        return several


def name_problem(name: str) -> str | None:
    """Why `name` can't be an eval's name, or None if it can."""
    if not name.strip() or name != name.strip():
        return "a name is not empty and neither begins nor ends with a blank"
    if not name.isprintable() or "/" in name or "::" in name:
        return "a name has no slash, no «::» and no invisible characters"
    return None


def _takes(function: Any, count: int) -> bool:
    """Whether `function` can be called with `count` positional arguments."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*[None] * count)
    except (TypeError, ValueError):
        return False
    return True


def _signature(function: Any) -> str:
    try:
        return f"{getattr(function, '__name__', function)}{inspect.signature(function)}"
    except (TypeError, ValueError):
        return repr(function)
