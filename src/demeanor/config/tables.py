"""The smaller tables of the configuration: `[nightly]`, `[gate]`, `[evidence]`, `[build]`, `[replay]`, `[budgets]` …"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from demeanor.config.table import Table, read_whole
from demeanor.core.values.gateway_limits import GatewayLimits
from demeanor.core.values.policy import Policy
from demeanor.core.values.sandbox_spec import Ceilings

SCOPES = ("trial", "eval", "run")
"""What a budget is for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """A budget; None means no limit."""

    usd: float | None = None
    """US dollars (default: no limit)."""

    tokens: int | None = None
    """Tokens in both directions (default: no limit)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightRules:
    """Overrides for nightly runs."""

    subjects: tuple[str, ...] = ()
    """The subjects to test (default: the same as in other runs)."""

    trials: int | None = None
    """Trials per cell (default: the same as in other runs)."""

    budget_usd: float | None = None
    """The budget of the run."""

    branch: str = ""
    """The branch whose nights count for promotions and as baseline (default: the default branch)."""

    min_trials: int | None = None
    """Judged trials that a cell needs so that its night counts (default: two thirds of the configured trials)."""

    accepted: Mapping[str, str] = field(default_factory=dict)
    """EVAL or EVAL/SUBJECT → the day, such as "2026-11-19", up to which its falls, or that it is gone, are accepted and
    not reported."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRules:
    """Overrides for `demeanor gate`."""

    subjects: tuple[str, ...] = ()
    """The key subjects, which decide about a change (default: the same as in other runs)."""

    thorough: bool = False
    """Whether a gate runs more trials to miss fewer drops, as with `--thorough`."""

    confirm: int = 3
    """Fresh trials that confirm a rejection: one of them must fail too (default: 3; 0 for none)."""

    budget_usd: float | None = None
    """The budget of a gate."""

    max_trials: int | None = None
    """The maximum number of trials over all cells."""

    empty: Literal["pass", "undecided"] | None = None
    """The result if there was nothing to gate (default: `undecided` in CI, `pass` elsewhere)."""

    manual_promotion: Literal["reject", "warn"] = "reject"
    """What happens to an ALWAYS_PASSES eval whose promotion is not recorded, once the history has nights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceRules:
    """The share of planned trials that must be judged before a run decides about a cell."""

    always: float = 1.0
    """For ALWAYS_PASSES (default: 1)."""

    usually: float | None = None
    """For the other policies (default: two thirds)."""

    def needed(self, policy: Policy, planned: int) -> int:
        """The number of trials that must be judged."""
        if policy is not Policy.ALWAYS_PASSES and self.usually is None:
            return -(-planned * 2 // 3)
        share = self.always if policy is Policy.ALWAYS_PASSES else self.usually or 0.0
        return max(1, math.ceil(round(planned * share, 9)))


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticsRules:
    """What decisions over many evals tolerate."""

    margin: float = 0.05
    """A drop of the mean pass rate by less than this is tolerated (default: 0.05, five points)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildRules:
    """How the project is built, in the working tree or in a checkout."""

    command: tuple[str, ...] = ()
    """The build command, run in the configuration's folder (default: nothing is built)."""

    timeout: float = 1800.0
    """Its time limit in seconds (default: 1800)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayRules:
    """Additional rules for comparing requests in a replay."""

    ignore: tuple[str, ...] = ()
    """Paths in a request to ignore, such as `extra.*.user`: `*` is one step, `**` any number of steps."""

    replace: tuple[tuple[str, str], ...] = ()
    """Regular expressions with their replacements."""


def read_budgets(table: Table) -> dict[str, Limit]:
    """The table `[budgets]`, by scope."""
    budgets = table.table("budgets")
    limits = {}
    for scope in SCOPES:
        limit = budgets.table(scope) if budgets else None
        if limit:
            limits[scope] = Limit(usd=limit.number("usd", least=0), tokens=limit.whole("tokens", least=1))
            limit.finish()
    if budgets:
        budgets.finish()
    return limits


def read_limits(table: Table) -> tuple[Ceilings, GatewayLimits]:
    """The table `[limits]`: for the sandbox and for the gateway."""
    with table.section("limits") as limits:
        default = Ceilings()
        ceilings = Ceilings(
            processes=limits.whole("processes", least=8) or default.processes,
            disk=limits.size("disk", default.disk),
            files=limits.whole("files", least=100) or default.files,
            memory=limits.size("memory", default.memory),
            output=limits.size("output", default.output),
        )
        requests = GatewayLimits(
            request=limits.size("request", GatewayLimits().request),
            response=limits.size("response", GatewayLimits().response),
            connections=limits.whole("connections", least=1) or GatewayLimits().connections,
        )
        return ceilings, requests


def read_nightly(table: Table) -> NightRules:
    """The table `[nightly]`."""
    with table.section("nightly") as own:
        return NightRules(
            subjects=own.texts("subjects"),
            trials=own.whole("trials", least=1, most=10_000),
            budget_usd=own.number("budget_usd", least=0),
            branch=own.text("branch"),
            min_trials=own.whole("min_trials", least=1, most=10_000),
            accepted=_read_accepted(own),
        )


def _read_accepted(table: Table) -> Mapping[str, str]:
    accepted = table.strings("accepted")
    for name, day in accepted.items():
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", day):
            table.fail(f"accepted.{name}", f"{day!r} is not a day", 'write the day of the change, such as "2026-11-19"')
    return accepted


def read_gate(table: Table) -> GateRules:
    """The table `[gate]`."""
    with table.section("gate") as own:
        return GateRules(
            subjects=own.texts("subjects"),
            thorough=own.flag("thorough"),
            confirm=3 if (confirm := own.whole("confirm", least=0, most=100)) is None else confirm,
            budget_usd=own.number("budget_usd", least=0),
            max_trials=own.whole("max_trials", least=1),
            empty=cast("Literal['pass', 'undecided'] | None", own.choice("empty", ("pass", "undecided"))),
            manual_promotion=cast(
                "Literal['reject', 'warn']", own.choice("manual_promotion", ("reject", "warn"), "reject")
            ),
        )


def read_evidence(table: Table) -> EvidenceRules:
    """The table `[evidence]`."""
    with table.section("evidence") as own:
        always = own.number("always", least=0, most=1)
        return EvidenceRules(always=1.0 if always is None else always, usually=own.number("usually", least=0, most=1))


def read_statistics(table: Table) -> StatisticsRules:
    """The table `[statistics]`."""
    with table.section("statistics") as own:
        margin = own.number("margin", least=0.001, most=1)
        return StatisticsRules() if margin is None else StatisticsRules(margin=margin)


def read_build(table: Table) -> BuildRules:
    """`build`: a command, or a table with one."""
    if (words := table.maybe_texts("build")) is not None:
        return BuildRules(command=words)
    own = table.table("build")
    return BuildRules() if own is None else read_whole(own, _read_build)


def _read_build(own: Table) -> BuildRules:
    command = own.command("command")
    if not command:
        own.fail("command", "is required", 'for example: command = ["make", "build"]')
    return BuildRules(command=command, timeout=own.number("timeout", least=1) or BuildRules().timeout)


def read_replay(table: Table) -> ReplayRules:
    """The table `[replay]`."""
    with table.section("replay") as rules:
        ignore = rules.texts("ignore")
        for index, path in enumerate(ignore):
            if not all(path.split(".")):
                rules.fail(f"ignore[{index}]", f"{path!r} is not a path", "separate the steps by dots: extra.*.user")
        puts = []
        for rule in rules.tables("replace"):
            pattern = rule.text("pattern", required=True)
            put = rule.text("with")
            try:
                re.compile(pattern).sub(put, "")
                re.compile(f"(?:{pattern})|").sub(put, "")
            except (re.error, IndexError) as error:
                rule.fail("pattern", f"{pattern!r} with {put!r} is not a valid regular expression: {error}")
            puts.append((pattern, put))
            rule.finish()
        return ReplayRules(ignore=ignore, replace=tuple(puts))
