"""The configuration of a project: `demeanor.toml` or `[tool.demeanor]` in `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from demeanor.config.engine_tables import read_engine_tables
from demeanor.config.executor import read_executor
from demeanor.config.fix import FixRules, read_fix_rules
from demeanor.config.table import Table
from demeanor.config.tables import (
    BuildRules,
    EvidenceRules,
    GateRules,
    Limit,
    NightRules,
    ReplayRules,
    StatisticsRules,
    read_budgets,
    read_build,
    read_evidence,
    read_gate,
    read_limits,
    read_nightly,
    read_replay,
    read_statistics,
)
from demeanor.core.values.errors import BadInput
from demeanor.core.values.executor_spec import ExecutorSpec
from demeanor.core.values.fault import Fault, parse_faults
from demeanor.core.values.gateway_limits import GatewayLimits
from demeanor.core.values.sandbox_spec import DEFAULT_LEVEL, NETWORKS, RANKS, Ceilings, Network


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeRules:
    """The project's judge."""

    model: str = ""
    """The model that is asked (default: the local one)."""

    prompt: str = ""
    """A file with the instructions for the judge, relative to the configuration (default: built-in ones)."""

    trusted: tuple[str, ...] = ()
    """Evals that may block a merge and be promoted although their judge is not calibrated."""


def read_judge(table: Table) -> JudgeRules:
    """The table `[judge]`."""
    with table.section("judge") as judge:
        return JudgeRules(model=judge.text("model"), prompt=judge.text("prompt"), trusted=judge.texts("trusted"))


