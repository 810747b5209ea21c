"""Which evals a request means: find the definitions, then select by name, keyword, suite and policy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, TypeAlias

from demeanor.config import Config
from demeanor.core.text.select import keyword_matcher
from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import BadInput, NothingToRun, UnknownName
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import Policy
from demeanor.core.values.run_request import RunRequest
from demeanor.define import discover, eval_folders
from demeanor.runner.judge_settings import with_judge
from demeanor.runner.prefixes import with_known_prefixes

PolicyChoice: TypeAlias = Literal["always", "all"]


def select_evals(evals: Sequence[Eval], request: RunRequest) -> tuple[Eval, ...]:
    """The evals that a request selects; raises if a name is unknown or nothing matches. The policy may leave none:
    without one, every eval is selected if the request names some, otherwise ALWAYS_PASSES only.
    """
    _require("eval", request.names, {eval_.name for eval_ in evals})
    _require("suite", request.suites, {eval_.suite for eval_ in evals if eval_.suite})
    matches = keyword_matcher(request.keyword)
    selected = [
        eval_
        for eval_ in evals
        if (not request.names or eval_.name in request.names)
        and (not request.suites or eval_.suite in request.suites)
        and matches((eval_.name, *eval_.tags, eval_.suite or "", eval_.source.path.name))
    ]
    named = request.paths or request.names or request.keyword or request.suites
    every_policy = request.policy == "all" or (request.policy is None and named)
    allowed = [eval_ for eval_ in selected if every_policy or eval_.policy is Policy.ALWAYS_PASSES]
    if not selected:
        raise NothingToRun(f"no eval matches (of {len(evals)} defined)\n  → `demeanor validate --list` shows all evals")
    return tuple(allowed)


def _require(kind: str, names: Iterable[str], choices: Collection[str]) -> None:
    """Raise UnknownName if a name is not known."""
    for name in names:
        if name not in choices:
            raise UnknownName(kind, name, choices)


def choose_evals(
    config: Config,
    *,
    paths: Sequence[str] = (),
    names: Sequence[str] = (),
    keyword: str = "",
    suites: Sequence[str] = (),
    policy: PolicyChoice | None = "all",
) -> tuple[Eval, ...]:
    """The evals of a request. A policy of None means all if evals are named, and ALWAYS_PASSES otherwise."""
    request = RunRequest(paths=tuple(paths), names=tuple(names), keyword=keyword, suites=tuple(suites), policy=policy)
    return select_evals(collect_evals(config, paths), request)


def collect_evals(
    config: Config, paths: Sequence[str] = (), *, unusable: list[BadInput] | None = None
) -> tuple[Eval, ...]:
    """All evals below the paths of the command line, or of the configuration; `unusable` as in `discover`."""
    return with_known_prefixes(with_judge(discover(eval_paths(config, paths), unusable=unusable), config))


def usable_evals(config: Config, paths: Sequence[str] = ()) -> tuple[tuple[Eval, ...], tuple[str, ...]]:
    """The evals that can be read on this machine, and a line for each definition that lacks something here."""
    unusable: list[BadInput] = []
    evals = collect_evals(config, paths, unusable=unusable)
    return evals, tuple(dict.fromkeys(one_line(str(problem), width=400) for problem in unusable))


def eval_paths(config: Config, paths: Sequence[str]) -> list[str]:
    """The paths of the command line, or those of the configuration."""
    if paths:
        return list(paths)
    configured = [config.root / path for path in config.paths]
    if config.file is None and not any(path.exists() for path in configured):  # a folder of scenarios is one of evals
        configured = eval_folders(config.root) or configured
    for path in configured:
        if not path.exists():
            raise BadInput(
                "there are no evals here",
                where=path,
                remedy="name their files or folders, set `paths` in demeanor.toml, or create some: demeanor init",
            )
    return [str(path) for path in configured]
