"""Records, replays and audits the cassettes of a project."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.config import Config
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import CassetteError
from demeanor.core.values.eval import Eval
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import DEFAULT_TRIALS, Plan, Trial
from demeanor.define import discover
from demeanor.runner.catalog import BARE_AGENTS, Catalog
from demeanor.runner.secrets import known_secrets

if TYPE_CHECKING:
    from demeanor.gateway.cassette import CassetteProblem, Recorder
    from demeanor.gateway.models import Upstream


def cassette_problems(catalog: Catalog, chosen: Sequence[Eval]) -> tuple[CassetteProblem, ...]:
    """The problems of the project's cassettes that concern the chosen evals."""
    config = catalog.config
    folder = config.root / config.cassettes
    if not folder.is_dir():
        return ()
    from demeanor.gateway.cassette import CassetteFolder, audit

    evals = {eval_.name: eval_ for eval_ in (*_known_evals(config), *chosen)}
    names = {eval_.name for eval_ in chosen}
    agents = {*BARE_AGENTS, *config.agents}
    trials = config.trials or DEFAULT_TRIALS
    return tuple(audit(CassetteFolder(_relative(folder)), evals, chosen=names, agents=agents, trials=trials))


def shown_path(folder: Path) -> str:
    """A folder as messages show it."""
    return str(_relative(folder))


def _relative(folder: Path) -> Path:
    """A folder relative to the current one, if it is inside it."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _known_evals(config: Config) -> tuple[Eval, ...]:
    """Every eval in the configured paths that exist."""
    return discover([str(path) for name in config.paths if (path := config.root / name).exists()])


def recorder(catalog: Catalog, request: RunRequest) -> Recorder | None:
    """Records cassettes of the trials; None if the request does not ask for it."""
    if request.record is None:
        return None
    from demeanor.gateway.cassette import CassetteFolder, Recorder

    return Recorder(
        folder=CassetteFolder(Path(request.record)),
        secrets=tuple(known_secrets(catalog.config, catalog.environ).values()),
    )


def replay_model(catalog: Catalog, trials: Mapping[str, Trial], folder: str) -> Upstream:
    """The model that answers every request about these trials, given by id, from their cassettes."""
    from demeanor.gateway.cassette import CassetteFolder, Normaliser, ReplayModel

    return ReplayModel(
        folder=CassetteFolder(_relative(Path(folder))),
        trials=trials,
        normaliser=Normaliser(catalog.config.replay),
        secrets=tuple(known_secrets(catalog.config, catalog.environ).values()),
    )


def cassette_text(folder: str | None, trial: Trial) -> tuple[bytes | None, str]:
    """The cassette of a trial as text, or the reason why there is none; empty if nothing is replayed."""
    if folder is None:
        return None, ""
    from demeanor.gateway.cassette import CassetteFolder, write_cassette

    try:
        _, cassette = CassetteFolder(_relative(Path(folder))).read(trial.eval.name, str(trial.subject), trial.number)
    except CassetteError as error:
        return None, error.detail
    return write_cassette(cassette).encode("utf-8", "replace"), ""


def changed_task_notes(plan: Plan, request: RunRequest) -> tuple[str, ...]:
    """A note on whole tasks that have changed since their cassettes were recorded, if these are replayed. A cassette
    that can't be read voids its trial, with the reason.
    """
    if request.replay is None:
        return ()
    from demeanor.gateway.cassette import CassetteFolder, scenario_fingerprint

    folder, changed = CassetteFolder(_relative(Path(request.replay))), dict[str, None]()
    for trial in plan.trials():
        eval_ = trial.eval
        if eval_.task is None:
            continue
        with suppress(CassetteError):
            _, cassette = folder.read(eval_.name, str(trial.subject), trial.number)
            if cassette.scenario != scenario_fingerprint(eval_.scenario, eval_.task):
                changed[eval_.name] = None
    if not changed:
        return ()
    return (f"changed since their cassettes were recorded: {', '.join(changed)}; record them again with --record",)


def cassette_notes(request: RunRequest, record: Callable[[Trial, Capture], None] | None) -> tuple[str, ...]:
    """Where answers came from or were recorded, and what could not be recorded."""
    if request.replay is not None:
        return (f"replayed from {_relative(Path(request.replay))}: no model was asked, nothing was spent",)
    if request.record is None:
        return ()
    written: list[str] = getattr(record, "written", [])
    problems: list[str] = getattr(record, "problems", [])
    return (f"{'' if written else 'nothing was '}recorded in {_relative(Path(request.record))}", *problems)
