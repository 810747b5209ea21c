"""What a project says once, in `holdfast.toml` or under `[tool.holdfast]` of `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from holdfast.core.errors import BadInput
from holdfast.core.fault import Fault, parse_faults
from holdfast.core.table import Table

FILE = "holdfast.toml"

SCOPES = ("trial", "eval", "run")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """What may be spent; None means any amount."""

    usd: float | None = None
    """US dollars."""

    tokens: int | None = None
    """Tokens in both directions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayRules:
    """What a project adds to the rules by which a replay compares requests."""

    ignore: tuple[str, ...] = ()
    """Paths into a request that don't count, as in `extra.*.user`: `*` is any one step, `**` any number of them."""

    replace: tuple[tuple[str, str], ...] = ()
    """Regular expressions, and what is put in the place of what they find."""


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
    """Where the history of all runs is kept: a file, or `postgresql://…` (default: `holdfast.db` beside the runs)."""

    captures: str = ""
    """A folder, or `s3://…`, to publish captures to when a run ends; by default they stay in the run's own folder."""

    sandbox: str = "local"
    """Where agents run."""

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

    cassettes: str = "evals/cassettes"
    """The folder that cassettes are recorded in and replayed from."""

    replay: ReplayRules = field(default_factory=ReplayRules)
    """What doesn't count when a replay compares requests: `ignore` (paths) and `replace` (patterns)."""

    faults: tuple[Fault, ...] = ()
    """How answers of the model are broken on purpose, such as `["429@1", "cut@30%"]`; see [Faults](faults.md)."""

    @property
    def where(self) -> Path:
        """The configuration's file, or where it would be."""
        return self.file or self.root / FILE

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
        if project.is_file() and "[tool.holdfast" in project.read_text("utf-8", "replace"):
            return project
    return None


def read_config(start: Path, file: Path | None = None) -> Config:
    """The configuration of the project that `start` is in, or the one in `file`; any mistake in it is a BadInput."""
    path = file or find_config(start.resolve())
    if path is None:
        return Config(root=start.resolve())
    data = read_toml(path)
    if path.name == "pyproject.toml":
        data = data.get("tool", {}).get("holdfast", {})
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
        raise BadInput(f"is no TOML: {error}", where=path) from None


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
        sandbox=table.text("sandbox", "local"),
        canary=table.choice("canary", ("fail", "note", "off")) or "fail",  # type: ignore[arg-type]
        agents=_tables(table, "agents"),
        models=_tables(table, "models"),
        providers=_tables(table, "providers"),
        budgets=_budgets(table),
        cassettes=table.text("cassettes", "evals/cassettes"),
        replay=_replay(table),
        faults=parse_faults(table.texts("faults"), where=table.where, key="faults"),
    )
    table.finish()
    return config


def _budgets(table: Table) -> dict[str, Limit]:
    budgets = table.table("budgets")
    found = {}
    for scope in SCOPES:
        limit = budgets.table(scope) if budgets else None
        if limit:
            found[scope] = Limit(usd=limit.number("usd", least=0), tokens=limit.whole("tokens", least=1))
            limit.finish()
    if budgets:
        budgets.finish()
    return found


def _replay(table: Table) -> ReplayRules:
    rules = table.table("replay")
    if rules is None:
        return ReplayRules()
    ignore = rules.texts("ignore")
    for index, path in enumerate(ignore):
        if not all(path.split(".")):
            rules.fail(f"ignore[{index}]", f"{path!r} is no path", "write steps with dots between them: extra.*.user")
    replace = []
    for rule in rules.tables("replace"):
        pattern = rule.text("pattern", required=True)
        put = rule.text("with")
        try:
            re.compile(pattern).sub(put, "")
            re.compile(f"(?:{pattern})|").sub(put, "")
        except (re.error, IndexError) as error:
            rule.fail("pattern", f"{pattern!r} with {put!r} is no regular expression: {error}")
        replace.append((pattern, put))
        rule.finish()
    rules.finish()
    return ReplayRules(ignore=ignore, replace=tuple(replace))


def _tables(table: Table, key: str) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for name, value in table.mapping(key).items():
        if not isinstance(value, dict):
            table.fail(f"{key}.{name}", "expected a table", f"write [{key}.{name}] above its keys")
        if key == "agents" and (":" in name or not name.strip()):
            table.fail(f"{key}.{name}", "a name holds no colon", "subjects are written agent:model")
        found[name] = value
    return found