FILE = "demeanor.toml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """The configuration. Every key is optional."""

    root: Path
    """The folder that paths are relative to: the file's, or the current one if there is no file."""

    file: Path | None = None
    """The file it was read from; None if there is none."""

    paths: tuple[str, ...] = ("evals",)
    """The paths to search for evals if a command names none (default: `evals`)."""

    subjects: tuple[str, ...] = ()
    """The subjects to test if a command names none, as `agent:model` (default: `native`, with a local model if
    possible).
    """

    trials: int | None = None
    """Trials per cell (default: 3)."""

    timeout: float | None = None
    """The time limit of a trial in seconds (default: 300)."""

    check_timeout: float = 60.0
    """The time limit of one check in seconds, without the time that its commands take (default: 60). A check that takes
    longer is killed.
    """

    idle_timeout: float | None = None
    """Kill an agent after this many seconds without output or model traffic (default: no limit)."""

    jobs: int | None = None
    """Trials that run in parallel (default: twice the number of cores, at most 8; 2 with a local model)."""

    attempts: int = 3
    """Attempts per trial: void trials are retried up to this number (default: 3)."""

    results: str = "results"
    """The folder for runs (default: `results`)."""

    store: str = ""
    """The database for the history of all runs: a file or `postgresql://…` (default: `demeanor.db` in `results`)."""

    captures: str = ""
    """A folder or `s3://…` to publish captures to when a run ends (default: they stay in the run's folder)."""

    sandbox: str = DEFAULT_LEVEL
    """The sandbox level: `bubblewrap` (default), `docker`, `podman`, `landlock` or `none`; see
    [Sandboxes](sandboxes.md).
    """

    min_isolation: str | None = None
    """The weakest sandbox level that is allowed, also for `--sandbox` (default: any)."""

    network: Network = "gateway"
    """What agents can reach: only their `gateway` (default), `none`, or everything that the `host` can."""

    limits: Ceilings = field(default_factory=Ceilings)
    """Resource limits of an attempt: `processes`, `disk`, `files`, `memory`, `output` (see
    [Sandboxes](sandboxes.md#bubblewrap)), and of its model requests: `request` (the size of one, default `"32 MiB"`)
    and `connections` (default 64); sizes such as `"512 MiB"`.
    """

    gateway_limits: GatewayLimits = field(default_factory=GatewayLimits)
    """The limits of model requests, from the keys `request` and `connections` of `limits`."""

    canary: Literal["fail", "note", "off"] = "fail"
    """What happens to a trial whose agent leaks its canary token: `fail` (default) or `note`; with `off`, there is no
    token. See [Secrets](sandboxes.md#secrets).
    """

    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Agents by name, each with its `adapter` and the adapter's own keys."""

    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Models by name, each with its provider or script."""

    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Providers by name, each with its URL and the variable of its API key."""

    budgets: Mapping[str, Limit] = field(default_factory=dict)
    """The budgets of a `trial`, an `eval` and a `run`: `usd` and `tokens`. A trial that spends its own fails; when
    that of the eval or the run is spent, trials are void. See [Models](models.md#budgets).
    """

    nightly: NightRules = field(default_factory=NightRules)
    """For nightly runs: `subjects`, `trials`, `budget_usd`; which nights count: `branch`, `min_trials`; and `accepted`
    falls. See [Nightly runs](nightly.md#which-nights-count).
    """

    gate: GateRules = field(default_factory=GateRules)
    """For the gate: key `subjects`, `thorough`, `confirm`, `budget_usd`, `max_trials`, `empty`,
    `manual_promotion`; see [Gate and promote](decide.md).
    """

    evidence: EvidenceRules = field(default_factory=EvidenceRules)
    """The share of planned trials that must be judged before a run accepts a cell: `always` (default: 1) for
    ALWAYS_PASSES, `usually` (default: two thirds) for other policies.
    """

    statistics: StatisticsRules = field(default_factory=StatisticsRules)
    """What decisions over many evals tolerate: `margin`, a drop of the mean pass rate (default: 0.05); see
    [Compare](compare.md).
    """

    fix: FixRules = field(default_factory=FixRules)
    """The agent that fixes failures, the files it may change, and how its fix is tested; see [Fix](fix.md)."""

    judge: JudgeRules = field(default_factory=JudgeRules)
    """The judge that checks can ask: `model` (default: the local one), `prompt`, a file with its instructions
    (default: built-in), and `trusted`, evals that may block without calibration; see [Judges](judges.md).
    """

    build: BuildRules = field(default_factory=BuildRules)
    """The command that builds the project before it is tested, such as `["make", "build"]`; or a table with `command`
    and `timeout` (seconds). See [Test your own agent](test-your-agent.md#build-the-agent-first).
    """

    executor: ExecutorSpec = field(default_factory=ExecutorSpec)
    """Where attempts run: `on` (a number of workers, `tls://HOST:PORT`, or a place of an installed package), and the
    settings of each executor, such as `[executor.cluster]`; see [Scale](scale.md#cluster).
    """

    executors: Mapping[str, ExecutorSpec] = field(default_factory=dict)
    """The settings of executors by name, from the tables in `executor`."""

    cassettes: str = "evals/cassettes"
    """The folder for cassettes (default: `evals/cassettes`)."""

    replay: ReplayRules = field(default_factory=ReplayRules)
    """What a replay ignores when it compares requests: `ignore` (paths) and `replace` (patterns)."""

    faults: tuple[Fault, ...] = ()
    """Faults to inject into the model's answers, such as `["429@1", "cut@30%"]`; see [Faults](gateway.md#faults)."""

    engines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The tables of engines for whole tasks, by name, as they are written: an engine reads its own."""

    @property
    def where(self) -> Path:
        """The configuration file, or the path it would have."""
        return self.file or self.root / FILE

    def at_night(self) -> Config:
        """The configuration of nightly runs."""
        own = self.nightly
        run = self.budgets.get("run", Limit())
        budget = {"run": replace(run, usd=own.budget_usd)} if own.budget_usd is not None else {}
        return replace(
            self,
            subjects=own.subjects or self.subjects,
            trials=own.trials or self.trials,
            budgets={**self.budgets, **budget},
        )

    def engine_table(self, name: str) -> Table:
        """The table of an engine; empty if it has none."""
        return Table(self.engines.get(name, {}), where=self.where, prefix=f"{name}.")

    def tables(self, kind: Literal["agents", "models", "providers"], *, unbuilt: bool = False) -> dict[str, Table]:
        """The tables `[kind.NAME]` by name; `unbuilt` as for a table."""
        tables: Mapping[str, Mapping[str, Any]] = getattr(self, kind)
        return {
            name: Table(data, where=self.where, prefix=f"{kind}.{name}.", unbuilt=unbuilt)
            for name, data in tables.items()
        }


def find_config(start: Path) -> Path | None:
    """The configuration file in `start` or in the nearest folder above it."""
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        project = folder / "pyproject.toml"
        if project.is_file() and "[tool.demeanor" in project.read_text("utf-8", "replace"):
            return project
    return None


def read_config(start: Path, file: Path | None = None) -> Config:
    """The configuration in `file`, or of the project that contains `start`; raises BadInput if it is invalid."""
    path = file or find_config(start.resolve())
    if path is None:
        return Config(root=start.resolve())
    data = read_toml(path)
    if path.name == "pyproject.toml":
        data = data.get("tool", {}).get("demeanor", {})
    return read_settings(Table(data, where=path), path.resolve())


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; raises BadInput with the line if it is invalid."""
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", where=path) from None
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=path) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"is not valid TOML: {error}", where=path) from None


