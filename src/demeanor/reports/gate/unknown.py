"""What a gate may lack in CI: the base commit and the nights. Without them it misses what a change breaks."""

from __future__ import annotations

from collections.abc import Mapping

from demeanor.config import Config
from demeanor.define import Edits
from demeanor.reports.gate.cells_before import config_before
from demeanor.results import CountedNights, nightly_workflows

_FULL_CLONE = {
    "GITHUB_ACTIONS": "with: { fetch-depth: 0 }   # below uses: actions/checkout",
    "GITLAB_CI": 'variables: { GIT_DEPTH: "0" }   # and, before the gate: git fetch origin'
    " $CI_DEFAULT_BRANCH:refs/remotes/origin/$CI_DEFAULT_BRANCH",
}
_FETCH = "git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'"
_HISTORY = "restore it before the gate (demeanor help ci), or run the nightly workflow once if it never ran"


def unknown(config: Config, environ: Mapping[str, str], base: Edits, nights: CountedNights) -> tuple[str, ...]:
    """What the gate does not know, each with the line that repairs the workflow; nothing outside of CI.

    A history is missed only where there should be one: it is configured, now or at the base commit, or that commit has
    a workflow for nights.
    """
    if not environ.get("CI"):
        return ()
    missing = []
    if base.problem is not None:
        line = next((line for name, line in _FULL_CLONE.items() if environ.get(name)), _FETCH)
        missing.append(f"the base commit is unknown: {base.problem} → {line}")
    if not nights.nights and nights.ignored:
        missing.append(f"no night counts: {'; '.join(nights.notes)}")
    elif not nights.nights and _expected(config, environ, base):
        missing.append(f"the history has no night → {_HISTORY}")
    return tuple(missing)


def _expected(config: Config, environ: Mapping[str, str], base: Edits) -> bool:
    """Whether there should be a history with nights."""
    before = config_before(config, base)
    configured = environ.get("DEMEANOR_STORE") or config.store or (before is not None and before.store)
    return bool(configured or nightly_workflows(config.root, base.base or "HEAD"))
