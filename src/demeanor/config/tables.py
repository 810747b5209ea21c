"""The tables of a configuration that set rules: what each may say, and how it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from demeanor.config.table import Table
from demeanor.core.sandbox_spec import Ceilings

_LEAST = 2**16
_SCOPES = ("trial", "eval", "run")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """What may be spent; None means any amount."""

    usd: float | None = None
    """US dollars."""

    tokens: int | None = None
    """Tokens in both directions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightRules:
    """What a nightly run does otherwise than others."""

    subjects: tuple[str, ...] = ()
    """Whom to try; none means the same as in other runs."""

    trials: int | None = None
    """Trials per cell."""

    budget_usd: float | None = None
    """What the run may spend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRules:
    """What `demeanor gate` does otherwise than other runs."""

    subjects: tuple[str, ...] = ()
    """The key subjects, on which a change depends; none means the same as in other runs."""

    rule: str | None = None
    """How USUALLY_PASSES is judged."""

    budget_usd: float | None = None
    """What a gate may spend."""

    max_trials: int | None = None
    """The most trials of all cells together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildRules:
    """How a checkout of the project becomes something that can be tried."""

    command: tuple[str, ...] = ()
    """A program and its arguments, run in the folder that the configuration is in; none where nothing is built."""

    timeout: float = 1800.0
    """Seconds that it may take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayRules:
    """What a project adds to the rules by which a replay compares requests."""

    ignore: tuple[str, ...] = ()
    """Paths into a request that don't count, as in `extra.*.user`: `*` is any one step, `**` any number of them."""

    replace: tuple[tuple[str, str], ...] = ()
    """Regular expressions, and what is put in the place of what they find."""


def read_budgets(table: Table) -> dict[str, Limit]:
    """What may be spent, by scope."""
    budgets = table.table("budgets")
    found = {}
    for scope in _SCOPES:
        limit = budgets.table(scope) if budgets else None
        if limit:
            found[scope] = Limit(usd=limit.number("usd", least=0), tokens=limit.whole("tokens", least=1))
            limit.finish()
    if budgets:
        budgets.finish()
    return found


def read_limits(table: Table) -> Ceilings:
    """What an agent may use of the machine."""
    limits = table.table("limits")
    if limits is None:
        return Ceilings()
    usual = Ceilings()
    found = Ceilings(
        processes=limits.whole("processes", least=8) or usual.processes,
        disk=_size(limits, "disk", usual.disk),
        files=limits.whole("files", least=100) or usual.files,
        memory=_size(limits, "memory", usual.memory),
        output=_size(limits, "output", usual.output),
    )
    limits.finish()
    return found


def _size(table: Table, key: str, usual: int) -> int:
    """Bytes, written as a number with a unit."""
    if key not in table:
        return usual
    text = table.text(key)
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(B|KiB|MiB|GiB|kB|MB|GB)", text)
    units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
    size = int(float(match[1]) * units[match[2]]) if match else 0
    if size < _LEAST:
        table.fail(key, f"{text!r} is no size from 64 KiB on", 'write a number and a unit: "512 MiB", "2 GiB"')
    return size


def read_nightly(table: Table) -> NightRules:
    """The table `[nightly]`."""
    own = table.table("nightly")
    if own is None:
        return NightRules()
    found = NightRules(
        subjects=own.texts("subjects"),
        trials=own.whole("trials", least=1, most=10_000),
        budget_usd=own.number("budget_usd", least=0),
    )
    own.finish()
    return found


def read_gate(table: Table) -> GateRules:
    """The table `[gate]`."""
    own = table.table("gate")
    if own is None:
        return GateRules()
    found = GateRules(
        subjects=own.texts("subjects"),
        rule=own.maybe_text("rule"),
        budget_usd=own.number("budget_usd", least=0),
        max_trials=own.whole("max_trials", least=1),
    )
    own.finish()
    return found


def read_build(table: Table) -> BuildRules:
    """A command, or a table with one."""
    if isinstance(table.anything("build"), list):
        return BuildRules(command=table.texts("build"))
    own = table.table("build")
    if own is None:
        return BuildRules()
    command = own.texts("command")
    if not command:
        own.fail("command", "is required", 'for example: command = ["make", "build"]')
    found = BuildRules(command=command, timeout=own.number("timeout", least=1) or BuildRules().timeout)
    own.finish()
    return found


def read_replay(table: Table) -> ReplayRules:
    """The table `[replay]`."""
    rules = table.table("replay")
    if rules is None:
        return ReplayRules()
    ignore = rules.texts("ignore")
    for index, path in enumerate(ignore):
        if not all(path.split(".")):
            rules.fail(f"ignore[{index}]", f"{path!r} is no path", "write steps with dots between them: extra.*.user")
    puts = []
    for rule in rules.tables("replace"):
        pattern = rule.text("pattern", required=True)
        put = rule.text("with")
        try:
            re.compile(pattern).sub(put, "")
            re.compile(f"(?:{pattern})|").sub(put, "")
        except (re.error, IndexError) as error:
            rule.fail("pattern", f"{pattern!r} with {put!r} is no regular expression: {error}")
        puts.append((pattern, put))
        rule.finish()
    rules.finish()
    return ReplayRules(ignore=ignore, replace=tuple(puts))
