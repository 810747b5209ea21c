"""Change an eval's policy in the author's file, without touching anything else.

In Python, the first argument of `eval_test` is replaced: `USUALLY_PASSES`, `Policy.USUALLY_PASSES` or
`demeanor.USUALLY_PASSES`. If the new name is not imported, it is added to the import of the old one, or replaces it if
the old name is no longer used. Evals that are created in a loop share an argument, so they change together. In
`scenario.toml`, the value of `policy` is replaced; in a file of a source (define/sources.py), that of `policy` in its
table, such as `[metadata.demeanor]`.

The syntax tree gives the positions, and only those bytes are replaced. The result is parsed again and must be equal
except for the policy.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import Policy
from demeanor.define.folder.cline_folder import CONFIG
from demeanor.define.folder.toml_folder import SCENARIO
from demeanor.define.sources import policy_tables

_BY_HAND = "change the policy by hand and mention it in the commit message"
_KNOWN = {policy.value for policy in Policy}
_BOM = b"\xef\xbb\xbf"

Splice = tuple[int, int, str]
"""Start and end in bytes, and the replacement."""


def policy_file(eval_: Eval) -> Path:
    """The file that contains an eval's policy."""
    folder = eval_.source.path
    if folder.is_file():
        return folder
    return folder / next((name for name in (SCENARIO, *policy_tables()) if (folder / name).is_file()), CONFIG)


def with_policy(eval_: Eval, policy: Policy) -> bytes:
    """The content of that file with another policy for the eval. Nothing is written."""
    path = policy_file(eval_)
    source = path.read_bytes()
    if path.name == CONFIG:
        raise BadInput(f"a {CONFIG} has no policy", where=path, remedy=f"convert it to a {SCENARIO} first")
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=path, remedy=_BY_HAND) from None
    tables = {SCENARIO: (), **policy_tables()}
    if path.name in tables:
        return _in_toml(text, policy, path, *tables[path.name]).encode("utf-8")
    if path.suffix != ".py":
        raise BadInput("the policy can't be edited in a file of this format", where=path, remedy=_BY_HAND)
    return _in_python(source, eval_, policy, path)


def shared_policies(evals: Iterable[Eval]) -> dict[str, tuple[str, ...]]:
    """By name: the other evals that share an eval's policy argument. An eval whose policy can't be located has none."""
    groups: dict[tuple[Path, int], list[str]] = {}
    trees: dict[Path, ast.Module] = {}
    for eval_ in evals:
        path = eval_.source.path
        if eval_.cases_of and path.is_dir():  # the cases of a scenario.toml
            groups.setdefault((path, 0), []).append(eval_.name)
        if path.suffix != ".py" or not path.is_file():
            continue
        if path not in trees:
            trees[path] = ast.parse(path.read_bytes())
        if (value := _policy_argument(trees[path], eval_)) is not None:
            groups.setdefault((path, value.lineno << 16 | value.col_offset), []).append(eval_.name)
    return {
        name: tuple(other for other in names if other != name)
        for names in groups.values()
        for name in names
        if len(names) > 1
    }


def _in_toml(source: str, policy: Policy, path: Path, *tables: str) -> str:
    """Replace the line that changes the policy and nothing else."""
    data = tomllib.loads(source)
    table = data
    for name in tables:
        table = table.setdefault(name, {})
    exists, table["policy"] = "policy" in table, policy.value
    line = re.compile(r"""^([ \t]*(?:policy|"policy"|'policy')[ \t]*=[ \t]*)(["'])(\w+)\2""", re.M)
    replaced = (
        f"{source[: match.start()]}{match[1]}{match[2]}{policy.value}{match[2]}{source[match.end() :]}"
        for match in line.finditer(source)
    )
    added = f'{source.rstrip()}\n\n[{".".join(tables)}]\npolicy = "{policy.value}"\n'
    for text in replaced if exists or not tables else (added,):
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(text) == data:
                return text
    raise BadInput("the line with the policy was not found", where=path, key="policy", remedy=_BY_HAND)


