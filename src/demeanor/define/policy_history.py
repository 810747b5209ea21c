"""Which evals promise ALWAYS_PASSES that did not before: a new eval has to earn that promise first.

Both sides are read without running anything: the files of the working tree, and those that git has at the base, which
is where the branch left the default one. An eval is known by its name, so a moved file is no new eval; and one whose
name or policy is computed can't be read on either side, so nothing is said of it.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.eval import Eval
from demeanor.core.git import GitError, fork_point, git
from demeanor.core.policy import ALWAYS_PASSES, Policy
from demeanor.define.folder.cline_folder import CONFIG
from demeanor.define.folder.toml_folder import SCENARIO
from demeanor.define.harbor.task_digest import TASK
from demeanor.define.python.import_file import is_eval_file
from demeanor.define.set_policy import policy_file


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyChange:
    """An eval that promises ALWAYS_PASSES and did not at the base."""

    eval: Eval
    """The eval."""

    before: Policy | None
    """What it promised at the base; None where it is new."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyHistory:
    """What the evals promise now, held against the base."""

    base: str | None
    """The commit compared with; None where there is none."""

    problem: str | None = None
    """Why nothing can be said, if so."""

    changes: tuple[PolicyChange, ...] = ()
    """The evals that promise more than before."""

    @property
    def new(self) -> tuple[PolicyChange, ...]:
        """Those that are new: they must start as USUALLY_PASSES."""
        return tuple(change for change in self.changes if change.before is None)

    @property
    def promoted(self) -> tuple[PolicyChange, ...]:
        """Those that promised less before."""
        return tuple(change for change in self.changes if change.before is not None)


def policy_history(evals: Iterable[Eval], root: Path, *, base: str | None = None) -> PolicyHistory:
    """Hold what `evals` promise against the repository of `root` at `base` (or where its branch began)."""
    try:
        top = Path(git(root, "rev-parse", "--show-toplevel").strip())
    except GitError as error:
        return PolicyHistory(base=None, problem=f"{root} is in no git repository: {error}")
    wanted = base or fork_point(top)
    try:
        commit = git(top, "rev-parse", "--verify", f"{wanted}^{{commit}}").strip()
    except GitError as error:
        return PolicyHistory(base=None, problem=f"there is no commit {wanted!r} to compare with: {error}")
    then = policies_at(top, commit)
    found = [
        PolicyChange(eval=one, before=then.get(one.name))
        for one in evals
        if _policy_now(one) is ALWAYS_PASSES and then.get(one.name) is not ALWAYS_PASSES
    ]
    return PolicyHistory(base=commit, changes=tuple(found))


def _policy_now(one: Eval) -> Policy | None:
    """What the eval's own file says, if it can be read off it."""
    path = policy_file(one)
    return policies_in(path.resolve(), path.read_text(encoding="utf-8", errors="replace")).get(one.name)


def policies_at(top: Path, commit: str) -> dict[str, Policy]:
    """What every eval of the repository promised at `commit`, by its name."""
    found: dict[str, Policy] = {}
    for path in git(top, "ls-tree", "-r", "-z", "--name-only", commit).split("\0"):
        pure = Path(path)
        if is_eval_file(pure.name) or pure.name in {SCENARIO, CONFIG, TASK}:
            found.update(policies_in(pure, git(top, "show", f"{commit}:{path}")))
    return found


def policies_in(path: Path, source: str) -> dict[str, Policy]:
    """What the evals of one file promise, read without running it; empty where it can't be read."""
    try:
        if path.name == CONFIG:
            return {path.parent.name: Policy.USUALLY_PASSES} if '"prompt"' in source else {}
        if path.name == SCENARIO:
            table = tomllib.loads(source)
            return {str(table.get("name", path.parent.name)): Policy(str(table.get("policy")))}
        if path.name == TASK:
            table = tomllib.loads(source).get("metadata", {}).get("demeanor", {})
            return {str(table.get("name", path.parent.name)): Policy(str(table.get("policy", Policy.USUALLY_PASSES)))}
        tree = ast.parse(source)
    except (ValueError, SyntaxError, AttributeError):
        return {}
    return _policies_in_tree(tree)


def _policies_in_tree(tree: ast.Module) -> dict[str, Policy]:
    aliases = _aliases(tree)
    found: dict[str, Policy] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call):
                    found.update(_promise(decorator, node.name, aliases))
    return found


def _promise(call: ast.Call, function: str, aliases: Mapping[str, str]) -> dict[str, Policy]:
    if _last_name(call.func, aliases) != "eval_test" or not call.args:
        return {}
    policy = _last_name(call.args[0], aliases)
    name = next((key.value for key in call.keywords if key.arg == "name"), ast.Constant(function))
    if policy not in list(Policy) or not isinstance(name, ast.Constant):
        return {}
    return {str(name.value): Policy(policy)}


def _last_name(node: ast.expr, aliases: Mapping[str, str]) -> str:
    """`eval_test` of `eval_test`, of `demeanor.eval_test` and of an alias of it."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return aliases.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _aliases(tree: ast.Module) -> dict[str, str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname: alias.name for node in imports for alias in node.names if alias.asname}
