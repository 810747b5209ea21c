"""What a project says once, in `demeanor.toml` or under `[tool.demeanor]` of `pyproject.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from demeanor.config.fix import FixRules, read_fix_rules
from demeanor.config.harbor import HarborRules, read_harbor
from demeanor.config.table import Table
from demeanor.config.tables import (
    BuildRules,
    GateRules,
    Limit,
    NightRules,
    ReplayRules,
    read_budgets,
    read_build,
    read_gate,
    read_limits,
    read_nightly,
    read_replay,
)
from demeanor.core.errors import BadInput
from demeanor.core.fault import Fault, parse_faults
from demeanor.core.sandbox_spec import DEFAULT_LEVEL, NETWORKS, RANKS, Ceilings, Network

FILE = "demeanor.toml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """The configuration. Every key may be left out."""

    root: Path
    """The folder that paths are relative to: where the file is, or the current folder where there is none."""

    file: Path | None = None
    """Where it was read from; None where there is none."""

    paths: tuple[str, ...] = ("evals",)
    """Where evals are looked for when a command names no paths."""

    subjects: tuple[str, ...] = ()
    """Whom to try when a command names nobody, as `agent:model` (default: `native`, with a local model if it can)."""

    trials: int | None = None
    """Trials per cell (default 3)."""

    timeout: float | None = None
    """Seconds that a trial may take (default 300)."""

    idle_timeout: float | None = None
    """Seconds without output or model traffic after which an agent is ended; none by default."""

    jobs: int | None = None
    """Trials that run at once (default: twice the number of cores, at most 8)."""

    attempts: int = 3
    """Attempts per trial: voids are tried again up to this number."""

    results: str = "results"
    """The folder that runs are kept in."""

    store: str = ""
    """Where the history of all runs is kept: a file, or `postgresql://…` (default: `demeanor.db` beside the runs)."""

    captures: str = ""
    """A folder, or `s3://…`, to publish captures to when a run ends; by default they stay in the run's own folder."""

    sandbox: str = DEFAULT_LEVEL
    """Where agents run: `bubblewrap` (default), `docker`, `podman`, `landlock`, `seatbelt` or `none`; see
    [Sandboxes](sandboxes.md).
    """

    min_isolation: str | None = None
    """The least that agents are to be kept apart, whatever `--sandbox` says; none by default."""

    network: Network = "gateway"
    """What agents can reach: their own `gateway` (default), `none`, or what the `host` can."""

    limits: Ceilings = field(default_factory=Ceilings)
    """What an attempt may use: `processes`, `disk`, `files`, `memory` and `output`; sizes as in `"512 MiB"`."""

    canary: Literal["fail", "note", "off"] = "fail"
    """What comes of a trial whose agent gives its canary token away; `off` lays none. See [Secrets](secrets.md)."""

    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Agents by name, each with its `adapter` and that adapter's own keys."""

    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Models by name: which provider or script answers for them."""

    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Providers by name: where they are and which variable holds their key."""

    budgets: Mapping[str, Limit] = field(default_factory=dict)
    """What a `trial`, an `eval` and a `run` may spend: `usd` and `tokens`. A spent budget makes trials void."""

    nightly: NightRules = field(default_factory=NightRules)
    """What nightly runs do otherwise: `subjects`, `trials` and `budget_usd`; see [Reports](report.md#nightly)."""

    gate: GateRules = field(default_factory=GateRules)
    """What the gate does otherwise: key `subjects`, `rule`, `budget_usd`, `max_trials`; see [Decisions](decide.md)."""

    fix: FixRules = field(default_factory=FixRules)
    """Who mends what broke, where it may write, and how its work is proven; see [Fix](fix.md)."""

    build: BuildRules = field(default_factory=BuildRules)
    """How a commit is built to be tried, `["make", "build"]`; or a table of `command` and `timeout` (seconds)."""

    cassettes: str = "evals/cassettes"
    """The folder that cassettes are recorded in and replayed from."""

    replay: ReplayRules = field(default_factory=ReplayRules)
    """What doesn't count when a replay compares requests: `ignore` (paths) and `replace` (patterns)."""

    faults: tuple[Fault, ...] = ()
    """How answers of the model are broken on purpose, such as `["429@1", "cut@30%"]`; see [Faults](faults.md)."""

    harbor: HarborRules = field(default_factory=HarborRules)
    """How whole tasks are run: `program`, `env`, `gateway_host`, `direct`, …; see [Harbor](harbor.md#configuration)."""

    @property
    def where(self) -> Path:
        """The configuration's file, or where it would be."""
        return self.file or self.root / FILE

    def at_night(self) -> Config:
        """The configuration as it is for nightly runs."""
        own = self.nightly
        run = self.budgets.get("run", Limit())
        budget = {"run": replace(run, usd=own.budget_usd)} if own.budget_usd is not None else {}
        return replace(
            self,
            subjects=own.subjects or self.subjects,
            trials=own.trials or self.trials,
            budgets={**self.budgets, **budget},
        )

    def tables(self, kind: Literal["agents", "models", "providers"]) -> dict[str, Table]:
        """The tables `[kind.NAME]` by name, to be read strictly."""
        found: Mapping[str, Mapping[str, Any]] = getattr(self, kind)
        return {name: Table(data, where=self.where, prefix=f"{kind}.{name}.") for name, data in found.items()}


