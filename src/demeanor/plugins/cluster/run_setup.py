"""Config, plan and request → what workers need to make the attempts of a run. Nothing secret is in it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from demeanor._version import __version__
from demeanor.config import BuildRules, Config, Limit
from demeanor.core.redaction.encodings import can_be_secret, telling
from demeanor.core.text.codec import encode
from demeanor.core.values.errors import BadInput, UsageError
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.trial import Plan
from demeanor.plugins.cluster.archive import Archive, ArchiveError, pack
from demeanor.plugins.cluster.messages import RunSetup
from demeanor.plugins.cluster.spec import ClusterSpec
from demeanor.plugins.cluster.worker_run import PYTHON
from demeanor.runner import Catalog, asked_models, budget_limits, not_remote, plan_engines, shown_path, strings_of

_PROJECT_BYTES = 512 * 2**20


def run_setup(catalog: Catalog, spec: ClusterSpec, plan: Plan, request: RunRequest, *, seed: int) -> RunSetup:
    """What workers need to make the attempts of a run; raises UsageError if it can't be sent."""
    config = catalog.config
    if engines := plan_engines(plan):
        raise UsageError(not_remote(engines))
    _refuse_secrets(config)
    cells = [cell for cell in plan.cells if cell.skipped is None]
    for cell in cells:
        sent_scenario(cell.eval.scenario, where=str(cell.eval.source.path))
    providers = {**config.providers, **catalog.added_providers}
    setup = RunSetup(
        run=secrets.token_hex(16),
        version=__version__,
        python=PYTHON,
        root=str(config.root),
        file=config.where.name,
        subjects=tuple({str(cell.subject): cell.subject for cell in cells}.values()),
        other_models=asked_models(cell.eval for cell in cells),
        agents=config.agents,
        models=config.models,
        providers=providers,
        sandbox=request.sandbox or config.sandbox,
        min_isolation=config.min_isolation,
        network=config.network,
        limits=config.limits,
        gateway_limits=config.gateway_limits,
        idle_timeout=config.idle_timeout,
        canary=config.canary != "off",
        seed=seed,
        agent_debug=request.agent_debug,
        trial_budget=budget_limits(config, request).get("trial", Limit()),
        replay=None if request.replay is None else shown_path(Path(request.replay)),
        replay_rules=config.replay,
        allow_different=spec.allow_different,
        build=config.build if spec.builds and request.build else BuildRules(),
    )
    _require_json(setup, config)
    return setup


def pack_project(config: Config) -> Archive:
    """The project's files, as they are now: what a build has made included, but no history and no results."""
    left_out = {".git", ".venv", config.results.strip("/"), config.cassettes.strip("/")}

    def leave_out(path: str) -> bool:
        return path in left_out or path.endswith("__pycache__")

    try:
        return pack(config.root, leave_out, limit=_PROJECT_BYTES)
    except ArchiveError as error:
        remedy = "move large files out of the project, or run with --on local"
        raise UsageError(f"the project can't be sent to workers: {error}\n  → {remedy}") from None


def project_packer(config: Config, spec: ClusterSpec) -> Callable[[], Archive] | None:
    """Packs the project's files; None if workers need none of them, or can read them where they are."""
    if spec.builds and config.build.command:
        return partial(pack_project, config)
    used = bool(config.agents) or any("script" in model for model in config.models.values())
    return partial(pack_project, config) if used and not spec.is_here else None


def sent_scenario(scenario: Scenario, *, where: str) -> Scenario:
    """The scenario without what stays with the conductor; raises BadInput if its `params` are not plain values."""
    plain = replace(scenario, files={}, template=None, setup=None)
    try:
        json.dumps(encode(plain))
    except (TypeError, ValueError) as error:
        remedy = "use strings, numbers, lists and tables only, or run with --on local"
        raise BadInput(f"can't be sent to a worker: {error}", where=where, key="params", remedy=remedy) from None
    return plain


def _require_json(setup: RunSetup, config: Config) -> None:
    try:
        json.dumps(encode(setup))
    except (TypeError, ValueError) as error:
        remedy = "use strings, numbers, lists and tables only, or run with --on local"
        raise BadInput(f"can't be sent to a worker: {error}", where=config.where, remedy=remedy) from None


def _refuse_secrets(config: Config) -> None:
    """Raise BadInput if the configuration itself contains a secret: it would pass the scheduler."""
    for name, provider in config.providers.items():
        if provider.get("key"):
            _refuse(config, f"providers.{name}.key", 'key_env = "VARIABLE", and set the variable on the workers')
        for header, value in strings_of(provider.get("headers")).items():
            if can_be_secret(value) and telling({header: value}):
                _refuse(config, f"providers.{name}.headers.{header}", "a key_env, and set the variable on the workers")
    for name, agent in config.agents.items():
        for variable in telling(strings_of(agent.get("env"))):
            _refuse(config, f"agents.{name}.env.{variable}", "pass_env, and set the variable on the workers")


def _refuse(config: Config, key: str, instead: str) -> None:
    problem = "a secret in the configuration would be sent through the scheduler"
    raise BadInput(problem, where=config.where, key=key, remedy=f"use {instead}")
