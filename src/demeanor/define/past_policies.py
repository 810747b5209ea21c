"""Find evals that promise ALWAYS_PASSES and did not at a base commit: a new eval has to earn that policy first.

Both sides are read without running anything: the working tree, and git at the base, which is the fork point of the
branch. An eval is identified by its name, so a moved file is not a new eval. An eval whose name or policy is computed
can't be read and is left out.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.trees.git import GitError, fork_point, git, missing_commit
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import ALWAYS_PASSES, Policy
from demeanor.define.folder.cline_folder import CONFIG
from demeanor.define.folder.toml_folder import SCENARIO
from demeanor.define.python.import_file import is_eval_file
from demeanor.define.set_policy import policy_file
from demeanor.define.sources import policy_tables


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyChange:
    """An eval that is ALWAYS_PASSES now and was not at the base."""

    eval: Eval
    """The eval."""

    before: Policy | None
    """Its policy at the base; None if it is new."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyHistory:
    """The policies of the evals, compared with the base."""

    base: str | None
    """The base commit; None if there is none."""

    problem: str | None = None
    """Why the comparison is impossible, if it is."""

    changes: tuple[PolicyChange, ...] = ()
    """The evals with a stricter policy than before."""

    @property
    def new(self) -> tuple[PolicyChange, ...]:
        """New evals, which must start as USUALLY_PASSES."""
        return tuple(change for change in self.changes if change.before is None)

    @property
    def promoted(self) -> tuple[PolicyChange, ...]:
        """Existing evals."""
        return tuple(change for change in self.changes if change.before is not None)


def policy_history(evals: Iterable[Eval], root: Path, *, base: str | None = None) -> PolicyHistory:
    """Compare the policies of `evals` with the repository of `root` at `base` (default: the fork point)."""
    try:
        top = Path(git(root, "rev-parse", "--show-toplevel").strip())
    except GitError as error:
        return PolicyHistory(base=None, problem=f"{root} is not in a git repository: {error}")
    try:
        commit_name = base or fork_point(top)
    except GitError as error:
        return PolicyHistory(base=None, problem=str(error))
    try:
        commit = git(top, "rev-parse", "--verify", f"{commit_name}^{{commit}}").strip()
    except GitError:
        return PolicyHistory(base=None, problem=missing_commit(top, commit_name))
    then = policies_at(top, commit)
    policy_changes = [
        PolicyChange(eval=eval_, before=then.get(eval_.name))
        for eval_ in evals
        if _policy_now(eval_) is ALWAYS_PASSES and then.get(eval_.name) is not ALWAYS_PASSES
    ]
    return PolicyHistory(base=commit, changes=tuple(policy_changes))


def _policy_now(eval_: Eval) -> Policy | None:
    """The policy in the eval's own file, if it can be read without running it."""
    path = policy_file(eval_)
    return policies_in(path.resolve(), path.read_text(encoding="utf-8", errors="replace")).get(eval_.name)


def policies_at(top: Path, commit: str) -> dict[str, Policy]:
    """The policy of every eval of the repository at `commit`, by name."""
    policies: dict[str, Policy] = {}
    definitions = {SCENARIO, CONFIG, *policy_tables()}
    for path in git(top, "ls-tree", "-r", "-z", "--name-only", commit).split("\0"):
        pure = Path(path)
        if is_eval_file(pure.name) or pure.name in definitions:
            policies.update(policies_in(pure, git(top, "show", f"{commit}:{path}")))
    return policies


def policies_in(path: Path, source: str) -> dict[str, Policy]:
    """The policies of the evals in one file, read without running it; empty if it can't be read."""
    try:
        if path.name == CONFIG:
            return {path.parent.name: Policy.USUALLY_PASSES} if '"prompt"' in source else {}
        if path.name == SCENARIO:
            table = tomllib.loads(source)
            return {str(table.get("name", path.parent.name)): Policy(str(table.get("policy")))}
        if path.name != SCENARIO and (names := policy_tables().get(path.name)) is not None:
            table = tomllib.loads(source)
            for name in names:
                table = table.get(name, {})
            return {str(table.get("name", path.parent.name)): Policy(str(table.get("policy", Policy.USUALLY_PASSES)))}
        tree = ast.parse(source)
    except (ValueError, SyntaxError, AttributeError):
        return {}
    return _policies_in_tree(tree)


def _policies_in_tree(tree: ast.Module) -> dict[str, Policy]:
    aliases = _aliases(tree)
    policies: dict[str, Policy] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call):
                    policies.update(_policy_of(decorator, node.name, aliases))
    return policies


def _policy_of(call: ast.Call, function: str, aliases: Mapping[str, str]) -> dict[str, Policy]:
    if _last_name(call.func, aliases) != "eval_test" or not call.args:
        return {}
    policy = _last_name(call.args[0], aliases)
    name = next((key.value for key in call.keywords if key.arg == "name"), ast.Constant(function))
    if policy not in list(Policy) or not isinstance(name, ast.Constant):
        return {}
    return {str(name.value): Policy(policy)}


def _last_name(node: ast.expr, aliases: Mapping[str, str]) -> str:
    """`eval_test` for `eval_test`, `demeanor.eval_test` and an alias of it."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return aliases.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _aliases(tree: ast.Module) -> dict[str, str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname: alias.name for node in imports for alias in node.names if alias.asname}