def _in_python(source: bytes, eval_: Eval, policy: Policy, path: Path) -> bytes:
    where = f"{path}:{eval_.source.line}"
    tree = ast.parse(source)
    value = _policy_argument(tree, eval_)
    if value is None:
        raise BadInput(
            f"the policy argument of {eval_.name!r} was not found, so it can't be edited", where=where, remedy=_BY_HAND
        )
    written = _written(value)
    if written is None:
        raise BadInput("the policy is computed, so it can't be edited", where=where, remedy=_BY_HAND)
    positions = _Positions(source)
    end = positions.end(value)
    splices = [_word(source, positions.start(value), end, written, policy.value)]
    if isinstance(value, ast.Name):
        splices += _import(tree, value, policy.value, source, positions, where=str(path))
    text = _spliced(source, splices)
    if not _same_but_policy(text, source):
        raise BadInput("the policy can't be edited without changing other code", where=where, remedy=_BY_HAND)
    return text


def _policy_argument(tree: ast.Module, eval_: Eval) -> ast.expr | None:
    """The policy argument of an eval: of its decorator, or of the only call `eval_test(…)(check)`; else None."""
    function = _function_at(tree, eval_.source.line)
    if function is None:
        return None
    calls = [call for call in function.decorator_list if isinstance(call, ast.Call)]
    if not calls:
        calls = [
            node.func
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and _is_name(node.args[:1], function.name)
        ]
    policies = [call.args[0] for call in calls if call.args]
    return policies[0] if policies and (function.decorator_list or len(policies) == 1) else None


def _function_at(tree: ast.Module, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that begins at a line, or else the innermost one that contains it."""
    containing = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _first_line(node) <= line <= _last_line(node)
    ]
    return min(containing, key=lambda node: _last_line(node) - _first_line(node), default=None)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _last_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return node.end_lineno or node.lineno


def _is_name(arguments: Sequence[ast.expr], name: str) -> bool:
    return any(isinstance(argument, ast.Name) and argument.id == name for argument in arguments)


def _written(value: ast.expr) -> str | None:
    """The policy as written; None if it is computed."""
    name = ""
    if isinstance(value, ast.Name):
        name = value.id
    elif isinstance(value, ast.Attribute):
        name = value.attr
    return name if name in _KNOWN else None


def _word(source: bytes, start: int, end: int, old: str, new: str) -> Splice:
    """Replace the last occurrence of the old name in the argument, after any `demeanor.`."""
    position = source.rindex(old.encode(), start, end)
    return position, position + len(old), new


def _import(
    tree: ast.Module, value: ast.Name, new: str, source: bytes, positions: _Positions, *, where: str
) -> list[Splice]:
    """The edits that import the new name, if necessary."""
    old = value.id
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    aliases = [alias for node in imports for alias in node.names]
    if any(alias.name == new and not alias.asname for alias in aliases):
        return []
    own = next((alias for alias in aliases if alias.name == old and not alias.asname), None)
    if own is None and any(alias.name == "*" for alias in aliases):
        return []
    if own is None:
        raise BadInput(f"{old} is not imported by that name", where=where, remedy=_BY_HAND)
    start = positions.start(own)
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == old and node is not value]
    if not used:
        return [(start, positions.end(own), new)]
    indent = source[source.rfind(b"\n", 0, start) + 1 : start]
    return [(start, start, f"{new},\n{indent.decode()}" if not indent.strip() else f"{new}, ")]


def _spliced(source: bytes, splices: Sequence[Splice]) -> bytes:
    for start, end, text in sorted(splices, reverse=True):
        source = source[:start] + text.encode() + source[end:]
    return source


class _Positions:
    """Byte positions of syntax tree nodes in a file."""

    def __init__(self, source: bytes) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(rb"\r\n|\r|\n", source))]
        self._bom = len(_BOM) if source.startswith(_BOM) else 0

    def start(self, node: ast.expr | ast.alias) -> int:
        """Its first byte."""
        return self._at(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.alias) -> int:
        """The byte after its last."""
        return self._at(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column + (self._bom if line == 1 else 0)


def _same_but_policy(text: bytes, source: bytes) -> bool:
    """Whether two files are equal except for the names of policies."""
    try:
        return _anonymous(text) == _anonymous(source)
    except SyntaxError:
        return False


def _anonymous(source: bytes) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = dict.fromkeys(("POLICY" if a.name in _KNOWN else a.name, a.asname) for a in node.names)
            node.names = [ast.alias(name=name, asname=asname) for name, asname in names]
    return re.sub("|".join(_KNOWN), "POLICY", ast.dump(tree))