def find_config(start: Path) -> Path | None:
    """The nearest configuration file in `start` or in a folder above it."""
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        project = folder / "pyproject.toml"
        if project.is_file() and "[tool.demeanor" in project.read_text("utf-8", "replace"):
            return project
    return None


def read_config(start: Path, file: Path | None = None) -> Config:
    """The configuration of the project that `start` is in, or the one in `file`; any mistake in it is a BadInput."""
    path = file or find_config(start.resolve())
    if path is None:
        return Config(root=start.resolve())
    data = read_toml(path)
    if path.name == "pyproject.toml":
        data = data.get("tool", {}).get("demeanor", {})
    return _config(Table(data, where=path), path.resolve())


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file; what is wrong with it is told with its line."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", where=path) from None
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=path) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"is not valid TOML: {error}", where=path) from None


def _config(table: Table, path: Path) -> Config:
    subjects = table.texts("subjects")
    paths = table.texts("paths")
    config = Config(
        root=path.parent,
        file=path,
        paths=paths or ("evals",),
        subjects=subjects,
        trials=table.whole("trials", least=1, most=10_000),
        timeout=table.number("timeout", least=0.1),
        idle_timeout=table.number("idle_timeout", least=0.1),
        jobs=table.whole("jobs", least=1, most=1000),
        attempts=table.whole("attempts", least=1, most=100) or 3,
        results=table.text("results", "results"),
        store=table.text("store"),
        captures=table.text("captures"),
        canary=table.choice("canary", ("fail", "note", "off")) or "fail",  # type: ignore[arg-type]
        sandbox=table.text("sandbox", DEFAULT_LEVEL),
        min_isolation=table.choice("min_isolation", tuple(RANKS)),
        network=cast("Network", table.choice("network", NETWORKS, "gateway")),
        limits=read_limits(table),
        agents=_tables(table, "agents"),
        models=_tables(table, "models"),
        providers=_tables(table, "providers"),
        budgets=read_budgets(table),
        nightly=read_nightly(table),
        gate=read_gate(table),
        fix=read_fix_rules(table.table("fix")),
        build=read_build(table),
        cassettes=table.text("cassettes", "evals/cassettes"),
        replay=read_replay(table),
        faults=parse_faults(table.texts("faults"), where=table.where, key="faults"),
        harbor=read_harbor(table),
    )
    table.finish()
    return config


def _tables(table: Table, key: str) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for name, value in table.mapping(key).items():
        if not isinstance(value, dict):
            table.fail(f"{key}.{name}", "expected a table", f"write [{key}.{name}] above its keys")
        if key == "agents" and (":" in name or not name.strip()):
            table.fail(f"{key}.{name}", "a name holds no colon", "subjects are written agent:model")
        found[name] = value
    return found