def scheme_of(address: str) -> str:
    """`sqlite` of `sqlite:x`, `postgresql` of `postgresql://host/db`; empty for a path."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", address)
    return match[1].lower() if match else ""


def _folder(table: Table, key: str, default: str) -> str:
    path = table.text(key, default)
    if scheme_of(path):
        table.fail(key, f"expected a folder, found {path!r}", "the address of a database belongs in `store`")
    return path


def read_settings(table: Table, path: Path) -> Config:
    """The configuration in a table of the file `path`."""
    subjects = table.texts("subjects")
    limits, gateway_limits = read_limits(table)
    paths = table.texts("paths")
    executor, executors = read_executor(table)
    config = Config(
        root=path.parent,
        file=path,
        paths=paths or ("evals",),
        subjects=subjects,
        trials=table.whole("trials", least=1, most=10_000),
        timeout=table.number("timeout", least=0.1),
        check_timeout=table.number("check_timeout", least=0.1) or 60.0,
        idle_timeout=table.number("idle_timeout", least=0.1),
        jobs=table.whole("jobs", least=1, most=1000),
        attempts=table.whole("attempts", least=1, most=100) or 3,
        results=_folder(table, "results", "results"),
        store=table.text("store"),
        captures=table.text("captures"),
        canary=table.choice("canary", ("fail", "note", "off")) or "fail",  # type: ignore[arg-type]
        sandbox=table.text("sandbox", DEFAULT_LEVEL),
        min_isolation=table.choice("min_isolation", tuple(RANKS)),
        network=cast("Network", table.choice("network", NETWORKS, "gateway")),
        limits=limits,
        gateway_limits=gateway_limits,
        agents=_tables(table, "agents"),
        models=_tables(table, "models"),
        providers=_tables(table, "providers"),
        budgets=read_budgets(table),
        nightly=read_nightly(table),
        gate=read_gate(table),
        evidence=read_evidence(table),
        statistics=read_statistics(table),
        fix=read_fix_rules(table.table("fix")),
        judge=read_judge(table),
        build=read_build(table),
        executor=executor,
        executors=executors,
        cassettes=table.text("cassettes", "evals/cassettes"),
        replay=read_replay(table),
        faults=parse_faults(table.texts("faults"), where=table.where, key="faults"),
        engines=read_engine_tables(table),  # last: what is left may belong to one
    )
    table.finish()
    return config


def _tables(table: Table, key: str) -> dict[str, Mapping[str, Any]]:
    tables: dict[str, Mapping[str, Any]] = {}
    for name, value in table.mapping(key).items():
        if not isinstance(value, dict):
            table.fail(f"{key}.{name}", "expected a table", f"write [{key}.{name}] above its keys")
        if key == "agents" and (":" in name or not name.strip()):
            table.fail(f"{key}.{name}", "a name must not contain a colon", "subjects are written agent:model")
        tables[name] = value
    return tables
